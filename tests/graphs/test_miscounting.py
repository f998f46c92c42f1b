"""A tool that gives too few observations, too many, or what is none, is named with the counts."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import Any

import pytest
from guessing import Check, Guesser, loop

from groundwire import FeedbackApp, Observation, Task
from groundwire.core._candidates import Candidate
from groundwire.core._contexts import ToolContext
from groundwire.core._errors import ToolError
from groundwire.core._signals import Signal
from groundwire.memory import InMemoryStore


class Miscounts(Check):
    """A batch tool that judges as often as it is told to, whatever it is given; with recorded verdicts as well."""

    repeatable = True
    identity = "miscounts"

    def __init__(self, times: int, also: Sequence[Any] = ()) -> None:
        super().__init__()
        self.times = times
        self.also = also

    def command_for(self, task: Task) -> tuple[str, ...]:
        return ()

    async def judge_many(
        self, candidates: Sequence[Candidate], task: Task, context: ToolContext
    ) -> AsyncGenerator[Observation, None]:
        for number in range(self.times):
            yield await self.judge(candidates[min(number, len(candidates) - 1)], task, context)
        for other in self.also:
            yield other


class Says(Check):
    """A tool that gives what is no observation."""

    async def judge(self, candidate: Candidate, task: Task, context: ToolContext) -> Observation:
        said: Any = "it looks right to me"
        return said


def app_of(tool: Check, batch: Sequence[str] = ("a", "b", "c"), store: InMemoryStore | None = None) -> FeedbackApp:
    return loop(Guesser([batch]), tool, width=3).compile(store=store or InMemoryStore())


@pytest.mark.parametrize(("times", "said"), [(2, "2 observations on 3"), (0, "0 observations"), (5, "more than 3")])
async def test_the_tool_and_the_counts_are_named(task: Task, times: int, said: str) -> None:
    app = app_of(Miscounts(times))
    with pytest.raises(ToolError, match=f"The tool test gave {said}") as told:
        await app.arun(task)
    assert "exactly one for each candidate" in told.value.do
    (episode,) = await app.store.episodes((await app.store.runs())[0].id)
    judged = [r for r in await app.store.records(episode.id) if isinstance(r, Signal)]
    assert len(judged) == min(times, 3), "what was observed is in the ledger all the same"


@pytest.mark.parametrize("reuse", ["never", "all"])
async def test_one_too_many_is_seen_where_verdicts_are_reused_too(task: Task, reuse: Any) -> None:
    with pytest.raises(ToolError, match="gave more than 3 observations on 3 candidates"):
        await app_of(Miscounts(4)).arun(task, reuse=reuse)


@pytest.mark.parametrize(("tool", "batch"), [(Says(), ["a"]), (Miscounts(1, [None]), ["a", "b"])])
async def test_what_is_no_observation_is_named(task: Task, tool: Check, batch: list[str]) -> None:
    with pytest.raises(ToolError, match=r"The tool test gave (str|NoneType) where an Observation belongs"):
        await app_of(tool, batch).arun(task)
