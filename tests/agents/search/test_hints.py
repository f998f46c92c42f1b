"""The words of a failure move the operators forward that mend failures of that kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from groundwire.agents import SearchActor
from groundwire.agents.search._candidates import PRIORS
from groundwire.agents.search._hints import (
    _RELATIONS,  # pyright: ignore[reportPrivateUsage]  # names of operators
    _SAID,  # pyright: ignore[reportPrivateUsage]
    hints,
    missing_names,
)
from groundwire.core._candidates import Candidate


@pytest.mark.parametrize(
    ("message", "name"),
    [
        ("TypeError: f() missing 1 required positional argument: 'key'\n  m.py:3 in f: g(a)", "args.add"),
        ("TypeError: f() takes 1 positional argument but 2 were given", "args.drop"),
        ("TypeError: f() got an unexpected keyword argument 'stop'", "args.keyword"),
        ("AttributeError: 'Cart' object has no attribute 'items'", "attribute.swap"),
        ("NameError: name 'total' is not defined", "attribute.self"),
        ("UnboundLocalError: cannot access local variable 'x' where it is not associated", "name.target"),
        ("TypeError: unsupported operand type(s) for +: 'int' and 'str'", "const.type"),
        ("IndexError: list index out of range", "loop.range_bounds"),
        ("KeyError: 'b'", "except.kind"),
        ("Failed: DID NOT RAISE <class 'ValueError'>", "raise.early"),
        ("AssertionError: ValueError not raised", "raise.early"),
        ("AssertionError: assert 3 == 8", ""),
        ("AssertionError: assert 3 == 4\n +  where 3 = f(1)", "compare.boundary"),
        ("AssertionError: 3 != -3", "arith.sign"),
        ("AssertionError: Lists differ: [1, 3, 2] != [3, 2, 1]\n\nFirst differing element 0:", "call.order"),
        ("AssertionError: assert [1, 2] == [1, 2, 3]", "slice.bounds"),
        ("AssertionError: assert None == [1]", "return.add"),
        ("AssertionError: assert '4' == 4", "const.type"),
        ("AssertionError: assert 'ab' == 'AB'", "str.case"),
        ("AssertionError: assert 'a b' == 'ab'", "str.insert"),
        ("AssertionError: assert 'a == b' == 'c'", ""),
        ("AssertionError: assert {'a': [1, 5]} == {'a': [1, 6]}", "const.off_by_one"),
        ("AssertionError: assert {'a': 1} == {'b': 1}", ""),
        (
            "AssertionError: assert {'root': {'em...id': 'x'}} == {'root': {'em...id': 'x'}}\n  \n  Differing items:\n"
            "  {'root': {'empty': '', 'value': 'x'}} != {'root': {'empty': None, 'value': 'x'}}",
            "fallback.or",
        ),
        ("AssertionError: assert ['aaaa...] == ['aaaa...]\n  \n  At index 0 diff: 'ab' != 'AB'", "str.case"),
        ("AttributeError: 'NoneType' object has no attribute 'size'", "fallback.none"),
        ("TypeError: unsupported operand type(s) for +: 'NoneType' and 'int'", "fallback.or"),
        ("TypeError: f() takes 1 positional argument but 2 were given", "decorator.add"),
        ("KeyError: 'b'", "fallback.get"),
        ("AssertionError: assert <object at 0x1> == 4", ""),
    ],
)
def test_each_kind_of_failure(maker: Any, message: str, name: str) -> None:
    task = maker.task({"m.py": "x = 1\n"})
    found = hints(maker.judged(Candidate(task.tree.digest, {}), ["t::a"], messages={"t::a": message}).signal)
    assert found[name] >= 1.5 if name else not found
    assert hints(None) == {}


def test_only_operators_are_named() -> None:
    assert {name for _, factors in (*_SAID, *_RELATIONS) for name in factors} <= set(PRIORS)


def test_a_relation_counts_where_half_of_the_cases_show_it(maker: Any) -> None:
    task = maker.task({"m.py": "x = 1\n"})

    def of(*messages: str) -> Mapping[str, float]:
        said = {f"t::{n}": message for n, message in enumerate(messages)}
        return hints(maker.judged(Candidate(task.tree.digest, {}), list(said), messages=said).signal)

    assert of("AssertionError: assert 3 == 4", "AssertionError: assert 3 == 9") == of("AssertionError: assert 3 == 4")
    assert not of("AssertionError: assert 3 == 4", *["AssertionError: assert 3 == 9"] * 2)


def test_names_that_there_are_none_of(maker: Any) -> None:
    task = maker.task({"m.py": "x = 1\n"})
    messages = (
        "AttributeError: 'Cart' object has no attribute 'item'. Did you mean: 'items'?",
        "AttributeError: '_Item' object has no attribute '_Item__size'",
        "NameError: name 'totl' is not defined",
        "UnboundLocalError: cannot access local variable 'x' where it is not associated with a value",
        "TypeError: f() got an unexpected keyword argument 'stop'",
        "AssertionError: assert 'name' == 'names'",
    )
    said = {f"t::{n}": message for n, message in enumerate(messages)}
    failure = maker.judged(Candidate(task.tree.digest, {}), list(said), messages=said).signal
    assert missing_names(failure) == {"item", "__size", "totl", "x", "stop"}
    assert missing_names(None) == frozenset()


async def test_the_likelier_kind_comes_first(maker: Any) -> None:
    code = "from shapes import area\n\ndef double(side, other):\n"
    code += "    return area(side) < other\n"
    test = "from m import double\n\ndef test_a():\n    assert double(3, 4)\n"
    task = maker.task({"m.py": code, "test_m.py": test})

    async def place(message: str) -> int:
        base = maker.judged(Candidate(task.tree.digest, {}), ["t::a"], messages={"t::a": message})
        context = maker.context(task, best=base, failing=base, judged=(base,))
        found = await SearchActor().propose(context, 200)
        return next(i for i, c in enumerate(found) if b"area(side, other)" in (c.changes["m.py"] or b""))

    said = await place("TypeError: area() missing 1 required positional argument: 'b'")
    assert said < await place("AssertionError: assert False")
