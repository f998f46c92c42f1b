"""The questions that stand in a rewritten assertion: calls of `control_answers` in the place of what was compared."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable
from typing import Any

CONTROLS = "@gw"
"""What answers, in a test module; no name that is written in Python can be it."""
WORKED_OUT = frozenset(
    {"sorted", "list", "tuple", "set", "frozenset", "dict", "len", "sum", "min", "max", "reversed", "enumerate", "zip",
     "range", "str", "any", "all", "abs"}
)  # fmt: skip
"""Built-in functions that change nothing, so that what they are given can be worked out once more."""
NOT_TWICE = (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom, ast.Lambda)


def negated(test: ast.expr) -> ast.expr:
    """`not …`"""
    return placed(ast.UnaryOp(ast.Not(), test), test)


def contrary_of(change: Callable[[int], ast.expr] | None) -> Callable[[int], ast.expr] | None:
    """How an expression becomes the contrary of what another one becomes."""
    return None if change is None else lambda site: negated(change(site))


def name_of(call: ast.Call) -> str:
    """The last name of what is called."""
    return str(getattr(call.func, "attr", getattr(call.func, "id", "")))


def ask(what: str, site: int, *parts: ast.expr) -> ast.expr:
    """A call of `control_answers`, where the last of its parts stands."""
    function = ast.Attribute(ast.Name(CONTROLS, ast.Load()), what, ast.Load())
    return placed(ast.Call(function, [ast.Constant(site), *parts], []), parts[-1])


def again(expected: ast.expr) -> ast.expr:
    """A function that works an expected value out again, where that is made of names and does nothing else."""
    parts = list(ast.walk(expected))
    plain = all(
        isinstance(part.func, ast.Name) and part.func.id in WORKED_OUT for part in parts if isinstance(part, ast.Call)
    )
    names = any(isinstance(part, ast.Name) and part.id not in WORKED_OUT for part in parts)
    if not plain or not names or any(isinstance(part, NOT_TWICE) for part in parts):
        return ast.Constant(None)
    nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    return ast.Lambda(nothing, copy.deepcopy(expected))


def placed(new: Any, old: ast.AST) -> Any:
    """The new node, and all that is new in it, at the place of an old one."""
    ast.copy_location(new, old)
    for part in ast.walk(new):
        if isinstance(part, (ast.expr, ast.stmt)) and not hasattr(part, "lineno"):
            ast.copy_location(part, old)
    return new


def through(call: ast.Call, site: int, what: str, *told: ast.expr) -> None:
    """`f(a, b)` becomes a call of `control_answers` that makes the call, and is told more before the function."""
    asked: Any = ask(what, site, *told, call.func)
    call.args = [*asked.args, *call.args]
    call.func = asked.func


def through_call(call: ast.Call, site: int, place: int) -> None:
    """Likewise for an assertion; `place` is the expected argument, -1: none."""
    through(call, site, "call", ast.Constant(place), ast.Constant(None) if place < 0 else again(call.args[place]))


def through_yes(call: ast.Call, site: int) -> None:
    """Likewise for a function that answers with yes or no."""
    through(call, site, "yes", ast.Constant(name_of(call)))


def with_part(
    test: ast.expr, parts: list[ast.expr], place: int, inner: Callable[[int], ast.expr]
) -> Callable[[int], ast.expr]:
    def change(site: int) -> ast.expr:
        parts[place] = inner(site)
        return test

    return change


def with_element(test: ast.expr, comprehension: Any, inner: Callable[[int], ast.expr]) -> Callable[[int], ast.expr]:
    def change(site: int) -> ast.expr:
        comprehension.elt = inner(site)
        return test

    return change


def with_array(test: ast.Call, inner: Callable[[int], ast.expr]) -> Callable[[int], ast.expr]:
    def change(site: int) -> ast.expr:
        if test.args:
            test.args[0] = inner(site)
        else:
            setattr(test.func, "value", inner(site))  # noqa: B010  an attribute, as was seen before
        return test

    return change


def with_argument(test: ast.Call, args: list[ast.expr], place: int, what: str) -> Callable[[int], ast.expr]:
    def change(site: int) -> ast.expr:
        args[place] = ask(what, site, args[place])
        return ask("kept", site, test)

    return change


def with_operand_of(test: ast.expr, difference: ast.BinOp, lower: int) -> Callable[[int], ast.expr]:
    def change(site: int) -> ast.expr:
        name = "right" if lower else "left"
        setattr(difference, name, ask("far", site, getattr(difference, name)))
        return ask("kept", site, test)

    return change


def with_operand(test: ast.Compare, place: int, site: int) -> ast.expr:
    old = test.left if place == 0 else test.comparators[place - 1]
    new = ask("other", site, old)
    if place == 0:
        test.left = new
    else:
        test.comparators[place - 1] = new
    return test
