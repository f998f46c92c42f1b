"""verified_steps: checked while written, cut at the violation, resumed from the last step that holds (row 3)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from pages import check_page

from groundwire import EpisodeResult, NoVerdict, StopReason, Task, Tree, Verdict
from groundwire.core._errors import ConfigError
from groundwire.core._models import Completion, Request
from groundwire.core._records import Admission, CandidateRecord, ModelCall
from groundwire.core._signals import Signal
from groundwire.core._steps import StepRules
from groundwire.graphs.library._verified_steps import verified_steps
from groundwire.memory import InMemoryStore
from groundwire.models import ScriptedBackend

TASK = Task(id="count", prompt="Count up from 1 to 3, one number a line.", tree=Tree({"answer.md": b""}))
GOOD = "one 1\ntwo 2\nthree 3\n"


def counts(steps: Sequence[str]) -> str:
    said = steps[-1].split()
    return "" if said[-1:] == [str(len(steps))] else f"the number is not {len(steps)}"


def is_whole(text: str) -> str:
    return "" if text.count("\n") >= 3 else "it must go up to 3"


RULES = StepRules(counts, accept=is_whole)


class Played:
    def __init__(
        self, backend: ScriptedBackend, result: EpisodeResult, records: Sequence[Any], bodies: list[str]
    ) -> None:
        self.backend, self.result, self.records, self.bodies = backend, result, records, bodies

    @property
    def calls(self) -> list[Completion]:
        made = [r for r in self.records if isinstance(r, ModelCall)]
        return [Completion.model_validate_json(call.completion) for call in made]

    @property
    def corrections(self) -> int:
        return sum(isinstance(r, Admission) and r.admitted and r.edge == "refine" for r in self.records)


async def play(replies: Sequence[str], rules: StepRules = RULES, backend: Any = None) -> Played:
    backend = backend or ScriptedBackend(replies)
    store = InMemoryStore()
    app = verified_steps(backend, rules).compile(store=store)
    result = await app.arun(TASK)
    records = await store.records(result.episode_id)
    replayed = await app.areplay(TASK, run_id=result.run_id, episode_id=result.episode_id)
    assert replayed.difference is None, "the ledger alone gives the same run"
    async with app.episode(TASK, run_id=result.run_id, episode_id=result.episode_id) as episode:
        made = [episode.history.candidates[r.digest] for r in records if isinstance(r, CandidateRecord)]
    return Played(backend, result, records, [(c.changes["answer.md"] or b"").decode() for c in made])


async def test_a_clean_answer_is_exactly_one_call() -> None:
    played = await play([GOOD])
    assert (played.result.stop_reason, len(played.backend.requests), played.corrections) == (StopReason.VERIFIED, 1, 0)
    assert played.bodies == [GOOD]
    assert played.calls[0].finish_reasons == ("stop",)


async def test_it_is_cut_at_the_violation_and_goes_on_from_the_last_step_that_holds() -> None:
    wrong = "one 1\ntwo <b>7</b>\n" + "and so on, at length\n" * 50
    played = await play([wrong, "two 2\nthree 3\n"])
    assert played.result.stop_reason is StopReason.VERIFIED
    assert played.bodies == ["one 1\ntwo <b>7</b>\n", GOOD], "step 1 byte for byte, step 2 replaced"
    assert played.corrections == 1
    first = played.calls[0]
    assert first.finish_reasons == ("cut",)
    assert len(first.texts[0]) < 40 and first.completion_tokens < 20, "what was not listened to is not paid for"
    system, asked, written, told = played.backend.requests[1].messages
    assert (system.role, asked.role, written.role, told.role) == ("system", "user", "assistant", "user")
    assert written.content == "one 1\n"
    assert '<broken_step number="2">\ntwo &lt;b&gt;7&lt;/b&gt;\nthe number is not 2\n</broken_step>' in told.content


@pytest.mark.parametrize(
    "more",
    [GOOD, f"Continuing:\n{GOOD}", "Continuing:\ntwo 2\nthree 3\n", "```\ntwo 2\nthree 3\n```", f"```text\n{GOOD}```\n",
     "<think>one 1\ntwo 9</think>\ntwo 2\nthree 3\n", "Sure, here are the remaining steps:\n\ntwo 2\nthree 3\n"],
)  # fmt: skip
async def test_a_model_that_repeats_announces_fences_or_thinks_ends_with_the_same_answer(more: str) -> None:
    played = await play(["Here are the steps:\none 1\ntwo 7\n", more])
    assert (played.result.stop_reason, played.corrections) == (StopReason.VERIFIED, 1)
    assert played.bodies == ["one 1\ntwo 7\n", GOOD]


async def test_a_backend_that_continues_text_writes_on_where_the_last_step_that_holds_ends() -> None:
    backend = ScriptedBackend(["one 1\ntwo 7\n", "two 2\nthree 3\n"], continues=True)
    played = await play([], backend=backend)
    assert played.bodies == ["one 1\ntwo 7\n", GOOD]
    system, asked, begun = backend.requests[1].messages
    assert (system.role, asked.role, begun.role, begun.content) == ("system", "user", "assistant", "one 1\n")
    assert '<broken_step number="2">' in asked.content


async def test_an_answer_that_always_breaks_rules_is_abstained_from_after_five_corrections() -> None:
    played = await play([f"wrong {n + 10}\n" for n in range(10)])
    assert (played.result.stop_reason, played.result.verdict) == (StopReason.BUDGET_REFINEMENTS, Verdict.FAIL)
    assert (played.corrections, len(played.backend.requests), played.result.patch) == (5, 6, "")
    assert played.backend.requests[-1].messages[-1].content.count("broken_step number=") == 1


async def test_the_same_answer_often_enough_ends_it() -> None:
    def answer(step: str) -> str:
        return step.partition("so it is ")[2].strip(". \n")

    rules = StepRules(lambda steps: "", answer=answer, stable=3)
    text = "so it is 4\nhm\nso it is 5\nso it is 5.\nso it is 5\nbut wait, so it is 6\n"
    played = await play([text], rules)
    assert played.bodies == ["so it is 4\nhm\nso it is 5\nso it is 5.\nso it is 5\n"]
    assert (played.calls[0].finish_reasons, played.result.stop_reason) == (("cut",), StopReason.VERIFIED)
    with pytest.raises(ConfigError):
        StepRules(counts, stable=1)


async def test_checks_may_be_slow_and_the_first_violation_counts() -> None:
    third_is_written = asyncio.Event()

    async def slow(steps: Sequence[str]) -> str:
        number = len(steps)
        if number == 2:
            async with asyncio.timeout(60):
                await third_is_written.wait()  # the next step is being written meanwhile
        elif number == 3:
            third_is_written.set()
        else:
            await asyncio.sleep(0.05 if number > 3 else 0)
        return "no" if number in (2, 3) and "bad" in steps[-1] else ""

    played = await play(["a\nbad\nbad\n" + "x\n" * 200, "b\n"], StepRules(slow))
    assert played.bodies == ["a\nbad\n", "a\nb\n"]
    assert len(played.calls[0].texts[0]) < 400


async def test_a_model_that_can_not_stream_is_cut_afterwards() -> None:
    class Whole:
        model = "whole"
        script = ScriptedBackend(["one 1\ntwo 7\nthree 3\n", "two 2\nthree 3\n"])

        async def complete(self, request: Request) -> Completion:
            return await self.script.complete(request)

        async def complete_many(self, requests: Sequence[Request]) -> Sequence[Completion]:
            return await self.script.complete_many(requests)

        def price(self, request: Request) -> float | None:
            return 0.0

    played = await play([], backend=Whole())
    assert played.bodies == ["one 1\ntwo 7\n", GOOD]


async def test_an_answer_that_holds_and_is_not_accepted_is_gone_on_with() -> None:
    played = await play(["one 1\ntwo 2\n", "three 3\n"])
    assert played.bodies == ["one 1\ntwo 2\n", GOOD]
    assert "it must go up to 3" in played.backend.requests[1].messages[-1].content


async def test_a_check_that_breaks_gives_no_verdict() -> None:
    played = await play([GOOD], StepRules(lambda steps: "x" * (1 // (len(steps) - 2) + 1)))
    assert played.result.stop_reason is StopReason.NO_VERDICT
    assert {s.reason for s in played.records if isinstance(s, Signal)} == {NoVerdict.RUNNER_CRASHED}
    assert "ZeroDivisionError" in played.result.detail


def test_its_page_shows_this_graph() -> None:
    check_page("verified_steps", verified_steps(ScriptedBackend([]), RULES))
