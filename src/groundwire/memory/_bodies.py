"""Bodies of candidates as a database keeps them: where the base tree is kept too, only what differs from its files."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import lru_cache
from typing import Any, cast

from groundwire.core._candidates import Candidate, Tree, from_base85, to_base85
from groundwire.core._errors import CandidateError, GroundwireError, StorageError
from groundwire.core._records import tree_key

BodyOf = Callable[[str], bytes | None]
"""An artifact's body by its key, as it is kept."""
SHORT = b'{"apart":'
"""How such a body begins; one that is whole begins otherwise."""
LEAST_BYTES = 512
"""Below this nothing is worth being left out."""
TREES_KNOWN = 4


def shortened(body: bytes, body_of: BodyOf) -> bytes:
    """A candidate's body without what its files share with those of the base tree at their beginnings and ends.

    Args:
        body: of a candidate, whole.
        body_of: finds the base tree's.

    Returns:
        The same body, where nothing is gained or the base tree is not kept.
    """
    try:
        candidate = Candidate.from_bytes(body)
        kept = body_of(tree_key(candidate.base_digest)) if len(body) >= LEAST_BYTES else None
        if kept is None:
            return body
        base = _tree(kept)
    except GroundwireError:
        return body
    apart: dict[str, Any] = {}
    for path, content in candidate.changes.items():
        old = base.files.get(path)
        if content is None or old is None:
            apart[path] = None if content is None else to_base85(content)
            continue
        start = _shared(old, content)
        end = _shared(old[start:][::-1], content[start:][::-1])
        apart[path] = [start, end, to_base85(content[start : len(content) - end])]
    said: dict[str, Any] = {"apart": apart, "base": candidate.base_digest, "edits": candidate.edits}
    said |= {"note": candidate.note, **({"modes": dict(candidate.modes)} if candidate.modes else {})}
    short = json.dumps(said, separators=(",", ":")).encode()
    # what can't be told from it to the last byte is not left out
    return short if 2 * len(short) <= len(body) and whole(short, lambda _key: kept) == body else body


def whole(body: bytes, body_of: BodyOf) -> bytes:
    """An artifact's body as it was before `shortened`.

    Raises:
        StorageError: it is damaged, or the base tree is gone.
    """
    if not body.startswith(SHORT):
        return body
    try:
        said = json.loads(body)
        kept = body_of(tree_key(said["base"]))
        if kept is None:
            raise StorageError(
                "A candidate can't be read: the files that it changes are not in the ledger.",
                do="Restore the database from a copy.",
            )
        files = _tree(kept).files
        changes = {path: _content(files.get(path, b""), part) for path, part in said["apart"].items()}
        return Candidate(
            said["base"], changes, tuple(said["edits"]), said["note"], dict(said.get("modes", {}))
        ).to_bytes()
    except (ValueError, KeyError, TypeError, CandidateError) as error:
        raise StorageError(
            f"A stored candidate can't be read: {error}.", do="Restore the database from a copy."
        ) from error


def _content(old: bytes, part: Any) -> bytes | None:
    if not isinstance(part, list):
        return None if part is None else from_base85(part)
    start, end, text = cast("tuple[int, int, str]", part)
    return old[:start] + from_base85(text) + old[len(old) - end :]


def _shared(first: bytes, second: bytes) -> int:
    """Bytes that both begin with."""
    low, high = 0, min(len(first), len(second))
    while low < high:
        middle = (low + high + 1) // 2
        if first[low:middle] == second[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


@lru_cache(maxsize=TREES_KNOWN)
def _tree(body: bytes) -> Tree:
    return Tree.from_bytes(body)
