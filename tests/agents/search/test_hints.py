"""The words of a failure move the operators forward that mend failures of that kind."""

from __future__ import annotations

from typing import Any

import pytest

from groundwire.agents import SearchActor
from groundwire.agents.search._candidates import PRIORS
from groundwire.agents.search._hints import _SAID, hints  # pyright: ignore[reportPrivateUsage]  # names of operators
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
        ("AssertionError: assert 3 == 4", ""),
    ],
)
def test_each_kind_of_failure(maker: Any, message: str, name: str) -> None:
    task = maker.task({"m.py": "x = 1\n"})
    found = hints(maker.judged(Candidate(task.tree.digest, {}), ["t::a"], messages={"t::a": message}).signal)
    assert found[name] >= 3 if name else not found
    assert hints(None) == {}


def test_only_operators_are_named() -> None:
    assert {name for _, factors in _SAID for name in factors} <= set(PRIORS)


async def test_the_likelier_kind_comes_first(maker: Any) -> None:
    code = "def area(a, b):\n    return a * b\n\ndef double(side, other):\n"
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
