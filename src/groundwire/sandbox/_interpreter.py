"""Finds out what an interpreter needs to be seen of the file system in order to run."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from groundwire.core._errors import SandboxUnavailable

SYSTEM_FOLDERS = tuple(Path(p) for p in ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"))
MIN_VERSION = (3, 9)
MAX_LINKS = 40
QUESTION = """\
import os, sys
for answer in (sys.executable, sys.base_prefix, sys.base_exec_prefix, os.path.dirname(os.__file__)):
    print(answer)
print(*sys.version_info[:2])
"""


@dataclass(frozen=True)
class Interpreter:
    """An interpreter and what must be bound for it.

    Args:
        executable: its path, the same inside and outside.
        version: major and minor.
        folders: bound read-only at their own paths, beside the system's folders.
        links: symbolic links on the way to it that lie outside those folders, with their targets.
    """

    executable: Path
    version: tuple[int, int]
    folders: tuple[Path, ...]
    links: tuple[tuple[Path, str], ...]

    def refuse_private_folders(self) -> None:
        """Returns if no home or system folder would be bound.

        Raises:
            SandboxUnavailable: one would.
        """
        homes = {Path.home(), *(Path(p) for p in ("/root", "/home", "/tmp", "/var", "/etc", "/run"))}
        for folder in self.folders:
            if any(home.is_relative_to(folder) for home in homes):
                raise SandboxUnavailable(
                    f"The interpreter's folder {folder} holds a home or system folder, which the sandbox would show.",
                    do="Make a virtual environment in a folder of its own and name it with --python.",
                )

    @property
    def places(self) -> tuple[Path, ...]:
        """Where something is laid for it."""
        return (*self.folders, *(link for link, _ in self.links))

    @property
    def bin_folder(self) -> Path:
        """Where the programs installed with it lie."""
        return self.executable.parent


def inspect_interpreter(python: Path) -> Interpreter:
    """Asks `python` where it lives, without letting it load site packages.

    Raises:
        SandboxUnavailable: it does not run, or is older than Python 3.9.
    """
    executable, prefix, exec_prefix, library, version = _answers(python)
    major, minor = (int(n) for n in version.split())
    if (major, minor) < MIN_VERSION:
        raise SandboxUnavailable(
            f"{python} is Python {major}.{minor}; the sandbox needs 3.9 or newer.", do="Name a newer one with --python."
        )
    real = Path(executable)
    wanted = [Path(prefix), Path(exec_prefix), Path(library)]
    wanted += [folder for folder in (real.parent, real.parent.parent) if (folder / "pyvenv.cfg").is_file()]
    wanted += [folder.resolve() for folder in wanted]
    links = tuple(_links(real))
    if links:
        wanted.append(_home_of(Path(executable).resolve(), major, minor))
    folders = tuple(_outermost(w for w in wanted if w != Path("/")))
    outside = tuple((link, target) for link, target in links if not is_shown(link, folders))
    return Interpreter(real, (major, minor), folders, outside)


def _answers(python: Path) -> tuple[str, str, str, str, str]:
    """What `QUESTION` prints, one answer a line."""
    if python.absolute() == Path(sys.executable) and "PYTHONHOME" not in os.environ:
        # this process is it already, so that none need be started to be asked
        library = str(Path(os.__file__).parent)
        return sys.executable, sys.base_prefix, sys.base_exec_prefix, library, "{} {}".format(*sys.version_info)
    try:
        reply = subprocess.run(
            [str(python.absolute()), "-I", "-S", "-B", "-c", QUESTION],
            # a shim of a version manager looks into the environment; the interpreter itself is told not to (-I)
            env=dict(os.environ),
            cwd="/",
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=30,
            check=True,
        ).stdout.decode()
        executable, prefix, exec_prefix, library, version = reply.splitlines()
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        raise SandboxUnavailable(
            f"The interpreter {python} does not run: {error}.", do="Name a working one with --python."
        ) from error
    return executable, prefix, exec_prefix, library, version


def _links(path: Path) -> Iterable[tuple[Path, str]]:
    for _ in range(MAX_LINKS):
        if not path.is_symlink():
            return
        target = str(path.readlink())
        yield path, target
        path = path.parent / target


def _home_of(binary: Path, major: int, minor: int) -> Path:
    prefix = binary.parent.parent
    return prefix if (prefix / "lib" / f"python{major}.{minor}").is_dir() else binary.parent


def is_shown(path: Path, folders: Iterable[Path]) -> bool:
    """True for what a sandbox shows: below the system's folders, or below one of these."""
    return any(path.is_relative_to(folder) for folder in (*SYSTEM_FOLDERS, *folders))


def _outermost(folders: Iterable[Path]) -> list[Path]:
    kept: list[Path] = []
    for folder in sorted(set(folders), key=lambda f: (len(f.parts), f)):
        if not is_shown(folder, kept):
            kept.append(folder)
    return kept
