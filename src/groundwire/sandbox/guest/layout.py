"""Lays a tree into the box, and reads back what was asked for."""

# pathlib and contextlib are slow to import; see the package
# ruff: noqa: PTH102, PTH103, PTH106, PTH108, PTH118, PTH120
from __future__ import annotations

import os
import stat

from groundwire.sandbox.guest.wire import MAX_FILE_BYTES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

FOLDERS = ("work", "tmp", "out")


def make_box(box: str) -> None:
    """Makes the folders of a fresh, empty box."""
    for name in FOLDERS:
        os.mkdir(os.path.join(box, name), 0o755)


def lay(root: str, files: Mapping[str, bytes], deleted: Iterable[str], executable: Collection[str]) -> None:
    """Writes `files` below `root` and removes `deleted`.

    `root` holds regular files and folders only, so that a plain relative path can't lead out of it.

    Raises:
        ValueError: a path is not plain.
        OSError: two paths contradict each other, a name is too long, or the disk limit is reached.
    """
    made = {root}
    for path in deleted:
        target = _inside(root, path)
        try:
            os.unlink(target)
        except (FileNotFoundError, NotADirectoryError):
            continue
        _drop_empty(os.path.dirname(target), root)
    for path, content in files.items():
        target = _inside(root, path)
        folder = os.path.dirname(target)
        if folder not in made:
            os.makedirs(folder, 0o755, exist_ok=True)
            made.add(folder)
        mode = 0o755 if path in executable else 0o644
        # a file of the base may be replaced: a new inode, never a write into the old one
        try:
            fd = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, mode)
        except FileExistsError:
            os.unlink(target)
            fd = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, mode)
        try:
            _write_all(fd, content)
        finally:
            os.close(fd)


def _inside(root: str, path: str) -> str:
    if not path or path.startswith("/") or "\0" in path or any(p in ("", ".", "..") for p in path.split("/")):
        raise ValueError(f"{path!r} is not a plain path inside the tree")
    return f"{root}/{path}"


def _drop_empty(folder: str, root: str) -> None:
    # a tree has no empty folders, and one left behind would still be importable as a namespace package
    while folder != root:
        try:
            os.rmdir(folder)
        except OSError:
            return
        folder = os.path.dirname(folder)


def copy_tree(source: str, target: str) -> None:
    """Copies regular files and folders; `target` exists and is empty. A source that is missing is an empty tree."""
    if not os.path.isdir(source):  # noqa: PTH112
        return
    for entry in os.scandir(source):
        copy = f"{target}/{entry.name}"
        if entry.is_dir(follow_symlinks=False):
            os.mkdir(copy, 0o755)
            copy_tree(entry.path, copy)
            continue
        mode = stat.S_IMODE(entry.stat(follow_symlinks=False).st_mode)
        reader = os.open(entry.path, os.O_RDONLY | os.O_CLOEXEC)
        writer = os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        try:
            while part := os.read(reader, 1 << 20):
                _write_all(writer, part)
        finally:
            os.close(reader)
            os.close(writer)


def _write_all(fd: int, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(fd, view) :]


def read_back(root: str, path: str) -> bytes | None:
    """The content of a regular file below `root`; None if it is absent, not regular, too large or behind a link."""
    enter = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    folder = -1
    try:
        folder = os.open(root, enter)
        *parents, name = path.split("/")
        for parent in parents:
            deeper = os.open(parent, enter, dir_fd=folder)
            os.close(folder)
            folder = deeper
        # non-blocking, so that a pipe put in its place can't hold us
        fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC, dir_fd=folder)
    except (OSError, ValueError):
        return None
    finally:
        if folder >= 0:
            os.close(folder)
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_FILE_BYTES:
            return None
        parts: list[bytes] = []
        left = MAX_FILE_BYTES + 1
        while left and (part := os.read(fd, min(left, 1 << 20))):
            parts.append(part)
            left -= len(part)
        return b"".join(parts) if left else None
    except OSError:
        return None
    finally:
        os.close(fd)


def holds_file_of(root: str, size: int) -> bool:
    """True if a file below `root` is at least `size` bytes long; links are not followed."""
    return any(status.st_size >= size for status in _below(root))


def bytes_below(root: str) -> int:
    """Bytes that everything below `root` takes on its disk; links are not followed, files with two names count once."""
    files = {(status.st_dev, status.st_ino): status.st_blocks for status in _below(root)}
    return sum(files.values()) * 512


def _below(root: str) -> Iterator[os.stat_result]:
    pending = [root]
    while pending:
        try:
            entries = list(os.scandir(pending.pop()))
        except OSError:
            continue
        for entry in entries:
            try:
                if entry.is_dir(follow_symlinks=False):
                    pending.append(entry.path)
                else:
                    yield entry.stat(follow_symlinks=False)
            except OSError:
                continue
