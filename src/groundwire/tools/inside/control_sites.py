"""Rewrites test modules so that each assertion can be controlled: it asks `control_answers` what it is to compare.

The form is the same whether a case is turned round or not: only the answers tell one from the other.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from groundwire.tools.inside.control_questions import (
        CONTROLS,
        again,
        ask,
        contrary_of,
        name_of,
        negated,
        through,
        through_call,
        through_yes,
        with_argument,
        with_array,
        with_element,
        with_operand,
        with_operand_of,
        with_part,
    )
    from groundwire.tools.inside.expected_sides import CLEAN, LITERAL, Modules, Ranks, Sides
else:
    from _gw_control_questions import (
        CONTROLS,
        again,
        ask,
        contrary_of,
        name_of,
        negated,
        through,
        through_call,
        through_yes,
        with_argument,
        with_array,
        with_element,
        with_operand,
        with_operand_of,
        with_part,
    )
    from _gw_expected_sides import CLEAN, LITERAL, Modules, Sides

ANSWERS = "_gw_control_answers"
"""What the assertions ask."""
NOWHERE = -1
"""The number of no assertion."""
CHANGED_VALUE, NEGATION = "changed_value", "negation"
EQUALITIES = frozenset(
    {
        "assertEqual", "assertEquals", "assertListEqual", "assertTupleEqual", "assertSetEqual", "assertDictEqual",
        "assertSequenceEqual", "assertMultiLineEqual", "assertCountEqual", "assertItemsEqual", "assertAlmostEqual",
        "assertAlmostEquals", "assertIs", "assert_equal", "assert_equals", "eq_", "assert_array_equal",
        "assert_allclose", "assert_almost_equal", "assert_array_almost_equal", "assert_approx_equal",
        "assert_array_max_ulp", "assert_string_equal",
    }
)  # fmt: skip
CALLED = frozenset(
    {
        "assert_called_with", "assert_called_once_with", "assert_any_call", "assert_has_calls", "assert_awaited_with",
        "assert_awaited_once_with", "assert_any_await", "assert_has_awaits",
    }
)  # fmt: skip
"""What a mock asserts of the arguments that it was called with."""
OF_MOCKS = CALLED | {
    "assert_called", "assert_called_once", "assert_not_called", "assert_awaited", "assert_awaited_once",
    "assert_not_awaited",
}  # fmt: skip
SAYS_EQUAL = frozenset(
    {
        "equals", "equal", "is_equal", "isequal", "is_equal_to", "equal_to", "eq", "same", "is_same", "same_as",
        "is_same_as", "identical", "isclose", "is_close", "is_close_to", "close_to", "allclose", "almost_equal",
        "almost_equals", "array_equal", "array_equiv",
    }
)  # fmt: skip
"""What calls that compare two things are called, in numpy, pandas, math, and in projects of their own."""
BEGINS = frozenset({"startswith", "endswith"})
PREDICATE = re.compile(
    r"^_?(is|has|have|can|should|may|does|are)_"
    r"|^(isdisjoint|issubset|issuperset|isvalid|matches|match|contains|includes|accepts|allows|valid|validate|validates"
    r"|covers|overlaps|intersects|supports|satisfies|fits|belongs|belongs_to|check|checks|verify|verifies|owns|agrees"
    r"|equivalent|compatible)$"
)
"""What functions are called that answer with yes or no, and change nothing by that."""
CHECKS = re.compile(r"_?(check|assert|verify|expect|ensure|compare|same|equal)")
"""What functions are called that assert something of two things for the tests."""
MEASURES = frozenset({"abs", "fabs", "round", "float", "norm"})
RAISES = frozenset({"raises", "assertRaises", "assertRaisesRegex", "assertRaisesRegexp"})
WARNS = frozenset({"warns", "assertWarns", "assertWarnsRegex"})


@dataclass(frozen=True)
class Site:
    """One assertion of a test module.

    Args:
        name: `path:line:column`, the same in every run.
        file: as its code object has it.
        first: the first line of the statement.
        last: the last one.
        kind: how it can be controlled, as far as the source shows.
        alone: no assertion of the same function can be controlled in a stronger way.
    """

    name: str
    file: str
    first: int
    last: int
    kind: str
    alone: bool = True


def instrument(
    tree: ast.Module,
    path: str,
    file: str,
    modules: Modules,
    add: Callable[[Site], int],
    asserting: frozenset[str] = frozenset(),
) -> None:
    """Rewrites a module in place.

    Args:
        tree: the module.
        path: its file, relative to the work folder.
        file: as its code object will have it.
        modules: what its imports are worth.
        add: told of each assertion; gives it a number.
        asserting: functions of the project that assert for the tests, and that the candidate has changed.
    """
    sides = Sides(tree, path, modules)
    for function, owner in sides.functions:
        sides.enter(owner)
        _Function(function, path, file, sides, add, asserting).rewrite()
    tree.body.insert(_after_head(tree), ast.Import([ast.alias(ANSWERS, CONTROLS)], lineno=1, col_offset=0))
    ast.fix_missing_locations(tree)


def names_denied(tree: ast.Module) -> set[str]:
    """The functions of whose answers a test asserts something else than that they are true."""
    found: set[str] = set()
    for node in ast.walk(tree):
        asked: list[ast.expr] = []
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            asked = [node.operand]
        elif isinstance(node, ast.Compare):
            asked = [node.left, *node.comparators]
        elif isinstance(node, ast.Call) and name_of(node).startswith("assert") and name_of(node) != "assertTrue":
            asked = node.args
        found |= {name_of(call) for one in asked for call in ast.walk(one) if isinstance(call, ast.Call)}
    return found


def _after_head(tree: ast.Module) -> int:
    place = 0
    for node in tree.body:
        is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and place == 0
        if not is_text and not (isinstance(node, ast.ImportFrom) and node.module == "__future__"):
            break
        place += 1
    return place


class _Function:
    """One function with all of its assertions."""

    def __init__(
        self,
        function: Any,
        path: str,
        file: str,
        sides: Sides,
        add: Callable[[Site], int],
        asserting: frozenset[str],
    ) -> None:
        self._function = function
        self._asserting = asserting
        self._path = path
        self._file = file
        self._sides = sides
        self._scope: Ranks = sides.of(function)
        self._add = add
        self._found: list[tuple[ast.stmt, str, Callable[[int], None]]] = []

    def rewrite(self) -> None:
        """Finds the assertions first, since how one is controlled depends on what the others are."""
        for node in ast.walk(self._function):
            if isinstance(node, ast.Assert):
                self._assert(node)
            elif isinstance(node, ast.With):
                self._with(node)
            elif isinstance(node, (ast.Expr, ast.Assign)):
                self._call(node)
            elif isinstance(node, ast.If):
                self._failure(node)
        strong = any(kind == CHANGED_VALUE for _, kind, _ in self._found)
        for node, kind, change in self._found:
            last = getattr(node, "end_lineno", node.lineno) or node.lineno
            name = f"{self._path}:{node.lineno}:{node.col_offset}"
            alone = kind == CHANGED_VALUE or not strong
            change(self._add(Site(name, self._file, node.lineno, last, kind, alone)))
        for node in ast.walk(self._function):
            if isinstance(node, ast.Call):
                self._side_by_side(node)

    def _rank(self, node: ast.AST) -> int:
        return self._sides.rank(node, self._scope)

    def _assert(self, node: ast.Assert) -> None:
        if self._rank(node.test) == LITERAL:
            return  # it says nothing of the project, whatever it says
        strong = self._condition(node.test)
        if strong is not None:
            self._found.append((node, CHANGED_VALUE, lambda site: setattr(node, "test", strong(site))))
        elif (said := self._said_by_the_project(node.test)) is not None:
            self._found.append((node, NEGATION, lambda site: through_yes(said, site)))
        else:
            self._found.append((node, NEGATION, lambda site: setattr(node, "test", ask("truth", site, node.test))))

    def _failure(self, node: ast.If) -> None:
        """`if got != 6: pytest.fail()`"""
        denied = self._denied(node.test) if _fails(node) else None
        if denied is not None:
            self._found.append((node, CHANGED_VALUE, lambda site: setattr(node, "test", denied(site))))

    def _side_by_side(self, call: ast.Call) -> None:
        """`zip(f(x), [1, 2])`, where what is expected is only looked at as far as the project goes."""
        first = {"zip": 0, "map": 1}.get(getattr(call.func, "id", ""))
        if first is None or any(isinstance(arg, ast.Starred) for arg in call.args) or self._rank(call.func) > CLEAN:
            return
        ranks = [self._rank(arg) for arg in call.args[first:]]
        if ranks and min(ranks) <= CLEAN < max(ranks):
            places: list[ast.expr] = [ast.Constant(first + n) for n, rank in enumerate(ranks) if rank <= CLEAN]
            through(call, NOWHERE, "side_by_side", ast.Tuple(places, ast.Load()))

    def _said_by_the_project(self, test: ast.expr) -> ast.Call | None:
        """`m.is_right(x)`, where the project's own yes decides; None for anything else."""
        theirs = isinstance(test, ast.Call) and self._rank(test.func) > CLEAN and PREDICATE.search(name_of(test))
        if not theirs or not isinstance(test, ast.Call) or not (test.args or test.keywords):
            return None
        starred = any(isinstance(arg, ast.Starred) for arg in test.args) or any(k.arg is None for k in test.keywords)
        return None if starred else test

    def _with(self, node: ast.With) -> None:
        for item in node.items:
            call = item.context_expr
            if isinstance(call, ast.Call):
                self._raising(node, call)

    def _call(self, node: Any) -> None:
        call = node.value
        if not isinstance(call, ast.Call):
            return
        name = name_of(call)
        if name in RAISES or name in WARNS:
            if len(call.args) > 1:
                self._raising(node, call)
            return
        theirs = name in self._asserting and self._rank(call.func) > CLEAN
        if not isinstance(node, ast.Expr) or not (name.startswith("assert") or name in EQUALITIES or theirs):
            return
        if name in OF_MOCKS and isinstance(call.func, ast.Attribute):
            if name in CALLED and not any(isinstance(a, ast.Starred) for a in call.args):
                self._found.append((node, CHANGED_VALUE, lambda site: through(call, site, "called")))
            else:
                self._found.append((node, NEGATION, lambda site: through_call(call, site, -1)))
            return
        place = self._expected_argument(name, call.args, theirs=theirs)
        if place is None and theirs and CHECKS.match(name) and len(call.args) > 1:
            place = 1  # whichever is the expected one: where the candidate asserts by itself, either has to count
        if place is None and theirs and not name.startswith("assert"):
            return
        if place is not None:
            self._found.append((node, CHANGED_VALUE, lambda site: through_call(call, site, place)))
            return
        inner = None
        if name in ("assertTrue", "assertFalse") and call.args:
            inner = (self._condition if name == "assertTrue" else self._denied)(call.args[0])
        said = self._said_by_the_project(call.args[0]) if name == "assertTrue" and call.args else None
        if inner is not None:
            self._found.append((node, CHANGED_VALUE, lambda site: call.args.__setitem__(0, inner(site))))
        elif said is not None:
            self._found.append((node, NEGATION, lambda site: through_yes(said, site)))
        elif any(self._rank(a) > LITERAL for a in (*call.args, *(k.value for k in call.keywords))) or not call.args:
            self._found.append((node, NEGATION, lambda site: through_call(call, site, -1)))

    def _raising(self, node: ast.stmt, call: ast.Call) -> None:
        name = name_of(call)
        if (name in RAISES or name in WARNS) and call.args and not isinstance(call.args[0], ast.Starred):
            what = "error" if name in RAISES else "warning"
            old = call.args[0]
            self._found.append((node, CHANGED_VALUE, lambda site: call.args.__setitem__(0, ask(what, site, old))))

    def _expected_argument(self, name: str, args: Sequence[ast.expr], *, theirs: bool) -> int | None:
        if not (name in EQUALITIES or theirs) or len(args) < 2 or any(isinstance(a, ast.Starred) for a in args[:2]):
            return None
        return _lower(self._rank(args[0]), self._rank(args[1]))

    def _condition(self, test: ast.expr) -> Callable[[int], ast.expr] | None:
        """How an expression is made to ask for another value, so that it must become false; None where it can't be."""
        if isinstance(test, ast.Compare):
            return self._comparison(test) if self._distance(test) is None else self._distance(test)
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            return contrary_of(self._denied(test.operand))
        if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
            return self._first_of(test, test.values)
        if isinstance(test, ast.Call) and (by_name := self._by_name(test)) is not None:
            return by_name
        if isinstance(test, ast.Call) and name_of(test) == "all" and isinstance(test.func, ast.Attribute):
            inner = self._condition(test.args[0] if test.args else test.func.value)  # of an array
            return None if inner is None else with_array(test, inner)
        if isinstance(test, ast.Call) and isinstance(test.func, ast.Name) and len(test.args) == 1:
            argument = test.args[0]
            if test.func.id == "bool":
                return self._first_of(test, test.args)
            if test.func.id == "all" and isinstance(argument, (ast.GeneratorExp, ast.ListComp)):
                element = argument.elt
                inner = self._condition(element)
                return with_element(test, argument, inner or (lambda site: ask("truth", site, element)))
        return None

    def _denied(self, test: ast.expr) -> Callable[[int], ast.expr] | None:
        """The same for an expression that has to be false, so that it must become true."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            return contrary_of(self._condition(test.operand))
        if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or):
            return self._first_of(test, test.values, self._denied)
        if isinstance(test, ast.Compare) and isinstance(test.ops[0], (ast.NotEq, ast.IsNot)):
            same = ast.Eq() if isinstance(test.ops[0], ast.NotEq) else ast.Is()
            as_same = ast.copy_location(ast.Compare(test.left, [same], test.comparators), test)
            return contrary_of(self._comparison(as_same)) if len(test.ops) == 1 else None
        if isinstance(test, ast.Compare):
            return contrary_of(self._distance(test, negated(test)))
        if isinstance(test, ast.Call) and isinstance(test.func, ast.Name) and test.func.id == "any" and test.args:
            argument = test.args[0]
            if isinstance(argument, (ast.GeneratorExp, ast.ListComp)):
                element = argument.elt
                inner = self._denied(element)
                return with_element(
                    test, argument, inner or (lambda site: negated(ask("truth", site, negated(element))))
                )
        return None

    def _first_of(
        self,
        test: ast.expr,
        parts: list[ast.expr],
        change: Callable[[ast.expr], Callable[[int], ast.expr] | None] | None = None,
    ) -> Callable[[int], ast.expr] | None:
        for place, part in enumerate(parts):
            inner = (change or self._condition)(part)
            if inner is not None:
                return with_part(test, parts, place, inner)
        return None

    def _by_name(self, test: ast.Call) -> Callable[[int], ast.expr] | None:
        """A call whose name says that it compares two things, the object that it is a method of among them."""
        name, args = name_of(test), test.args
        if any(isinstance(arg, ast.Starred) for arg in args[:2]):
            return None
        if name in SAYS_EQUAL and len(args) >= 2:
            place = _lower(self._rank(args[0]), self._rank(args[1]))
        elif name in (SAYS_EQUAL | BEGINS) and len(args) == 1 and isinstance(test.func, ast.Attribute):
            place = 0 if self._rank(args[0]) < self._rank(test.func.value) else None
            if name in BEGINS and isinstance(args[0], ast.Tuple):
                place = None
        else:
            place = None
        return None if place is None else with_argument(test, args, place, "far" if "close" in name else "other")

    def _distance(self, test: ast.Compare, holds: ast.expr | None = None) -> Callable[[int], ast.expr] | None:
        """`abs(a - b) < c`, and the same rounded: the expected one of `a` and `b` is what is changed.

        Args:
            test: the comparison.
            holds: what has to be true; None: the comparison itself.
        """
        for side in (test.left, *test.comparators):
            inner = side
            while isinstance(inner, ast.Call) and inner.args and name_of(inner) in MEASURES:
                inner = inner.args[0]
            if inner is not side and isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.Sub):
                lower = _lower(self._rank(inner.left), self._rank(inner.right))
                if lower is not None:
                    return with_operand_of(holds or test, inner, lower)
        return None

    def _comparison(self, test: ast.Compare) -> Callable[[int], ast.expr] | None:
        sides = [test.left, *test.comparators]
        ranks = [self._rank(side) for side in sides]
        for place, operator in enumerate(test.ops):
            if not isinstance(operator, (ast.Eq, ast.Is)):
                continue
            lower = _lower(ranks[place], ranks[place + 1])
            if lower is None:
                continue
            if isinstance(operator, ast.Is) and not isinstance(sides[place + lower], ast.Constant):
                continue
            if len(test.ops) == 1:
                what = "equal" if isinstance(operator, ast.Eq) else "same"
                more = [again(sides[place + lower])] if what == "equal" else []
                return lambda site, s=lower: ask(what, site, ast.Constant(s), *more, test.left, test.comparators[0])
            return lambda site, at=place + lower: with_operand(test, at, site)
        return None


def _lower(left: int, right: int) -> int | None:
    """Which of two sides is the expected one; None where that can't be told."""
    return None if left == right else int(right < left)


def _fails(node: ast.If) -> bool:
    """True for a branch that only tells a failure."""
    last = node.body[-1]
    if node.orelse:
        return False
    if isinstance(last, ast.Raise) and last.exc is not None:
        error = last.exc.func if isinstance(last.exc, ast.Call) else last.exc
        return getattr(error, "attr", getattr(error, "id", "")) in ("AssertionError", "failureException")
    return isinstance(last, ast.Expr) and isinstance(last.value, ast.Call) and name_of(last.value) == "fail"
