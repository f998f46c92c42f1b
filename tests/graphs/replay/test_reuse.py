"""The ledger as a cache: nothing is taken unless that is asked for, and only what is alike in all that matters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from dying import dies_and_goes_on
from guessing import Check, Noter, answer

from groundwire import EpisodeResult, FeedbackGraph, Limits, Observation, Rules, StopReason, Task
from groundwire.core._candidates import Candidate
from groundwire.core._contexts import ActorContext, ToolContext
from groundwire.core._models import Completion, Message, Request
from groundwire.core._records import Intent, ModelCall
from groundwire.core._sandboxes import SandboxInfo
from groundwire.core._seal import MemoryKeys
from groundwire.core._signals import CaseOutcome, CaseResult, Evidence, NoVerdict, Origin, Signal, Verdict
from groundwire.core._traits import ToolTraits
from groundwire.graphs.replay._reuse import Reuse
from groundwire.memory import InMemoryStore

BOX = SandboxInfo(kind="bubblewrap")
TWICE = Rules(rejudge_passes=1)


@dataclass
class Model:
    """Answers `wrong`, then `right`; counts how often it was asked."""

    model: str = "provider/one"
    asked: int = 0

    async def complete(self, request: Request) -> Completion:
        self.asked += 1
        text = "right" if request.seed == 2 else "wrong"
        return Completion(texts=(text,), model="one-2026-11", usd=0.25, prompt_tokens=5, completion_tokens=2)

    async def complete_many(self, requests: Sequence[Request]) -> Sequence[Completion]:
        return [await self.complete(request) for request in requests]

    def price(self, request: Request) -> float | None:
        return 0.5


@dataclass
class Asker:
    model: Model

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        request = Request(messages=(Message(role="user", content="guess"),), seed=context.trial, max_tokens=9)
        completion = await context.call(self.model, request)
        return [answer(context.task, completion.texts[0])]


@dataclass
class Repeats(Check):
    """Judges what rests on nothing but the candidate, and says in what it did."""

    traits = ToolTraits(repeatable=True)
    identity: str = "check"
    origin: Origin = Origin.TESTS
    box: SandboxInfo = BOX
    command: tuple[str, ...] = ("check",)

    def command_for(self, task: Task) -> tuple[str, ...]:
        return self.command

    async def judge(self, candidate: Candidate, task: Task, context: ToolContext) -> Observation:
        seen = await super().judge(candidate, task, context)
        return seen.model_copy(update={"sandbox": self.box, "command": self.command, "duration_s": 3.0})


@dataclass
class Box:
    """An open sandbox in which nothing is run."""

    info: SandboxInfo = BOX


@dataclass
class World:
    """One ledger, and graphs that share it."""

    store: InMemoryStore = field(default_factory=InMemoryStore)

    async def run(
        self,
        task: Task,
        reuse: Reuse = "never",
        *,
        model: Model | None = None,
        check: Repeats | None = None,
        ends: StopReason = StopReason.VERIFIED,
    ) -> tuple[Model, Repeats, EpisodeResult]:
        model, check = model or Model(), check or Repeats()
        graph = FeedbackGraph().add_actor("write", Asker(model)).add_tool("test", check).add_critic("say", Noter())
        graph.add_edge("write", "test").refine("test", via="say", to="write")
        box: Any = Box(check.box)
        result = await graph.compile(store=self.store, sandbox=box, rules=TWICE).arun(task, reuse=reuse)
        assert result.stop_reason is ends
        return model, check, result


@pytest.fixture
async def world(task: Task) -> World:
    """A ledger with one whole episode in it."""
    world = World()
    model, check, result = await world.run(task)
    assert (model.asked, check.judged, result.usd) == (2, ["wrong", "wrong", "right", "right"], 0.5)
    return world


async def test_nothing_is_taken_unless_that_is_asked_for(world: World, task: Task) -> None:
    model, check, result = await world.run(task)
    assert (model.asked, len(check.judged), result.usd) == (2, 4, 0.5)


async def test_answers_are_taken_for_nothing_and_the_ledger_says_from_where(world: World, task: Task) -> None:
    model, check, result = await world.run(task, "calls")
    assert (model.asked, len(check.judged), result.usd, result.tokens) == (0, 4, 0.0, 0)
    records = await world.store.records(result.episode_id)
    taken = [r for r in records if isinstance(r, ModelCall)]
    (first,) = await world.store.episodes((await world.store.runs())[-1].id)
    paid = [r.id for r in await world.store.records(first.id) if isinstance(r, Intent) and r.kind == "model_call"]
    assert [call.reused for call in taken] == paid
    assert {(call.usd, call.prompt_tokens) for call in taken} == {(0.0, 0)}


async def test_verdicts_are_taken_look_by_look_and_say_so_under_their_own_seal(world: World, task: Task) -> None:
    _, check, result = await world.run(task, "all")
    assert check.judged == []
    records = await world.store.records(result.episode_id)
    signals = [r for r in records if isinstance(r, Signal)]
    assert [s.verdict for s in signals] == [Verdict.FAIL, Verdict.FAIL, Verdict.PASS, Verdict.PASS]
    assert len({s.taken_from for s in signals}) == 4 and {s.duration_s for s in signals} == {0.0}
    told = [r.body for r in records if isinstance(r, Intent) and r.kind == "reuse"]
    assert [s.taken_from in body for s, body in zip(signals, told, strict=True)] == [True] * 4


async def test_what_was_taken_is_no_source_for_another(world: World, task: Task) -> None:
    await world.run(task, "all")
    _, _, third = await world.run(task, "all")
    taken = {s.taken_from for s in await world.store.records(third.episode_id) if isinstance(s, Signal)}
    first = [s for s in await world.store.judgements(answer(task, "right").digest) if not s.taken_from]
    assert {s.id for s in first} <= taken and len(first) == 2


async def test_a_run_that_goes_on_takes_no_answer_twice(world: World, task: Task) -> None:
    await world.run(task)
    graph = FeedbackGraph().add_actor("write", Asker(model := Model())).add_tool("test", check := Repeats())
    graph.add_critic("say", Noter()).add_edge("write", "test").refine("test", via="say", to="write")
    box: Any = Box()
    app = graph.compile(store=world.store, sandbox=box, rules=TWICE)

    class Reusing:
        store, start_run = world.store, app.start_run

        async def arun(self, *args: Any, **options: Any) -> EpisodeResult:
            return await app.arun(*args, reuse="all", **options)

    result = await dies_and_goes_on(Reusing(), task, lambda r: isinstance(r, Signal) and r.trial == 1)
    assert (result.stop_reason, model.asked, check.judged) == (StopReason.VERIFIED, 0, [])
    records = await world.store.records(result.episode_id)
    taken = [r.taken_from for r in records if isinstance(r, Signal)]
    assert len(taken) == len(set(taken)) == 4
    again = await app.areplay(task, run_id=result.run_id, episode_id=result.episode_id)
    assert again.difference is None


async def test_another_model_is_asked_itself(world: World, task: Task) -> None:
    model, _, _ = await world.run(task, "calls", model=Model(model="provider/two"))
    assert model.asked == 2


OTHERWISE: dict[str, Callable[[], Repeats]] = {
    "another command": lambda: Repeats(command=("check", "-v")),
    "another tool": lambda: Repeats(identity="check more"),
    "another sandbox": lambda: Repeats(box=SandboxInfo(kind="subprocess", isolated=False)),
    "another image": lambda: Repeats(box=SandboxInfo(kind="bubblewrap", image_digest="sha256:1")),
}


@pytest.mark.parametrize("what", OTHERWISE)
async def test_a_verdict_by_other_means_is_not_taken(world: World, task: Task, what: str) -> None:
    _, check, _ = await world.run(task, "all", check=OTHERWISE[what]())
    assert len(check.judged) == 4


async def test_a_verdict_under_other_limits_is_not_taken(world: World, task: Task) -> None:
    _, check, _ = await world.run(replace(task, limits=Limits(wall_s=1)), "all")
    assert len(check.judged) == 4


async def test_where_the_same_candidate_came_to_different_ends_nothing_is_taken(task: Task) -> None:
    world = World()
    ends = iter([CaseResult.FAILED, CaseResult.PASSED])

    def flips(text: str) -> Observation | None:
        end = next(ends, None) if text == "wrong" else None
        if end is None:
            return None
        verdict = Verdict.PASS if end.ok else Verdict.FAIL
        cases = (CaseOutcome(id="right", result=end),)
        return Observation(verdict=verdict, origin=Origin.TESTS, evidence=Evidence(cases=cases))

    await world.run(task, check=Repeats(override=flips), ends=StopReason.NO_VERDICT)
    seen = await world.store.judgements(answer(task, "wrong").digest)
    assert [s.reason for s in seen] == [None, NoVerdict.FLAKY]
    _, check, _ = await world.run(task, "all")
    assert check.judged.count("wrong") == 2


async def test_a_verdict_whose_seal_can_t_be_verified_is_not_taken(
    world: World, task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = MemoryKeys()
    monkeypatch.setattr("groundwire.graphs.run._sealing._MEMORY_KEYS", {world.store: keys})
    _, check, _ = await world.run(task, "all")
    assert len(check.judged) == 4
