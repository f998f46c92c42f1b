"""What is wrong in how a graph or a task is written is met where it is written, with a line to paste."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, cast

import pytest

from groundwire import FeedbackGraph, Task
from groundwire.agents import RuleCritic, SearchActor
from groundwire.core import Candidate, Tree
from groundwire.core._errors import GroundwireError
from groundwire.memory import SqlStore
from groundwire.tools import Pytest


class Plain:
    def propose(self, context: object, n: int) -> list[Candidate]:
        return []

    def reflect(self, context: object) -> None: ...

    def judge(self, candidate: object, task: object, context: object) -> bool:
        return True


class HandingOn:
    """Plain functions that give what can be awaited are as good as async ones."""

    def __init__(self) -> None:
        self._inner = SearchActor()
        self.reflect = functools.partial(RuleCritic().reflect)

    def propose(self, context: Any, n: int) -> Awaitable[Sequence[Candidate]]:
        return self._inner.propose(context, n)


def wired() -> FeedbackGraph:
    graph = FeedbackGraph()
    graph.add_tool("baseline", Pytest()).add_actor("write", SearchActor(), width=2).add_tool("test", Pytest())
    return graph.set_entry("baseline").refine("baseline", to="write").refine("test", to="write")


def odd(*_given: object) -> list[Candidate]:
    return []


ODD: Any = odd
WRONG: dict[str, tuple[Callable[[], object], str, str]] = {
    "a lambda": (lambda: FeedbackGraph().add_actor("a", ODD), "a was given a function; an actor is", "LLMActor(MODEL)"),
    "a class": (
        lambda: FeedbackGraph().add_actor("a", SearchActor),  # pyright: ignore[reportArgumentType]
        "a was given the class SearchActor",
        'graph.add_actor("a", SearchActor(…))',
    ),
    "a model's id": (
        lambda: FeedbackGraph().add_critic("c", "openai/gpt-5-mini"),  # pyright: ignore[reportArgumentType]
        "c was given str 'openai/gpt-5-mini'; a critic is",
        "RuleCritic()",
    ),
    "no async propose": (
        lambda: FeedbackGraph().add_actor("a", Plain()),  # pyright: ignore[reportArgumentType]
        "Plain.propose of the node a is not async",
        "async def propose(self, context, n):",
    ),
    "no async judge": (
        lambda: FeedbackGraph().add_tool("t", Plain()),  # pyright: ignore[reportArgumentType]
        "Plain.judge of the node t is not async",
        "async def judge(self, candidate, task, context):",
    ),
    "files as a dict": (
        lambda: Task("x", tree={"a.py": "x = 1"}),  # pyright: ignore[reportArgumentType]
        "The tree of task x is of type dict; a Tree is expected",
        "Task('x', tree=Tree({",
    ),
    "files as text": (
        lambda: Tree({"a.py": "x = 1"}),  # pyright: ignore[reportArgumentType]
        "The content of 'a.py' is of type str; bytes are expected",
        '"…".encode()',
    ),
    "a command as text": (
        lambda: Task("x", command="pytest -q"),  # pyright: ignore[reportArgumentType]
        "command of task x is one text",
        "command=('pytest', '-q')",
    ),
    "one glob as text": (
        lambda: Task("x", editable="a.py"),  # pyright: ignore[reportArgumentType]
        "editable of task x is one text",
        "editable=('a.py',)",
    ),
    "a node that is misspelt": (
        lambda: wired().add_edge("write", "tset").compile(),
        "The edge write → tset names 'tset', which is not a node",
        'graph.add_edge("write", "test")',
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_it_is_met_where_it_is_written(name: str) -> None:
    make, what, line = WRONG[name]
    with pytest.raises(GroundwireError) as caught:
        make()
    assert what in caught.value.what
    assert line in caught.value.do


def test_what_gives_an_awaitable_is_a_part() -> None:
    handing_on: Any = HandingOn()
    FeedbackGraph().add_actor("a", handing_on).add_critic("c", handing_on)


@pytest.mark.parametrize("given", ["text", Task("x"), ["text"], None])
async def test_what_is_no_task_begins_no_run(given: Any) -> None:
    store = SqlStore("sqlite://")
    app = wired().add_edge("write", "test").compile(store=store)
    if not isinstance(given, Task):
        with pytest.raises(GroundwireError, match="A Task is expected"):
            await app.arun(given)
    with pytest.raises(GroundwireError, match="expected") as caught:
        await app.abatch(cast("Any", given))
    assert "app." in caught.value.do
    assert not await store.runs()
    await store.aclose()
