"""Standstill: what counts as one, that it escalates, and that it ends the episode when escalating has not helped."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from guessing import ANSWER, Check, Guesser, loop
from looking import Look, Looks, looked

from groundwire import Budget, EpisodeResult, FeedbackGraph, NoVerdict, Observation, Origin, Rules, StopReason, Task
from groundwire.core._candidates import Candidate
from groundwire.core._contexts import ActorContext
from groundwire.core._records import Admission, TrialRecord
from groundwire.core._seal import Mint
from groundwire.core._signals import Evidence, Signal, Verdict
from groundwire.core._traits import ActorTraits
from groundwire.graphs.run._stagnation import FailurePattern, draws, failure_of, standstill
from groundwire.memory import InMemoryStore

A, B, C = (FailurePattern(frozenset(name), "kind") for name in "abc")
RULES = Rules()


def words(count: int) -> list[list[str]]:
    return [[f"w{i}"] for i in range(count)]


def run(
    task: Task, looks: Sequence[Look], *, actor: Any = None, budget: Budget | None = None, **rules: Any
) -> tuple[EpisodeResult, list[Any]]:
    """Each trial fails in the way that is written down for it."""
    store = InMemoryStore()
    tool = Looks({f"w{i}": [look] for i, look in enumerate(looks)}, repeatable=False)
    app = loop(actor or Guesser(words(len(looks))), tool).compile(store=store, budget=budget, rules=Rules(**rules))
    result = app.run(task)
    return result, list(asyncio.run(store.records(result.episode_id)))


# --- the rule


def test_four_in_a_row_are_a_standstill_and_three_are_not() -> None:
    assert not standstill([A, A, A], RULES)
    assert standstill([A, A, A, A], RULES).startswith("same_failure: more than 3 trials in a row")
    assert standstill([B, A, A, A, A], RULES)
    assert standstill([A, A], Rules(repeats=1))
    assert not standstill([A] * 9, Rules(repeats=None))
    assert not standstill([], RULES)


def test_going_there_and_back_is_an_oscillation() -> None:
    assert standstill([A, B, A], RULES).startswith("oscillation: the failure of two trials ago is back: a (kind)")
    assert not standstill([A, B, C], RULES)
    assert not standstill([A, A, A], RULES)
    assert not standstill([A, B, A, C], RULES)


def test_the_same_cases_in_another_way_are_another_failure() -> None:
    def failed(message: str) -> FailurePattern:
        seen = looked({"t": False})
        case = seen.evidence.cases[0].model_copy(update={"message": message})
        seen = seen.model_copy(update={"evidence": Evidence(cases=(case,))})
        return failure_of(Mint("r", b"k" * 32).signal(seen, episode_id="e", trial=1, issuer="t", candidate_digest="c"))

    assert failed("IndexError: list index out of range") != failed("ZeroDivisionError: division by zero")
    assert failed("assert 1 == 5") == failed("assert 2 == 9")


@pytest.mark.parametrize(
    ("width", "plan"), [(1, [1, 5, 25, 25]), (2, [2, 10, 25, 25]), (30, [30, 30]), (200, [200, 200])]
)
def test_escalating_asks_for_more_at_once(width: int, plan: list[int]) -> None:
    assert [draws(width, escalation) for escalation in range(len(plan))] == plan


# --- in the loop


def test_a_loop_that_does_not_move_escalates_three_times_and_is_stuck(task: Task) -> None:
    actor = Guesser(words(20))
    result, records = run(task, [{"a": False}] * 20, actor=actor, budget=Budget(trials=20))
    assert (result.stop_reason, result.trials, result.exit_code) == (StopReason.STUCK, 7, 1)
    assert result.detail.startswith("same_failure: more than 3 trials in a row failed in the same way: a")
    assert [c.escalation for c in actor.seen] == [0, 0, 0, 0, 1, 2, 3]
    assert [r.escalation for r in records if isinstance(r, TrialRecord)] == [0, 0, 0, 0, 1, 2, 3]
    assert len(result.account.standstill) == 4


def test_a_finding_is_a_sealed_signal_of_a_rule_that_opens_nothing(task: Task) -> None:
    result, records = run(task, [{"a": False}] * 5, budget=Budget(trials=5))
    rules = [r for r in records if isinstance(r, Signal) and r.origin is Origin.RULE]
    assert [(r.trial, r.verdict) for r in rules] == [(4, Verdict.FAIL), (5, Verdict.FAIL)]
    assert not {r.signal_id for r in records if isinstance(r, Admission)} & {r.id for r in rules}
    assert result.best is not None
    assert result.best.signal.origin is Origin.TESTS


def test_progress_takes_the_escalation_back(task: Task) -> None:
    looks: Sequence[Look] = [{"a": False, "b": False}] * 5 + [{"a": True, "b": False}] * 2
    actor = Guesser(words(7))
    run(task, looks, actor=actor, budget=Budget(trials=7))
    assert [c.escalation for c in actor.seen] == [0, 0, 0, 0, 1, 2, 0]


def test_fixing_one_and_breaking_the_other_in_turn_is_noticed(task: Task) -> None:
    looks: Sequence[Look] = [{"a": False, "b": True}, {"a": True, "b": False}] * 10
    result, _ = run(task, looks, budget=Budget(trials=20))
    assert (result.stop_reason, result.trials) == (StopReason.STUCK, 6)
    assert result.detail.startswith("oscillation")
    assert [(t.fixes, t.breaks) for t in result.account.trade_offs] == [(("a",), ("b",))] * 3


def test_an_actor_with_a_plan_of_its_own_is_not_hurried(task: Task) -> None:
    class Patient(Guesser):
        traits = ActorTraits(patient=True)

    result, _ = run(task, [{"a": False}] * 12, actor=Patient(words(12)), budget=Budget(trials=20))
    assert (result.stop_reason, result.trials, result.account.standstill) == (StopReason.EXHAUSTED, 12, ())


def test_an_actor_that_only_repeats_itself_is_asked_for_more_each_time(task: Task) -> None:
    asked: list[int] = []

    class Stubborn(Guesser):
        async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
            asked.append(n)
            return [Candidate(context.task.tree.digest, {ANSWER: b"w0"})]

    result, _ = run(task, [{"a": False}], actor=Stubborn([]))
    assert asked == [1, 1, 5, 25]
    assert (result.stop_reason, result.trials) == (StopReason.STUCK, 1)
    assert result.detail == "same_candidate: only what was judged before, 3 times"


def test_of_many_draws_only_as_many_are_judged_as_the_trial_is_wide(task: Task) -> None:
    class Wide(Guesser):
        async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
            if context.escalation == 0:
                return [Candidate(context.task.tree.digest, {ANSWER: b"w0"})]
            return [Candidate(context.task.tree.digest, {ANSWER: f"w{i}".encode()}) for i in range(n)]

    result, records = run(task, [{"a": False}, {"a": True}], actor=Wide([]))
    assert (result.stop_reason, result.candidates) == (StopReason.VERIFIED, 2)
    assert len([r for r in records if isinstance(r, Signal)]) == 2


# --- caps per kind of signal


@pytest.mark.parametrize("cap", [1, 10])
def test_each_kind_of_signal_has_a_cap_of_its_own(task: Task, cap: int) -> None:
    result, records = run(
        task, [{"a": False}] * 20, budget=Budget(trials=50), repeats=None, refinements={Origin.TESTS: cap}
    )
    assert (result.stop_reason, result.exit_code) == (StopReason.BUDGET_REFINEMENTS, 4)
    asked = [r for r in records if isinstance(r, Admission)]
    assert [a.admitted for a in asked] == [True] * cap + [False]
    assert asked[-1].reason == "budget"
    assert result.trials == cap + 1


def test_a_cap_on_one_kind_is_none_on_another(task: Task) -> None:
    result, _ = run(task, [{"a": False}] * 3, refinements={Origin.VERIFIER: 0})
    assert (result.stop_reason, result.trials) == (StopReason.EXHAUSTED, 3)


# --- in an environment


class Room:
    """An environment in which looking is always the same."""

    async def judge(self, candidate: Candidate, task: Task, context: Any) -> Observation:
        done = candidate.changes[ANSWER]
        assert done is not None
        last = done.decode().split(",")[-2]
        return Observation(
            verdict=Verdict.NONE,
            reason=NoVerdict.GO_ON,
            origin=Origin.ENVIRONMENT,
            evidence=Evidence(stdout=f"you see {'a wall' if last == 'look' else len(done)}"),
        )


@pytest.mark.parametrize(
    ("actions", "reason", "steps"),
    [
        (["look"] * 9, StopReason.STUCK, 4),
        (["look", "go", "look", "go", "look"], StopReason.EXHAUSTED, 5),
        (["go"] * 9, StopReason.STUCK, 6),
    ],
)
def test_an_actor_that_walks_against_a_wall_is_stopped(
    task: Task, actions: list[str], reason: StopReason, steps: int
) -> None:
    taken: list[str] = []

    class Walker:
        async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
            if len(taken) == len(actions):
                return []
            taken.append(actions[len(taken)])
            return [Candidate(context.task.tree.digest, {ANSWER: "".join(f"{t}," for t in taken).encode()})]

    graph = FeedbackGraph().add_actor("act", Walker()).add_tool("room", Room()).add_edge("act", "room")
    result = graph.advance("room", to="act").compile(rules=Rules(actions=5)).run(task)
    assert (result.stop_reason, len(taken)) == (reason, steps)
    assert (len(result.account.standstill) == 1) is (reason is StopReason.STUCK)


def test_the_check_of_other_tests_is_not_touched_by_any_of_it(task: Task) -> None:
    result = loop(Guesser([["wrong"], ["right"]]), Check()).compile().run(task)
    assert (result.stop_reason, result.account.rejudged, result.account.standstill) == (StopReason.VERIFIED, 0, ())
