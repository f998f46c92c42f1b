"""What means the same is one; what does not compile or change is none."""

from __future__ import annotations

import pytest

from groundwire.agents.search._equivalence import Units, meaning
from groundwire.agents.search._source import Replacement, parse_source


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a > b", "b < a"), ("a >= b", "b <= a"), ("a == b", "b == a"), ("not a == b", "a != b"),
        ("not a in b", "a not in b"), ("range(0, n)", "range(n)"), ("a[0:]", "a[:]"), ("a[::1]", "a[:]"),
        ("a - 1", "a + -1"), ("a + 1 + 2", "a + 3"), ("--a", "a"),
        ("sorted(sorted(a))", "sorted(a)"),        ("(a)", "a"), ("'a'", '"a"'),
    ],
)  # fmt: skip
def test_the_same_meaning(one: str, other: str) -> None:
    assert meaning(f"x = {one}".encode()) == meaning(f"x = {other}".encode())


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a > b", "a < b"), ("a - b", "b - a"), ("not a < b", "a >= b"), ("range(1, n)", "range(n)"), ("a[1:]", "a[:]"),
        ("sorted(sorted(a), reverse=True)", "sorted(a)"), ("a + 1", "a + 2"), ("a + b", "b + a"), ("1", "True"),
        ("1", "1.0"), ("a - 1.0", "a + 1"), ("-1 ** n", "(-1) ** n"), ("a + True", "a + 1"),
        ("a - 0", "a"), ("a + 1 - 1", "a"),
    ],
)  # fmt: skip
def test_another_meaning(one: str, other: str) -> None:
    # `not a < b` is not `a >= b` where a or b is nan or a set; `a - 0` fails where a is a text
    assert meaning(f"x = {one}".encode()) != meaning(f"x = {other}".encode())


@pytest.mark.parametrize(
    "code", ["x = (", "return 1", "break", "def f():\n    x = 1\n    global x", "x = '\ud800'", "\x00"]
)
def test_what_does_not_compile_has_none(code: str) -> None:
    assert meaning(code.encode("utf-8", "surrogatepass")) is None


CODE = """import os

LIMIT = 3

class Box:
    size = 1

    @property
    def full(self):
        return self.size > 1

    def grow(self):
        self.size += 1

@staticmethod
def f(a):
    return a + 1
"""


def units() -> Units:
    source = parse_source("m.py", CODE.encode())
    assert source is not None
    return Units(source)


def splice(old: str, new: str) -> Replacement:
    start = CODE.encode().index(old.encode())
    return Replacement(start, start + len(old.encode()), new)


def test_units_know_edits_by_meaning() -> None:
    u = units()
    assert u.key([splice("a + 1", "a - 1")]) == u.key([splice("+ 1\n", "+ -1\n")])
    assert u.key([splice("a + 1", "a - 1")]) != u.key([splice("a + 1", "a")])
    assert u.key([splice("self.size > 1", "1 < self.size")]) is None
    assert u.key([splice("self.size > 1", "self.size >= 1")]) is not None


def test_an_edit_in_each_kind_of_unit() -> None:
    u = units()
    keys = [
        u.key([s])
        for s in (splice("LIMIT = 3", "LIMIT = 4"), splice("size = 1", "size = 2"), splice("size += 1", "size += 2"),
                  splice("return a", "return LIMIT"), splice("> 1", "> 2"))
    ]  # fmt: skip
    assert None not in keys
    assert len(set(keys)) == len(keys)


def test_two_edits_in_two_units() -> None:
    u = units()
    both = [splice("size += 1", "size += 2"), splice("a + 1", "a + 2")]
    assert u.key(both) == u.key(both[::-1])
    assert u.key(both) not in (u.key(both[:1]), u.key(both[1:]), None)


def test_broken_code_and_no_change_have_no_key() -> None:
    u = units()
    assert u.key([splice("return a", "return return a")]) is None
    assert u.key([splice("        self.size += 1", "    self.size += 1")]) is None
    assert u.key([splice("a + 1", "(a + 1)")]) is None
    assert u.key([splice("a + 1", "a # (")]) is not None


def test_an_edit_across_units() -> None:
    u = units()
    assert u.key([splice("LIMIT = 3\n\nclass Box", "LIMIT = 4\n\nclass Box")]) is not None
