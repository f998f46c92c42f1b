"""Candidates as patches that `git apply` takes."""

from __future__ import annotations

import difflib
from collections.abc import Mapping

from groundwire.errors import CandidateError
from groundwire.trees import NO_MODES, Tree

__all__ = ["count_lines", "make_patch"]

CONTEXT_LINES = 3
NO_NEWLINE = "\\ No newline at end of file\n"


def make_patch(base: Tree, changes: Mapping[str, bytes | None], modes: Mapping[str, bool] = NO_MODES) -> str:
    """A unified diff with git's headers; a file that does not change leaves no trace.

    Args:
        base: what the changes apply to.
        changes: path → new content, or None where the file is deleted.
        modes: path → whether it carries the executable bit from now on.

    Raises:
        CandidateError: a changed file is not UTF-8 text.
    """
    after = base.with_changes(changes, modes)
    return "".join(_file_patch(base, after, path) for path in sorted(changes))


def count_lines(base: Tree, changes: Mapping[str, bytes | None]) -> tuple[int, int]:
    """Lines added and removed by `changes`."""
    added = removed = 0
    for path, content in changes.items():
        for line in list(difflib.unified_diff(_lines(path, base.files.get(path)), _lines(path, content), n=0))[2:]:
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
    body = difflib.unified_diff(_lines(path, before), _lines(path, content), old, new, n=CONTEXT_LINES)
    return head + "".join(line if line.endswith("\n") else f"{line}\n{NO_NEWLINE}" for line in body)


def _mode(tree: Tree, path: str) -> str:
    return "100755" if path in tree.executable else "100644"


def _lines(path: str, content: bytes | None) -> list[str]:
    try:
        text = (content or b"").decode()
    except UnicodeDecodeError as error:
        raise CandidateError(
            f"{path} is not UTF-8 text, so it can't be written as a patch.", do="Use --apply."
        ) from error
    parts = text.split("\n")
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
