"""Dependences inside a function, against those worked out by hand."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from groundwire.agents.search._flow import Flow, Node, flow_of


def flow(code: str) -> Flow:
    scope = ast.parse(dedent(code)).body[0]
    assert isinstance(scope, ast.FunctionDef)
    return flow_of(scope)


def at(found: Flow, line: int) -> Node:
    (node,) = [n for n in found.nodes[1:] if n.first <= line <= n.last]
    return node


def data(found: Flow, line: int) -> set[int]:
    return {n.first for n in at(found, line).data if n is not found.entry}


def control(found: Flow, line: int) -> set[int]:
    return {n.first for n in at(found, line).control}


def test_a_new_value_hides_the_old_one() -> None:
    found = flow("""\
        def f(a):
            x = a
            x = 2
            return x
        """)
    assert data(found, 4) == {3}
    assert at(found, 2).data == {found.entry}


def test_both_branches_reach_what_follows() -> None:
    found = flow("""\
        def f(a):
            x = 0
            if a:
                x = 1
            elif a > 2:
                x = 2
            return x
        """)
    assert data(found, 7) == {2, 4, 6}
    assert control(found, 4) == {3}
    assert control(found, 6) == {3, 5}
    assert control(found, 7) == set()


def test_a_loop_carries_values_round() -> None:
    found = flow("""\
        def f(items):
            total = 0
            for item in items:
                total = total + item
            return total
        """)
    assert data(found, 4) == {2, 3, 4}
    assert data(found, 5) == {2, 4}
    assert control(found, 4) == {3}


def test_a_value_changed_in_place_is_still_the_old_one_too() -> None:
    found = flow("""\
        def f(a):
            x = []
            x.append(a)
            x[0] = 1
            x.y.z = 3
            g(x)
            return x
        """)
    assert data(found, 7) == {2, 3, 4, 5, 6}


def test_a_sum_in_place_reads_what_it_changes() -> None:
    found = flow("""\
        def f(a):
            x = a
            x += 1
            return x
        """)
    assert data(found, 3) == {2}
    assert data(found, 4) == {3}


def test_a_return_decides_what_follows_it() -> None:
    found = flow("""\
        def f(a):
            if a:
                return 1
            b = 2
            return b
        """)
    assert control(found, 3) == {2}
    assert control(found, 4) == {2, 3}, "the condition too: where the return did not run, that decided it"
    assert control(found, 5) == {2, 3}


def test_breaks_decide_the_rest_of_their_loop_only() -> None:
    found = flow("""\
        def f(a):
            while a:
                if a > 1:
                    break
                if a > 2:
                    continue
                a = 1
            return a
        """)
    assert control(found, 7) == {2, 3, 4, 5, 6}
    assert control(found, 2) >= {3, 4, 5, 6}
    assert control(found, 8) == set()
    assert data(found, 8) == {7}


def test_a_return_inside_a_loop_decides_what_follows_the_loop() -> None:
    found = flow("""\
        def f(a):
            for x in a:
                if x:
                    return x
            return 0
        """)
    assert control(found, 5) == {2, 3, 4}


def test_an_assertion_decides_what_follows_it() -> None:
    found = flow("""\
        def f(a):
            assert a
            return 1
        """)
    assert control(found, 3) == {2}


def test_handlers_depend_on_what_was_tried() -> None:
    found = flow("""\
        def f(a):
            try:
                x = int(a)
                y = 1
            except ValueError as error:
                x = 0
            else:
                y = 2
            finally:
                z = 3
            return x, y, z
        """)
    assert control(found, 5) == {3, 4}
    assert control(found, 6) == {5}
    assert data(found, 11) == {3, 4, 6, 8, 10}


@pytest.mark.parametrize(
    ("body", "binds"),
    [
        ("with open(a) as x:\n        pass", {"x"}),
        ("x, (y, *z) = a", {"x", "y", "z"}),
        ("for x in a:\n        pass", {"x"}),
        ("import x.y, z as w", {"x", "w"}),
        ("(x := a)", {"x"}),
        ("def x(): y = 1", {"x"}),
        ("b = [x for x in a]", {"b"}),
    ],
)
def test_names_that_a_statement_binds(body: str, binds: set[str]) -> None:
    assert at(flow(f"def f(a):\n    {body}\n"), 2).binds == binds


def test_match_binds_its_patterns() -> None:
    found = flow("""\
        def f(a):
            match a:
                case [x, *y]:
                    return x
                case {"k": z}:
                    return z
        """)
    assert (at(found, 3).binds, at(found, 5).binds) == ({"x", "y"}, {"z"})
    assert control(found, 4) == {2, 3}
    assert data(found, 4) == {3}


def test_what_a_nested_function_reads_is_read_where_it_is_defined() -> None:
    found = flow("""\
        def f(a):
            b = 1
            def g():
                return b
            return g
        """)
    assert data(found, 3) == {2}
    assert data(found, 5) == {3}


def test_parameters_of_all_kinds() -> None:
    found = flow("def f(a, /, b, *c, d=1, **e):\n    return a, b, c, d, e\n")
    assert found.entry.binds == {"a", "b", "c", "d", "e"}
    assert at(found, 2).data == {found.entry}


def test_large_functions_are_not_followed_closely(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("groundwire.agents.search._flow.MAX_NODES", 3)
    found = flow("def f(a):\n    x = 1\n    x = 2\n    return x\n")
    assert data(found, 4) == {2, 3}
