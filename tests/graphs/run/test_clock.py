"""The clock: what passed when the time ended is kept apart, and an episode is gone on with."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from guessing import Check, Guesser, answer, loop

from groundwire import Budget, Observation, Rules, StopReason, Task, Verdict
from groundwire.agents import SearchActor
from groundwire.core._candidates import Candidate
from groundwire.core._contexts import ToolContext
from groundwire.core._signals import CaseOutcome, CaseResult, Evidence
from groundwire.core._traits import ToolTraits
from groundwire.memory import InMemoryStore

pytestmark = pytest.mark.asyncio


@dataclass
class Tired(Check):
    """A tool that is to be asked again, and does not answer a second time while it is tired."""

    traits = ToolTraits(repeatable=True)
    identity: str = "tired"
    tired: bool = True

    def command_for(self, task: Task) -> tuple[str, ...]:
        return ()

    async def judge(self, candidate: Candidate, task: Task, context: ToolContext) -> Observation:
        if self.tired and b"right" in (candidate.changes.get("answer.txt") or b"") and "right" in self.judged:
            await asyncio.sleep(60)
        return await super().judge(candidate, task, context)


async def test_what_passed_when_the_time_ended_is_not_confirmed_and_can_be_gone_on_with(task: Task) -> None:
    store, tool = InMemoryStore(), Tired()
    graph = loop(Guesser([["wrong"], ["right"]]), tool)
    run_id = await (app := graph.compile(store=store, budget=Budget(seconds=2.5))).start_run()
    ended = await app.arun(task, run_id=run_id)
    assert (ended.stop_reason, ended.verdict, ended.patch) == (StopReason.BUDGET_SECONDS, Verdict.FAIL, "")
    assert ended.unconfirmed is not None and ended.unconfirmed.candidate == answer(task, "right")
    assert b"+right" in ended.unconfirmed_patch
    assert ended.before.files.keys() <= {"answer.txt"}, "a result keeps no file that was not changed"
    assert (ended.candidates, ended.judged) == (2, 2)

    same = await app.arun(task, run_id=run_id, episode_id=ended.episode_id)
    assert (same.stop_reason, same.unconfirmed) == (StopReason.BUDGET_SECONDS, ended.unconfirmed), "nobody gave it time"
    tool.tired = False
    judged = len(tool.judged)
    more = graph.compile(store=store, budget=Budget(seconds=60.0))
    went_on = await more.arun(task, run_id=run_id, episode_id=ended.episode_id, more_time=True)
    assert (went_on.stop_reason, went_on.unconfirmed) == (StopReason.VERIFIED, None)
    assert set(tool.judged[judged:]) == {"right"}, "what was judged is not judged again"
    again = loop(Guesser([["wrong"], ["right"]]), tool).compile(store=store, budget=Budget(seconds=2.5))
    replayed = await again.areplay(task, run_id=run_id, episode_id=ended.episode_id)
    assert (replayed.difference, replayed.is_whole) == (None, True)


async def test_what_failed_once_after_it_passed_is_not_shown_as_unconfirmed(task: Task) -> None:
    looks = iter([Verdict.PASS, Verdict.FAIL])

    class Coin(Tired):
        async def judge(self, candidate: Candidate, task: Task, context: ToolContext) -> Observation:
            seen = await Check.judge(self, candidate, task, context)
            verdict = next(looks, None)
            if verdict is None:
                await asyncio.sleep(60)
            return seen.model_copy(update={"verdict": verdict})

    app = loop(Guesser([["right"], ["right again"]]), Coin()).compile(budget=Budget(seconds=2.5))
    ended = await app.arun(task)
    assert ended.stop_reason in (StopReason.BUDGET_SECONDS, StopReason.NO_VERDICT)
    assert ended.unconfirmed is None


async def test_a_search_ends_while_there_is_time_to_confirm_what_it_finds(task: Task) -> None:
    """The base tree takes 0.4 s, so that two more looks and the least reserve are kept back of 4 s."""

    class Slow(Tired):
        async def judge(self, candidate: Candidate, task: Task, context: ToolContext) -> Observation:
            seen = await Check.judge(self, candidate, task, context)
            return seen.model_copy(update={"duration_s": 0.4})

        async def judge_many(
            self, candidates: Sequence[Candidate], task: Task, context: ToolContext
        ) -> AsyncGenerator[Observation, None]:
            for candidate in candidates:
                await asyncio.sleep(0.2)
                yield await self.judge(candidate, task, context)

    tool = Slow()
    graph = loop(Guesser([[f"no {n}" for n in range(100)]]), tool, width=100)
    graph.set_entry("test")
    ended = await graph.compile(budget=Budget(seconds=4.0)).arun(task)
    assert ended.stop_reason is StopReason.BUDGET_SECONDS
    assert ended.seconds < 4.0, "it ends before the clock does"
    assert 0 < ended.judged < 100 == ended.candidates


async def test_what_hung_in_the_base_tree_is_no_reason_to_end_a_search_early(task: Task) -> None:
    """Its run took 3 s, of which a case that hung took 2.9: a candidate that passes takes no such time."""

    class Hanging(Tired):
        async def judge(self, candidate: Candidate, task: Task, context: ToolContext) -> Observation:
            seen = await Check.judge(self, candidate, task, context)
            if not candidate.is_base:
                return seen
            case = CaseOutcome(id="hangs", result=CaseResult.FAILED, duration_s=2.9)
            evidence = Evidence(cases=(case,), late=("hangs",))
            return seen.model_copy(update={"duration_s": 3.0, "evidence": evidence})

        async def judge_many(
            self, candidates: Sequence[Candidate], task: Task, context: ToolContext
        ) -> AsyncGenerator[Observation, None]:
            await asyncio.sleep(3.4)  # more than half of the time that there is, with room for three looks behind it
            for candidate in candidates:
                yield await self.judge(candidate, task, context)

    graph = loop(Guesser([["no", "right"]]), Hanging(tired=False), width=2)
    graph.set_entry("test")
    ended = await graph.compile(budget=Budget(seconds=6.0)).arun(task)
    assert ended.stop_reason is StopReason.VERIFIED, ended.detail


async def test_a_pass_in_doubt_is_confirmed_where_no_better_one_is_found_in_time(task: Task) -> None:
    class Doubting(Tired):
        async def judge(self, candidate: Candidate, task: Task, context: ToolContext) -> Observation:
            if candidate.is_base:
                return await super().judge(candidate, task, context)
            await asyncio.sleep(1.2)  # each look takes longer than the base tree's suggests
            return (await super().judge(candidate, task, context)).model_copy(update={"duration_s": 1.2})

        async def judge_many(
            self, candidates: Sequence[Candidate], task: Task, context: ToolContext
        ) -> AsyncGenerator[Observation, None]:
            yield await self.judge(candidates[0], task, context)
            await asyncio.sleep(60)

        async def doubt(self, candidate: Candidate, task: Task, context: ToolContext) -> str:
            return "it ends worse than before"

    graph = loop(Guesser([["right", "better"]]), Doubting(tired=False), width=2)
    graph.set_entry("test")
    ended = await graph.compile(budget=Budget(seconds=7.0)).arun(task)
    assert ended.stop_reason is StopReason.VERIFIED, ended.detail
    assert ended.best is not None and ended.best.candidate == answer(task, "right")


async def test_nobody_waits_for_a_plan_once_the_time_is_up(task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    over = threading.Event()

    def plans_for_ever(*_ignored: Any) -> Any:
        over.wait(120)

    monkeypatch.setattr(SearchActor, "_propose", plans_for_ever)
    graph = loop(SearchActor(), Check())  # pyright: ignore[reportArgumentType]
    app = graph.compile(budget=Budget(seconds=0.5), rules=Rules())
    ended = await asyncio.to_thread(app.run, task)
    over.set()
    assert ended.stop_reason is StopReason.BUDGET_SECONDS
    assert ended.seconds < 60
