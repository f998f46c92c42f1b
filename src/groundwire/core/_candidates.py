"""Trees and candidates, known by digest, and the patches that `git apply` takes."""

from __future__ import annotations

import base64
import difflib
import hashlib
import json
import os
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Any, cast

from groundwire.core._errors import CandidateError, TaskError
from groundwire.core._paths import matches

# Trees and candidates: what is edited, and what an actor made of it, both known by digest.

_REPOSITORIES = frozenset({".git", ".hg", ".svn"})
"""What version control owns, whatever the case of its letters: some file systems tell none apart."""
IGNORED_FOLDERS = _REPOSITORIES | {
    ".venv", "venv", ".tox", ".nox", "node_modules", "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache",
    ".hypothesis", ".eggs", ".idea", ".cache",
}  # fmt: skip
IGNORED_SUFFIXES = (".pyc", ".pyo")
MAX_TREE_BYTES = 256 * 1024 * 1024
MAX_PATH_LENGTH = 1024
MAX_NAME_BYTES = 255
"""Of one part of a path: what file systems take."""
NO_MODES: Mapping[str, bool] = MappingProxyType({})


@lru_cache(maxsize=4096)
def check_path(path: str) -> str:
    """Returns `path` if it is a plain relative POSIX path inside the tree.

    Raises:
        CandidateError: it is absolute, climbs out, holds a control character or a backslash, or names a folder
            that version control owns.
    """
    parts = PurePosixPath(path).parts
    problem = ""
    if not path or not parts or str(PurePosixPath(path)) != path:
        problem = "is not a normal relative path"
    elif path.startswith("/") or ".." in parts:
        problem = "points outside the tree"
    elif any(ord(c) < 32 or c in "\\\x7f" for c in path) or not _encodes(path):
        problem = "holds a control character, a backslash or text that is not UTF-8"
    elif any(part.lower() in _REPOSITORIES for part in parts):  # a repository may lie within another
        problem = "belongs to version control"
    elif len(path) > MAX_PATH_LENGTH:
        problem = f"is longer than {MAX_PATH_LENGTH} characters"
    elif any(len(part.encode()) > MAX_NAME_BYTES for part in parts):
        problem = f"holds a name of more than {MAX_NAME_BYTES} bytes"
    if problem:
        raise CandidateError(f"The path {path!r} {problem}.", do="Name a file below the project's root.")
    return path


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


# Contents as text, in base 85, which Python reads and writes letter by letter: milliseconds for a file. The contents of
# one task differ little from candidate to candidate, and each is written, looked through for secrets and shortened; so
# pieces that were read or written before are remembered. Four bytes are always the same five letters.

PIECE_BYTES = 1024
MOST_PIECES = 8192
"""That are remembered each way: at most 20 MB."""
_TEXTS: dict[bytes, str] = {}
_CONTENTS: dict[str, bytes] = {}


def to_base85(content: bytes) -> str:
    """As `base64.b85encode` writes it."""
    return "".join([_text_of(content[at : at + PIECE_BYTES]) for at in range(0, len(content), PIECE_BYTES)])


def from_base85(text: str) -> bytes:
    """What `to_base85` was given.

    Raises:
        ValueError: it is no such text.
    """
    size = PIECE_BYTES // 4 * 5
    return b"".join([_content_of(text[at : at + size]) for at in range(0, len(text), size)])


def _text_of(piece: bytes) -> str:
    text = _TEXTS.get(piece)
    if text is None:
        text = base64.b85encode(piece).decode()
        _remember(_TEXTS, piece, text)
        _remember(_CONTENTS, text, piece)
    return text


def _content_of(piece: str) -> bytes:
    content = _CONTENTS.get(piece)
    if content is None:
        content = base64.b85decode(piece)
        _remember(_CONTENTS, piece, content)
    return content


def _remember(known: dict[Any, Any], key: object, value: object) -> None:
    if len(known) >= MOST_PIECES:
        known.clear()
    known[key] = value


_KINDS = {None: b"F", True: b"X", False: b"N"}
"""By the executable bit: nothing said of it, set, taken away."""


def _entries(files: Mapping[str, bytes | None], modes: Mapping[str, bool]) -> Iterator[bytes]:
    for path in sorted(files):
        content = files[path]
        kind = b"D" if content is None else _KINDS[modes.get(path)]
        body = b"" if content is None else content
        name = path.encode()
        yield b"%c%d:%s%d:%s" % (kind, len(name), name, len(body), body)


def _digest(*heads: str, files: Mapping[str, bytes | None], modes: Mapping[str, bool]) -> str:
    sha = hashlib.sha256()
    for head in heads:
        sha.update(f"{len(head)}:{head}".encode())
    for entry in _entries(files, modes):
        sha.update(entry)
    return sha.hexdigest()


@dataclass(frozen=True)
class Tree:
    """A project's files in memory.

    Args:
        files: relative POSIX path → content.
        executable: the paths that carry the executable bit.
    """

    files: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    executable: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        """Refuses files that are no bytes.

        Raises:
            TaskError: naming the first of them.
        """
        # callers are not always checked
        for path, given in cast("Mapping[str, object]", self.files).items():
            if not isinstance(given, bytes):
                raise TaskError(
                    f"The content of {path!r} is of type {type(given).__name__}; bytes are expected.",
                    do=f'Write  Tree({{{path!r}: "…".encode()}})',
                )

    @cached_property
    def digest(self) -> str:
        """sha256 over paths, contents and executable bits, as hex."""
        return _digest("tree", files=self.files, modes=dict.fromkeys(self.executable, True))

    @classmethod
    def from_folder(cls, folder: Path, *, exclude: Iterable[str] = ()) -> Tree:
        """Reads a folder; version control, virtual environments and caches are left out.

        Links are followed only while they stay inside the folder.

        Args:
            folder: an existing folder.
            exclude: globs of relative paths that are left out too.

        Raises:
            TaskError: not a folder, unreadable, or more than 256 MiB.
        """
        if not folder.is_dir():
            raise TaskError(f"{folder} is not a folder.", do="Give the path of the project's root.")
        root = folder.resolve()
        skip = tuple(exclude)
        files: dict[str, bytes] = {}
        executable: set[str] = set()
        total = 0
        for path in _walk(root):
            name = path.relative_to(root).as_posix()
            if matches(name, skip) or not _encodes(name):
                continue
            try:
                content = path.read_bytes()
                mode = path.stat().st_mode
            except OSError as error:
                raise TaskError(f"{path} can't be read: {error.strerror}.", do="Check its permissions.") from error
            total += len(content)
            if total > MAX_TREE_BYTES:
                raise TaskError(
                    f"{folder} holds more than {MAX_TREE_BYTES >> 20} MiB.",
                    do="Exclude data and build folders.",
                )
            files[name] = content
            if mode & 0o100:
                executable.add(name)
        return cls(files, frozenset(executable))

    def with_changes(self, changes: Mapping[str, bytes | None], modes: Mapping[str, bool] = NO_MODES) -> Tree:
        """This tree with files replaced or added (bytes) or deleted (None).

        Args:
            changes: path → new content, or None.
            modes: path → whether it carries the executable bit from now on; the others are as they were.
        """
        files = dict(self.files)
        for path, content in changes.items():
            if content is None:
                files.pop(path, None)
            else:
                files[path] = content
        return Tree(files, self.executable_with(modes))

    def executable_with(self, modes: Mapping[str, bool]) -> frozenset[str]:
        """The paths that carry the executable bit once it is set or taken away as `modes` says."""
        return self.executable - modes.keys() | {path for path, executable in modes.items() if executable}

    def to_bytes(self) -> bytes:
        """Its body, for storage."""
        files = {path: to_base85(content) for path, content in self.files.items()}
        body = json.dumps({"files": files, "executable": sorted(self.executable)}, sort_keys=True)
        return zlib.compress(body.encode())

    @classmethod
    def from_bytes(cls, body: bytes) -> Tree:
        """Reads `to_bytes` back.

        Raises:
            TaskError: it is not a tree's body.
        """
        try:
            held = json.loads(zlib.decompress(body))
            files = {path: from_base85(content) for path, content in held["files"].items()}
            return cls(files, frozenset(held["executable"]))
        except (zlib.error, ValueError, KeyError, TypeError, AttributeError) as error:
            raise TaskError(f"A stored tree can't be read: {error}.") from error


def _walk(root: Path) -> Iterator[Path]:
    pending = [root]
    while pending:
        folder = pending.pop()
        try:
            children = sorted(folder.iterdir())
        except OSError as error:
            raise TaskError(f"{folder} can't be read: {error.strerror}.", do="Check its permissions.") from error
        for child in children:
            if child.name.lower() in _REPOSITORIES:  # a file, in a worktree of git and in a submodule
                continue
            # a loop of links leads nowhere, which `Path.resolve` calls an error
            if child.is_symlink() and not Path(os.path.realpath(child)).is_relative_to(root):
                continue
            if child.is_dir():
                is_venv = os.path.lexists(child / "pyvenv.cfg")
                if child.name not in IGNORED_FOLDERS and not is_venv and not child.is_symlink():
                    pending.append(child)
            elif child.is_file() and not child.name.endswith(IGNORED_SUFFIXES):
                yield child


@dataclass(frozen=True)
class Candidate:
    """What an actor made: changes against a base tree.

    Its digest is over the canonical form (base digest and the sorted changes), so two actors that make the same
    change make the same candidate.

    Args:
        base_digest: digest of the tree the changes apply to.
        changes: path → new content, or None where the file is deleted. Empty: the base itself.
        edits: names of the edits that made it, for statistics (`compare.boundary`, `llm.rewrite`).
        note: one line for people.
        modes: path → True where a changed file becomes executable, False where it no longer is. Of a path that is not
            in it the candidate says nothing: the file is as executable as it was.

    Raises:
        CandidateError: a path is not one inside the tree, or a mode is that of a file that is not written.
    """

    base_digest: str
    changes: Mapping[str, bytes | None]
    edits: tuple[str, ...] = ()
    note: str = ""
    modes: Mapping[str, bool] = field(default_factory=dict[str, bool])

    def __post_init__(self) -> None:
        for path in self.changes:
            check_path(path)
        for path in self.modes:
            if self.changes.get(path) is None:
                raise CandidateError(f"{path!r} has a mode, and the candidate does not write it.")

    @cached_property
    def digest(self) -> str:
        """sha256 of the canonical form, as hex."""
        return _digest("candidate", self.base_digest, files=self.changes, modes=self.modes)

    @property
    def is_base(self) -> bool:
        """True if it changes nothing."""
        return not self.changes

    @property
    def text(self) -> str:
        """The one file that it writes, as text: an answer, as a rule. Empty where it writes none.

        Bytes that are not UTF-8 are shown as `\\xff`.

        Raises:
            CandidateError: it writes several files.
        """
        written = {path: content for path, content in self.changes.items() if content is not None}
        if len(written) > 1:
            first = min(written)
            raise CandidateError(
                f"The candidate writes {len(written)} files, so it has no one text.",
                do=f"Name the file you mean:  candidate.changes[{first!r}]",
            )
        return next(iter(written.values()), b"").decode("utf-8", "backslashreplace")

    def applied_to(self, tree: Tree) -> Tree:
        """The tree that it makes of another one."""
        return tree.with_changes(self.changes, self.modes)

    def extends(self, earlier: Candidate) -> bool:
        """True if it only appends to `earlier`: same base, every file and mode kept, contents only grown."""
        if self.base_digest != earlier.base_digest:
            return False
        for path, before in earlier.changes.items():
            after = self.changes.get(path)
            if path not in self.changes or (before is None) != (after is None):
                return False
            if self.modes.get(path) != earlier.modes.get(path):
                return False
            if before is not None and after is not None and not after.startswith(before):
                return False
        return True

    def to_bytes(self) -> bytes:
        """Its canonical body, for storage."""
        changes = {p: None if c is None else to_base85(c) for p, c in self.changes.items()}
        body: dict[str, Any] = {"base": self.base_digest, "changes": changes, "edits": self.edits, "note": self.note}
        if self.modes:
            body["modes"] = dict(self.modes)
        return json.dumps(body, sort_keys=True, separators=(",", ":")).encode()

    @classmethod
    def from_bytes(cls, body: bytes) -> Candidate:
        """Reads `to_bytes` back.

        Raises:
            CandidateError: it is not a candidate's body.
        """
        try:
            data = json.loads(body)
            changes = {p: None if c is None else from_base85(c) for p, c in data["changes"].items()}
            modes = {path: bool(mode) for path, mode in data.get("modes", {}).items()}
            return cls(data["base"], changes, tuple(data["edits"]), data["note"], modes)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise CandidateError(f"A stored candidate can't be read: {error}.") from error


# Candidates as patches that `git apply` takes.

CONTEXT_LINES = 3
_BYTES = "latin-1"
"""One character a byte: lines are compared and written as they are, whatever their encoding."""
NO_NEWLINE = "\\ No newline at end of file\n"


def make_patch(base: Tree, changes: Mapping[str, bytes | None], modes: Mapping[str, bool] = NO_MODES) -> bytes:
    """A unified diff with git's headers, in the files' own bytes; a file that does not change leaves no trace.

    Args:
        base: what the changes apply to.
        changes: path → new content, or None where the file is deleted.
        modes: path → whether it carries the executable bit from now on.
    """
    after = base.with_changes(changes, modes)
    return "".join(_file_patch(base, after, path) for path in sorted(changes)).encode(_BYTES)


def count_lines(base: Tree, changes: Mapping[str, bytes | None]) -> tuple[int, int]:
    """Lines added and removed by `changes`."""
    added = removed = 0
    for path, content in changes.items():
        for line in list(difflib.unified_diff(_lines(base.files.get(path)), _lines(content), n=0))[2:]:
            added += line.startswith("+")
            removed += line.startswith("-")
    return added, removed


def _file_patch(base: Tree, after: Tree, path: str) -> str:
    before, content = base.files.get(path), after.files.get(path)
    old_mode, new_mode = _mode(base, path), _mode(after, path)
    if before == content and (content is None or old_mode == new_mode):
        return ""
    head = f"diff --git {_quote('a/' + path)} {_quote('b/' + path)}\n"
    if before is None:
        head += f"new file mode {new_mode}\n"
    elif content is None:
        head += f"deleted file mode {old_mode}\n"
    elif old_mode != new_mode:
        head += f"old mode {old_mode}\nnew mode {new_mode}\n"
    if before == content:
        return head
    old = "/dev/null" if before is None else _quote(f"a/{path}")
    new = "/dev/null" if content is None else _quote(f"b/{path}")
    body = difflib.unified_diff(_lines(before), _lines(content), old, new, n=CONTEXT_LINES)
    return head + "".join(line if line.endswith("\n") else f"{line}\n{NO_NEWLINE}" for line in body)


def _mode(tree: Tree, path: str) -> str:
    return "100755" if path in tree.executable else "100644"


def _lines(content: bytes | None) -> list[str]:
    parts = (content or b"").decode(_BYTES).split("\n")
    return [f"{p}\n" for p in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def _quote(path: str) -> str:
    """As git quotes names that hold anything but plain printable ASCII."""
    if all(32 < ord(c) < 127 and c not in '"\\' for c in path):
        return path
    escaped = "".join(
        chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\{chr(b)}" if b in b'"\\' else f"\\{b:03o}"
        for b in path.encode()
    )
    return f'"{escaped}"'
