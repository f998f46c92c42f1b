"""What a file does again and again, and which attributes its classes have."""

from __future__ import annotations

import pytest

from groundwire.agents.search._habits import Habits, counterparts
from groundwire.agents.search._source import SourceFile, parse_source

CODE = """import lib

class Base:
    limit = 3

    def size(self):
        return self.count

class Cart(Base):
    __slots__ = ("items", "owner")

    def __init__(self, items):
        self.count, (self.first, *self.rest) = 0, items
        self.__key = 1

    def read(self):
        if not self.items:
            return None
        key = self.key_of(1)
        if key > 2:
            self.drop(key)
        return self.wrong, self.__key, self.__lost, self.limit, self.size, lib.wrong, self.__class__

    def drop(self, key):
        if not self.items:
            return None
        key = self.key_of(2)
        self.drop(key)
        return key

class Open(lib.Thing):
    def read(self):
        return self.anything

class Lazy:
    def __getattr__(self, name):
        return self.anything
"""


def parsed(code: str = CODE) -> SourceFile:
    source = parse_source("m.py", code.encode())
    assert source is not None
    return source


def test_attributes_that_a_class_lacks() -> None:
    source = parsed()
    habits = Habits(source)
    assert {source.text(s) for s in source.sites if habits.lacks(s)} == {"self.wrong", "self.__lost", "self.key_of"}


def test_a_class_that_is_its_own_base_ends() -> None:
    source = parsed("class A(B):\n    def f(self):\n        return self.x\n\nclass B(A):\n    pass\n")
    assert not any(Habits(source).lacks(s) for s in source.sites)


def test_what_is_done_elsewhere() -> None:
    source = parsed()
    habits = Habits(source)
    (condition,) = habits.conditions["self.drop(key)"]
    assert source.text(condition) == "key > 2"
    assert [source.text(s) for s in habits.before["self.drop(key)"]] == ["key = self.key_of(2)"]
    assert [source.text(s) for s in habits.after["self.drop(key)"]] == ["return key"]
    (opening,) = habits.openings
    assert (opening.count, source.text(opening.site).splitlines()[0]) == (2, "if not self.items:")


@pytest.mark.parametrize(
    ("text", "others"),
    [("[", ["]"]), (")", ["("]), ("MaxSize", ["MinSize"]), ("left", ["right"]), ("plain", []), ("", [])],
)
def test_other_halves(text: str, others: list[str]) -> None:
    assert list(counterparts(text)) == others
