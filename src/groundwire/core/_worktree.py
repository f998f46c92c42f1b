"""Writing a verified change into a person's own files, and only if they are as they were when it was verified."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from groundwire.core._candidates import NO_MODES, Tree, check_path
from groundwire.core._errors import CandidateError


def apply_changes(
    folder: Path, base: Tree, changes: Mapping[str, bytes | None], modes: Mapping[str, bool] = NO_MODES
) -> None:
    """Applies changes to a folder: all files are checked before the first is written, each is replaced atomically.

    Args:
        folder: the project's root.
        base: the files as they were when the change was verified.
        changes: path → new content, or None to delete.
        modes: path → whether it carries the executable bit from now on; the others are as they were.

    Raises:
        CandidateError: a file has changed meanwhile, leads through a link, or can't be written.
    """
    root = folder.resolve()
    targets = {path: _target(root, path) for path in changes}
    for path, target in targets.items():
        now = target.read_bytes() if target.is_file() else None
        was_executable = path in base.files and path in base.executable
        if now != base.files.get(path) or (path in modes and _is_executable(target) != was_executable):
            raise CandidateError(
                f"{path} has changed since the tests were run, so nothing was applied.",
                do="Apply the patch by hand, or run again.",
            )
        if changes[path] is not None and target.is_dir():
            raise CandidateError(f"{path} is a folder, so nothing was applied.", do="Apply the patch by hand.")
    # what is deleted first may be where a folder is made
    for path in sorted(targets, key=lambda p: changes[p] is not None):
        target, content = targets[path], changes[path]
        try:
            if content is None:
                target.unlink(missing_ok=True)
            else:
                _replace(target, content, executable=modes.get(path))
        except OSError as error:
            raise CandidateError(f"{path} can't be written: {error.strerror}.", do="Check its permissions.") from error


def _target(root: Path, path: str) -> Path:
    target = root / check_path(path)
    # where a folder is a link to another one within, the file would land where nobody judged it
    if target.is_symlink() or target.parent.resolve() != target.parent:
        raise CandidateError(f"{path} is reached through a link.", do="Apply the patch by hand.")
    return target


def _is_executable(target: Path) -> bool:
    return target.is_file() and bool(target.stat().st_mode & 0o100)


def _replace(target: Path, content: bytes, *, executable: bool | None) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    mode = target.stat().st_mode & 0o7777 if target.exists() else 0o644
    if executable is not None:
        # who may read it may run it, as git and `chmod +x` have it
        mode = mode | (mode & 0o444) >> 2 if executable else mode & ~0o111
    descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        temporary.chmod(mode)
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
