"""Every way in which an episode ends, with its reason."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from guessing import ANSWER, Check, Guesser, Noter, loop, no_verdict

from groundwire import (
    Budget,
    FeedbackGraph,
    NoVerdict,
    Observation,
    Origin,
    StopReason,
    Task,
    Verdict,
)
from groundwire.core._candidates import Candidate, Tree
from groundwire.core._tasks import Hidden


@pytest.mark.parametrize(
    ("batches", "budget", "reason", "trials"),
    [
        ([["a"], ["b"], ["c"]], Budget(trials=2), StopReason.BUDGET_TRIALS, 2),
        ([["a"]], Budget(), StopReason.EXHAUSTED, 2),
        ([["a"], ["a"], ["a"], ["a"]], Budget(), StopReason.STUCK, 2),
        ([["a"]], Budget(seconds=0), StopReason.BUDGET_SECONDS, 0),
    ],
)
def test_every_stop_has_its_reason(
    task: Task, batches: list[list[str]], budget: Budget, reason: StopReason, trials: int
) -> None:
    result = loop(Guesser(batches), Check()).compile(budget=budget).run(task)
    assert result.stop_reason is reason
    assert result.verdict is not Verdict.PASS


def test_no_verdict_is_not_a_fail(task: Task) -> None:
    check = Check(override=lambda text: no_verdict(NoVerdict.NOTHING_COLLECTED))
    actor, critic = Guesser([["a"], ["b"]]), Noter()
    result = loop(actor, check, critic).compile().run(task)
    assert (result.verdict, result.stop_reason) == (Verdict.NONE, StopReason.NO_VERDICT)
    assert "nothing_collected" in result.detail
    assert (len(actor.seen), critic.seen) == (1, [])


def test_broken_infrastructure_is_tried_once_more(task: Task) -> None:
    answers = iter([no_verdict(NoVerdict.SANDBOX)])
    check = Check(override=lambda text: next(answers, None))
    result = loop(Guesser([["right"]]), check).compile().run(task)
    assert result.stop_reason is StopReason.VERIFIED
    assert check.judged == ["right", "right"]
    assert result.signals == 2


@pytest.mark.parametrize("origin", [Origin.HUMAN, Origin.OTHER_MODEL])
def test_opt_in_origins_open_nothing_unless_the_graph_names_them(task: Task, origin: Origin) -> None:
    result = loop(Guesser([["a"], ["right"]]), Check(origin=origin)).compile().run(task)
    assert result.stop_reason is StopReason.REFUSED
    named = FeedbackGraph(trust=[origin])
    named.add_actor("write", Guesser([["a"], ["right"]])).add_tool("test", Check(origin=origin))
    named.add_edge("write", "test").refine("test", to="write")
    assert named.compile().run(task).stop_reason is StopReason.VERIFIED


def test_tests_that_a_model_wrote_ask_again_and_never_declare_success(task: Task) -> None:
    result = loop(Guesser([["a"], ["right"]]), Check(origin=Origin.MODEL_TESTS)).compile().run(task)
    assert (result.stop_reason, result.verdict) == (StopReason.INTERNAL_PASS, Verdict.FAIL)
    assert result.patch == ""


def test_a_baseline_that_passes_ends_at_once() -> None:
    actor = Guesser([["x"]])
    graph = loop(actor, Check())
    graph.set_entry("test")
    result = graph.compile().run(Task(id="ok", tree=Tree({ANSWER: b"right"})))
    assert (result.stop_reason, result.trials, actor.seen) == (StopReason.ALREADY_PASSING, 0, [])


class HiddenCheck(Check):
    judges_hidden = True


@pytest.mark.parametrize(("hidden", "reason"), [("right", StopReason.VERIFIED), ("deep", StopReason.HIDDEN_FAILED)])
def test_hidden_tests_judge_once_and_never_steer(task: Task, hidden: str, reason: StopReason) -> None:
    secret = Hidden(("check",), Tree({"hidden.txt": b"s"}))
    seen: list[Task] = []

    class Looks(HiddenCheck):
        async def judge(self, candidate: Candidate, task: Task, context: Any) -> Observation:
            seen.append(task)
            return await super().judge(candidate, task, context)

    judge = Looks(wanted=(hidden,))
    actor, check = Guesser([["wrong"], ["right"], ["never"]]), Check()
    graph = loop(actor, check, Noter()).add_tool("hidden", judge).confirm("test", by="hidden")
    result = graph.compile().run(replace(task, hidden=secret))
    assert result.stop_reason is reason
    assert judge.judged == ["right"]
    assert result.hidden is not None
    assert result.hidden.origin is Origin.HIDDEN_TESTS
    assert all(c.task.hidden is None for c in actor.seen)
    assert seen[0].hidden == secret
    assert bool(result.patch) == (reason is StopReason.VERIFIED)
    assert graph.compile().run(task).stop_reason is StopReason.EXHAUSTED


def test_without_hidden_tests_the_visible_verdict_stands(task: Task) -> None:
    judge = HiddenCheck()
    graph = loop(Guesser([["right"]]), Check()).add_tool("hidden", judge).confirm("test", by="hidden")
    assert graph.compile().run(task).stop_reason is StopReason.VERIFIED
    assert judge.judged == []
