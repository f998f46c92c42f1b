"""Guesses about kinds."""

from __future__ import annotations

import libcst as cst
import pytest

from groundwire.agents.search._kinds import annotation_kind, base, element, fit, kind_of, value_kind

NAMES = {"n": "int", "x": "float", "s": "str", "words": "list/str", "grid": "list/list/int", "d": "dict"}
CALLS = {"own": "list/int"}


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("1", "int"), ("1.5", "float"), ("'a'", "str"), ("f'{n}'", "str"), ("True", "bool"), ("None", "none"),
        ("n", "int"), ("unknown", ""), ("n < 1", "bool"), ("not n", "bool"), ("-n", "int"), ("n + 1", "int"),
        ("n / 2", "float"), ("n * x", "float"), ("s + s", "str"), ("'%d' % n", "str"), ("words + []", "list/str"),
        ("[1, 2]", "list/int"), ("[1, 'a']", "list"), ("(n, n)", "tuple/int"), ("{1}", "set/int"), ("{1: 2}", "dict"),
        ("[w for w in words]", "list"), ("[len(w) for w in words]", "list/int"), ("words[0]", "str"), ("s[0]", "str"),
        ("words[1:]", "list/str"), ("grid[0]", "list/int"), ("grid[0][1]", "int"), ("len(words)", "int"),
        ("sorted(words)", "list/str"), ("sum([1])", "int"), ("max(words)", "str"), ("abs(x)", "float"),
        ("s.lower()", "str"), ("s.split()", "list/str"), ("words.copy()", "list/str"), ("own()", "list/int"),
        ("range(3)", "iter/int"), ("n if s else x", "int"), ("lambda: 1", "function"), ("own", ""),
        ("math.sqrt(n)", "float"), ("a or n", "int"), ("round(x)", "float"),
    ],
)  # fmt: skip
def test_kind_of(code: str, kind: str) -> None:
    assert kind_of(cst.parse_expression(code), NAMES, CALLS) == kind


@pytest.mark.parametrize(
    ("text", "kind"),
    [("int", "int"), ("List[int]", "list/int"), ("typing.List[float]", "list/float"), ("Optional[str]", "str"),
     ("Dict[str, int]", "dict"), ("'str'", "str"), ("Foo", ""), ("int | None", "")],
)  # fmt: skip
def test_annotation_kind(text: str, kind: str) -> None:
    assert annotation_kind(cst.parse_expression(text)) == kind


VALUES: list[tuple[object, str]] = [
    (1, "int"), (2.0, "float"), ("a", "str"), (True, "bool"), (None, "none"), ([1], "list/int"), ([1, "a"], "list"),
    ([[1]], "list/list/int"), ((1, 2), "tuple/int"), ({1}, "set/int"), (frozenset({1}), "set/int"), ([], "list"),
]  # fmt: skip


def test_value_kind() -> None:
    assert [value_kind(value) for value, _ in VALUES] == [kind for _, kind in VALUES]


def test_parts_and_fit() -> None:
    assert (base("list/str"), element("list/str"), element("str"), element("int")) == ("list", "str", "str", "")
    assert fit("int", "int") == 1.0
    assert fit("int", "") == fit("", "int") == 0.5
    assert fit("list/int", "list/str") < fit("list/int", "list") == 1.0
    assert fit("int", "float") > fit("int", "str")
    assert 0 < fit("int", "str") < 0.1
