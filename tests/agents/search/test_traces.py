"""Edits are likelier where they use what nobody reads, and less likely where they leave something like that behind."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from groundwire.agents.search._blame import Blame
from groundwire.agents.search._candidates import Stream, proposals
from groundwire.agents.search._edit_context import EditContext
from groundwire.agents.search._examples import Examples
from groundwire.agents.search._source import apply, parse_source
from groundwire.agents.search._traces import (
    APART,
    HAS,
    MAY_UNBIND,
    NAMED,
    ORPHANS,
    REPEATS,
    UNBINDS,
    USES_IMPORT,
    USES_LOCAL,
    USES_PARAMETER,
    Traces,
)
from groundwire.core._candidates import Tree


def factors(code: str, missing: Collection[str] = ()) -> dict[str, float]:
    """The whole new text of each edit → its factor."""
    source = parse_source("m.py", code.encode())
    assert source is not None
    scene = EditContext(source, Examples())
    traces = Traces(scene, missing)
    return {
        apply(source.data, p.splices).decode(): traces.factor(site, p)
        for site in source.sites
        if site.statement is not None
        for p in proposals(site, scene, evaluated=not site.is_expression or site in source.evaluated)
    }


@pytest.mark.parametrize(
    ("code", "old", "new", "factor"),
    [
        ("def f(a, b, c):\n    return a + a * c\n", "a * c", "b * c", USES_PARAMETER),
        ("def f(a, b):\n    return a + b + 1\n", "+ b", "+ a", ORPHANS),
        ("def f(a):\n    last = a[0]\n    return a\n", "return a\n", "return last\n", USES_LOCAL),
        ("def f(a, b):\n    return a - b + b\n", "a - b", "b - b", REPEATS * ORPHANS),
        ("def f(a, b):\n    return a < b, a\n", "a < b", "a < a", REPEATS * ORPHANS),
        ("def f(a, b):\n    return max(a, b) + b\n", "max(a, b)", "max(a, a)", REPEATS),
        ("def f(a, b):\n    return a % a + b\n", "a % a", "a % b", APART),
        ("def f(a):\n    n = len(a)\n    return n + 1\n", "    n = len(a)\n", "", UNBINDS * ORPHANS),
        ("def f(a):\n    n = len(a)\n    n += 1\n    return n\n", "    n += 1\n", "", 1.0),
        (
            "def f(a):\n    n = 0\n    if a:\n        a.pop()\n    return n\n",
            "    n = 0\n    if a:\n",
            "    if a:\n        n = 0\n",
            MAY_UNBIND,
        ),
        ("from shop import clean\ndef f(a):\n    return a\n", "return a", "return clean(a)", USES_IMPORT),
        (
            "def _clean(a):\n    return a + 1\ndef f(a):\n    return a\n",
            "return a\n",
            "return _clean(a)\n",
            USES_IMPORT,
        ),
        ("def f(a, b):\n    return a + b\n", "a + b", "a - b", 1.0),
    ],
)
def test_an_edit_by_what_it_uses_and_leaves(code: str, old: str, new: str, factor: float) -> None:
    place = code.rindex(old)
    wanted = code[:place] + new + code[place + len(old) :]
    assert factors(code)[wanted] == pytest.approx(factor)


CLASS = """class Box:
    def __init__(self, size):
        self.size = size
        self.__left = size

    def grow(self, other):
        return self.{} + other.{}
"""


@pytest.mark.parametrize(
    ("old", "new", "factor"),
    [
        (("sizes", "size"), ("size", "size"), HAS),
        (("size", "__lost"), ("size", "size"), HAS),
        (("sizes", "size"), ("sizes", "grow"), 1.0),
        (("size", "sizes"), ("size", "size"), 1.0),
        (("__left", "size"), ("size", "size"), 1.0),
    ],
)
def test_an_attribute_goes_that_the_class_lacks(old: tuple[str, str], new: tuple[str, str], factor: float) -> None:
    found = factors(CLASS.format(*old) + "\n\ndef all_of(a):\n    return a.grow, a.size, a.sizes\n")
    texts = [text for text in found if text.startswith(CLASS.format(*new))]
    assert {found[text] for text in texts} == ({factor} if texts else set())
    assert texts or new == ("sizes", "grow")


def test_a_name_goes_that_the_failure_says_there_is_none_of() -> None:
    code = "def f(a, total):\n    return a + totl, total\n"
    wanted = code.replace("totl", "a")
    assert factors(code, {"totl"})[wanted] == pytest.approx(NAMED * factors(code)[wanted])
    other = code.replace("a + totl", "a - totl")
    assert factors(code, {"totl"})[other] == factors(code)[other]


def test_a_file_full_of_imports_that_it_does_not_read_makes_them_for_others() -> None:
    many = "".join(f"from shop import part_{n}\n" for n in range(9)) + "def f(a):\n    return a\n"
    source = parse_source("m.py", many.encode())
    assert source is not None
    assert EditContext(source, Examples()).vocabulary.unread == ()


def test_no_edit_is_above_the_blame_of_its_line() -> None:
    """Files are read in the order of their blame, so no edit may be above what its file's lines carry."""
    code = "def f(a, b, c):\n    return a < a and a + a\n"
    tree = Tree({"m.py": code.encode()})
    stream = Stream(tree, Blame({"m.py": {1: 0.3, 2: 0.5}}, 0.0, ("m.py",)), Examples(), {}, 0)
    scores = [edit.score for place in range(50) if (edit := stream.at(place))]
    assert scores == sorted(scores, reverse=True)
    assert max(scores) <= 0.5
