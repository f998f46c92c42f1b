"""What tests tell without being run."""

from __future__ import annotations

from groundwire.agents.search._examples import Examples, read_examples

TESTS = b"""
import pytest
from shop import price, total, valid

def test_a():
    assert total([1.5, 2.0], "EUR") == 3.5
    assert [] == names(["a"])
    assert valid("x")
    assert not valid("")
    assert price(None) is None

def test_b(self):
    self.assertEqual(shop.half(7), 3)
"""


def test_kinds_of_arguments_and_results() -> None:
    found = read_examples([TESTS])
    assert found.arguments["total"] == {0: "list/float", 1: "str"}
    assert found.arguments["half"] == {0: "int"}
    assert found.results["total"] == "float"
    assert found.results["names"] == "list"
    assert found.results["valid"] == "bool"
    assert "price" not in found.results


def test_literals_the_most_frequent_first() -> None:
    found = read_examples([b"assert f(3) == 3\nassert f(8) == 'a'\nx = True\ny = 1e30\nz = '" + b"x" * 50 + b"'\n"])
    assert found.numbers == (3, 8)
    assert found.strings == ("a",)


def test_files_that_cannot_be_read_are_left_out() -> None:
    assert read_examples([b"def broken(:", b"\x00", b"(" * 5000]) == Examples()
    assert read_examples([b"x = " + b"-" * 900 + b"1"]) == Examples()
    assert read_examples([b"def broken(:", b"assert f(1)"]).results == {"f": "bool"}


DOCUMENTED = b'''
def half(n, unit):
    """Half of it.

    >>> half(9, 'cm')
    4.5
    >>> broken(
    >>> show('x')
    anything goes here
    """
    return n / 3
'''


def test_doctests_are_examples_and_the_code_around_them_is_not() -> None:
    found = read_examples([], [DOCUMENTED])
    assert found.arguments == {"half": {0: "int", 1: "str"}, "show": {0: "str"}}
    assert found.results == {"half": "float"}
    assert found.numbers == (9, 4.5)
    assert found.strings == ("cm", "x")


def test_a_docstring_that_is_no_doctest() -> None:
    assert read_examples([], [b"def f():\n    '''>>> a\n  b\n >>> c'''\n"]) == Examples()
