"""A candidate's body is kept as what differs from the base tree, and comes back to the last byte."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from groundwire.core._candidates import Candidate, Tree
from groundwire.core._errors import StorageError
from groundwire.core._records import tree_key
from groundwire.memory._bodies import SHORT, shortened, whole

LINES = b"".join(b"line %d = %d\n" % (n, n * n) for n in range(200))
TREE = Tree({"m.py": LINES, "data.bin": bytes(range(256)) * 8, "empty.py": b"", "other.py": b"x = 1\n"})


NOTHING: Mapping[str, bytes] = {}


def keeps(tree: Tree) -> Mapping[str, bytes]:
    return {tree_key(tree.digest): tree.to_bytes()}


@pytest.mark.parametrize(
    "changes",
    [
        {"m.py": LINES.replace(b"line 7 =", b"line 8 =")},
        {"m.py": b"first\n" + LINES},
        {"m.py": LINES + b"last\n"},
        {"m.py": LINES[:-1]},
        {"m.py": LINES + LINES},
        {"m.py": LINES},
        {"m.py": b""},
        {"m.py": None, "other.py": LINES + b"#\n", "empty.py": b"y"},
        {"new.py": LINES, "m.py": LINES.replace(b"\n", b"\r\n")},
        {"data.bin": bytes(range(256)) * 7 + bytes(range(255, -1, -1))},
    ],
)
def test_it_comes_back_as_it_was(changes: Mapping[str, bytes | None]) -> None:
    modes = {path: True for path, content in changes.items() if content is not None}
    body = Candidate(TREE.digest, changes, ("compare.boundary",), "a note: ü", modes).to_bytes()
    short = shortened(body, keeps(TREE).get)
    assert len(short) <= len(body)
    assert whole(short, keeps(TREE).get) == body


def test_a_small_edit_of_a_large_file_takes_little() -> None:
    body = Candidate(TREE.digest, {"m.py": LINES.replace(b"line 7 =", b"line 8 =")}).to_bytes()
    short = shortened(body, keeps(TREE).get)
    assert short.startswith(SHORT)
    assert len(short) < 300 < len(body) / 10


def test_it_is_kept_whole_where_the_tree_is_not_kept() -> None:
    body = Candidate(TREE.digest, {"m.py": LINES + b"#"}).to_bytes()
    assert shortened(body, NOTHING.get) == body
    assert whole(body, NOTHING.get) == body


def test_what_is_no_candidate_stays_as_it_is() -> None:
    assert shortened(b"\0" * 4096, keeps(TREE).get) == b"\0" * 4096
    assert whole(b"\0\1", NOTHING.get) == b"\0\1"


def test_a_tree_that_is_gone_is_said() -> None:
    short = shortened(Candidate(TREE.digest, {"m.py": LINES + b"#"}).to_bytes(), keeps(TREE).get)
    with pytest.raises(StorageError, match="not in the ledger"):
        whole(short, NOTHING.get)


@pytest.mark.parametrize("damaged", [b"{}", b'"base": 3', b'{"m.py":[1]},"base":"x"}', b"\xff"])
def test_a_damaged_body_is_said(damaged: bytes) -> None:
    with pytest.raises(StorageError):
        whole(SHORT + damaged, keeps(TREE).get)
