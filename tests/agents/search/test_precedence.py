"""Parentheses where they are needed, and only there."""

from __future__ import annotations

import ast

import libcst as cst
import pytest

from groundwire.agents.search._precedence import binding, fitted
from groundwire.agents.search._source import Splice, apply, parse_source

PIECES = [
    "v", "f(v)", "v + w", "v * w", "-v", "v ** w", "v < w", "not v", "v and w", "v or w", "v if w else u", "v | w",
    "lambda: v", "(v, w)", "[v]", "v.w", "v[0]", "1", "'t'",
]  # fmt: skip
PLACES = [
    "x = HOLE", "x = HOLE + a", "x = a + HOLE", "x = a - HOLE", "x = HOLE * a", "x = -HOLE", "x = HOLE ** a",
    "x = a ** HOLE", "x = HOLE < a", "x = a < HOLE", "x = not HOLE", "x = HOLE and a", "x = a and HOLE",
    "x = HOLE or a", "x = a if HOLE else b", "x = HOLE if a else b", "x = f(HOLE)", "x = f(k=HOLE)", "x = HOLE.at",
    "x = HOLE[0]", "x = y[HOLE]", "x = y[HOLE:]", "x = [HOLE]", "x = [i for i in HOLE]", "x = {a: HOLE}",
    "x = [HOLE for i in a]", "x = [i for i in a if HOLE]", "x = (HOLE)", "x = (HOLE) * a", "assert HOLE",
    "x = a - (HOLE)", "def f():\n    return HOLE", "x = HOLE, a",
]  # fmt: skip
SAME_WITHOUT = {("x = HOLE and a", "v and w"), ("x = HOLE or a", "v or w")}
"""Chains that mean the same with and without parentheses, though their trees differ."""


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("piece", PIECES)
def test_a_piece_stays_one_piece_wherever_it_is_put(place: str, piece: str) -> None:
    source = parse_source("m.py", f"{place}\n".encode())
    assert source is not None
    hole = next(s for s in source.expressions if source.text(s) == "HOLE")
    text = fitted(piece.strip("()") if piece == "(v, w)" else piece, binding(cst.parse_expression(piece)), hole)
    made = apply(source.data, [Splice(*hole.outer, text)]).decode()
    if (place, piece) in SAME_WITHOUT:
        assert made == place.replace("HOLE", piece) + "\n"
        return
    expected = ast.dump(ast.parse(place.replace("HOLE", f"({piece})")))
    assert ast.dump(ast.parse(made)) == expected


@pytest.mark.parametrize(
    ("place", "piece", "made"),
    [
        ("x = HOLE + a", "v * w", "x = v * w + a"),
        ("x = HOLE * a", "v + w", "x = (v + w) * a"),
        ("x = (HOLE) * a", "v", "x = v * a"),
        ("x = f(HOLE)", "v if w else u", "x = f(v if w else u)"),
        ("x = a - HOLE", "v - w", "x = a - (v - w)"),
        ("x = y[HOLE]", "v + 1", "x = y[v + 1]"),
    ],
)
def test_no_more_parentheses_than_needed(place: str, piece: str, made: str) -> None:
    source = parse_source("m.py", f"{place}\n".encode())
    assert source is not None
    hole = next(s for s in source.expressions if source.text(s) == "HOLE")
    text = fitted(piece, binding(cst.parse_expression(piece)), hole)
    assert apply(source.data, [Splice(*hole.outer, text)]).decode() == f"{made}\n"
