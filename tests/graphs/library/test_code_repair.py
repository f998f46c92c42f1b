"""code_repair: the acceptance tests of rows 24, 40 and 53; what the loop does besides is tested beside its parts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from guessing import Check, Guesser, Noter
from pages import check_page

from groundwire import Budget, EpisodeResult, Origin, Rules, StopReason, Task, Tree, Verdict
from groundwire.agents import LLMActor, RuleCritic
from groundwire.agents.patching._variants import GLOBAL, LOCAL, LocalOrGlobal
from groundwire.core._models import Request
from groundwire.core._records import Admission, CandidateRecord, ReflectionRecord
from groundwire.core._signals import Observation, Signal
from groundwire.graphs.library._code_repair import code_repair
from groundwire.memory import InMemoryStore
from groundwire.models import ScriptedBackend
from groundwire.tools import HiddenTests

ANSWERS = Task(id="choice", prompt="Answer A, B or C.", tree=Tree({"answer.txt": b"?\n"}), editable=("answer.txt",))


def says(letter: str) -> str:
    return f"It is {letter}.\n\nFILE: answer.txt\n```\n{letter}\n```\n"


async def friction(backend: ScriptedBackend, rules: Rules, trials: int = 6) -> tuple[EpisodeResult, list[Any]]:
    store = InMemoryStore()
    actor = LLMActor(backend, answer="whole", temperature=0.15, resamples=0, samples=1)
    graph = code_repair(actor, RuleCritic(), Check(("C",)), HiddenTests(), baseline=False)
    result = await graph.compile(store=store, budget=Budget(trials=trials), rules=rules).arun(ANSWERS)
    return result, list(await store.records(result.episode_id))


def stubborn() -> ScriptedBackend:
    """Says B, and B, and B; of every 20 answers that are drawn at once one is C."""
    drawn: Counter[int] = Counter()

    def answer(request: Request) -> str:
        drawn[request.n] += 1
        return says("C" if request.n >= 20 and drawn[request.n] == 20 else "B")

    return ScriptedBackend(answer)


async def test_friction_is_broken_by_warmth_more_draws_and_refusing_what_was_tried() -> None:
    backend = stubborn()
    result, records = await friction(backend, Rules())
    assert (result.stop_reason, result.trials) == (StopReason.VERIFIED, 2)
    asked = [(round(r.temperature, 2), r.n) for r in backend.requests]
    assert asked == [(0.15, 1), (0.15, 1), (0.3, 5), (0.45, 25)], "0.15 warmer each time it only repeats itself"
    assert [r.trial for r in records if isinstance(r, CandidateRecord)] == [1, 2], (
        "what was tried is never judged again"
    )

    without, _ = await friction(stubborn(), Rules(escalations=0))
    assert (without.stop_reason, without.trials) == (StopReason.STUCK, 1), "without the remedy it only repeats itself"


async def test_feedback_that_used_the_key_is_masked() -> None:
    def keyed(text: str) -> Observation:
        verdict = Verdict.PASS if "C" in text else Verdict.FAIL
        return Observation(verdict=verdict, origin=Origin.VERIFIER, oracle=True, evidence={"detail": "the key says C"})  # pyright: ignore[reportArgumentType]  pydantic makes it

    backend = ScriptedBackend([says("B"), says("C")])
    actor = LLMActor(backend, answer="whole")
    graph = code_repair(actor, RuleCritic(), Check(override=keyed), HiddenTests(), baseline=False)
    result = await graph.compile().arun(ANSWERS)
    assert (result.stop_reason, result.oracle) == (StopReason.VERIFIED, True)
    told = backend.requests[1].messages[-1].content
    assert "the key says" not in told and '<evidence verdict="fail"' in told


PLANTED = [Task(id=f"planted-{n}", tree=Tree({"answer.txt": b"nothing"})) for n in range(6)]


@pytest.mark.parametrize(("signal", "solved"), [("none", 2), ("executed", 6)])
async def test_without_a_signal_from_outside_it_gets_no_better_than_the_first_try(signal: str, solved: int) -> None:
    """Row 24 (i): a third of the first tries is right; every second one is. Without a check nobody may try again."""
    right = 0
    for number, task in enumerate(PLANTED):
        first = "right" if number % 3 == 0 else "wrong"
        actor = Guesser([[first], ["right"]])
        judge = Check(override=lambda _text: _nothing()) if signal == "none" else Check()
        result = await code_repair(actor, Noter(), judge, HiddenTests(), baseline=False).compile().arun(task)
        assert (result.stop_reason is StopReason.NO_VERDICT) is (signal == "none")
        assert len(actor.seen) == (1 if signal == "none" else result.trials), "no signal, no second try"
        last = actor.batches[len(actor.seen) - 1][0]
        right += last == "right"
    assert right == solved


def _nothing() -> Observation:
    return Observation(verdict=Verdict.NONE, origin=Origin.TESTS, reason="nothing_collected")  # pyright: ignore[reportArgumentType]  pydantic makes it


async def test_without_reflection_the_actor_is_told_no_more_than_what_failed() -> None:
    """Row 24 (iii): what only a reflection would tell is not told; the planted tasks stay as they were."""
    told, untold = Guesser([["wrong"], ["right"]]), Guesser([["wrong"], ["wrong again"]])
    with_reflection = code_repair(told, Noter(), Check(), HiddenTests(), baseline=False).compile()
    result = await with_reflection.arun(PLANTED[1])
    reflection = told.seen[1].reflection
    assert reflection is not None and reflection.text.startswith("failed: ")
    assert result.stop_reason is StopReason.VERIFIED
    without = code_repair(untold, None, Check(), HiddenTests(), baseline=False).compile()
    result = await without.arun(PLANTED[1])
    assert [context.reflection for context in untold.seen] == [None] * 3
    records = await without.store.records(result.episode_id)
    assert not [r for r in records if isinstance(r, ReflectionRecord)]
    assert (result.stop_reason, result.verdict) == (StopReason.EXHAUSTED, Verdict.FAIL)


async def refined(local: Sequence[str], whole: Sequence[str], draft: str) -> tuple[EpisodeResult, list[Any], int]:
    actors = Guesser([[text] for text in local]), Guesser([[text] for text in whole])
    actor = LocalOrGlobal(*actors, draft=Guesser([[draft]]))
    store = InMemoryStore()
    graph = code_repair(actor, Noter(), Check(("right", "neat")), HiddenTests(), baseline=False, width=2)
    result = await graph.compile(store=store).arun(PLANTED[0])
    records = list(await store.records(result.episode_id))
    return result, records, sum(len(actor.seen) for actor in actors)


@pytest.mark.parametrize(
    ("local", "whole", "edit"), [("right neat", "wrong", LOCAL), ("wrong", "right and neat", GLOBAL)]
)
async def test_a_failure_is_answered_locally_and_globally_and_the_tool_chooses(
    local: str, whole: str, edit: str
) -> None:
    result, records, asked = await refined([local], [whole], "right")
    assert (result.stop_reason, result.trials, asked) == (StopReason.VERIFIED, 2, 2)
    assert result.best is not None and edit in result.best.candidate.edits
    made = [r for r in records if isinstance(r, CandidateRecord)]
    assert [r.trial for r in made] == [1, 2, 2]
    assert sum(isinstance(r, Admission) and r.admitted for r in records) == 1, "both on one admission"


async def test_a_draft_that_passes_costs_no_refinement_and_the_best_of_three_is_kept() -> None:
    result, _, asked = await refined([], [], "right neat")
    assert (result.stop_reason, result.trials, asked) == (StopReason.VERIFIED, 1, 0)
    result, records, asked = await refined(["wrong"], ["worse"], "right")
    assert (result.stop_reason, asked) == (StopReason.EXHAUSTED, 4)
    assert result.best is not None
    assert result.best.candidate.changes["answer.txt"] == b"right", "neither was better than the draft"
    assert len([r for r in records if isinstance(r, Signal)]) == 3


async def test_alone_it_is_local_until_the_loop_is_stuck() -> None:
    local, whole = Guesser([["a"], ["a"], ["b"]]), Guesser([["right neat"]])
    actor = LocalOrGlobal(local, whole, draft=Guesser([["right"]]))
    graph = code_repair(actor, Noter(), Check(("right", "neat")), HiddenTests(), baseline=False)
    result = await graph.compile().arun(PLANTED[0])
    assert (result.stop_reason, result.trials, len(local.seen), len(whole.seen)) == (StopReason.VERIFIED, 3, 3, 1)
    assert whole.seen[0].tree is whole.seen[0].task.tree, "starting over starts from the task's own files"


def test_its_page_shows_this_graph() -> None:
    check_page("code_repair", code_repair(Guesser([]), Noter(), Check(), HiddenTests()))
