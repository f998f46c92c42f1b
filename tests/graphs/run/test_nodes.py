"""What is let in: an actor or critic acts on an admission, once, and an advance only appends."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from guessing import ANSWER, Check, Guesser, Noter, answer, loop, no_verdict

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
from groundwire.core._candidates import Candidate
from groundwire.core._contexts import ActorContext
from groundwire.core._errors import GroundingError
from groundwire.core._records import Admission
from groundwire.memory import InMemoryStore


def records_of(store: InMemoryStore, episode_id: str) -> list[Any]:
    return list(asyncio.run(store.records(episode_id)))


def test_a_failing_signal_leads_through_the_critic_to_another_try(task: Task) -> None:
    actor, critic, check = Guesser([["wrong"], ["right"]]), Noter(), Check()
    result = loop(actor, check, critic).compile().run(task)
    assert (result.verdict, result.stop_reason, result.trials) == (Verdict.PASS, StopReason.VERIFIED, 2)
    assert check.judged == ["wrong", "right"]
    assert [c.failing.candidate.changes[ANSWER] for c in critic.seen] == [b"wrong"]
    second = actor.seen[1]
    assert second.failing is not None
    assert second.failing.signal.verdict is Verdict.FAIL
    assert second.reflection is not None
    assert second.reflection.text == "failed: 0 of 1"
    assert [x.text for x in second.lessons] == ["failed: 0 of 1"]
    assert "+right" in result.patch


def test_the_ledger_tells_it_all_in_order(task: Task) -> None:
    store = InMemoryStore()
    result = loop(Guesser([["wrong"], ["right"]]), Check(), Noter()).compile(store=store).run(task)
    names = [type(r).__name__ for r in records_of(store, result.episode_id)]
    assert names == [
        "EpisodeRecord",
        "TrialRecord", "CandidateRecord", "Signal", "Admission", "ReflectionRecord", "TrialEnd",
        "TrialRecord", "Recall", "CandidateRecord", "Signal", "TrialEnd", "EpisodeEnd",
    ]  # fmt: skip


def test_a_passing_first_try_asks_no_critic(task: Task) -> None:
    actor, critic = Guesser([["right"]]), Noter()
    result = loop(actor, Check(), critic).compile().run(task)
    assert (result.trials, len(actor.seen), critic.seen) == (1, 1, [])


def test_lessons_outlive_the_episode_and_stay_within_the_window(task: Task) -> None:
    store = InMemoryStore()
    actor = Guesser([[f"wrong {i}"] for i in range(5)] + [["right"]])
    loop(actor, Check(), Noter()).compile(store=store).run(task)
    assert [len(c.lessons) for c in actor.seen] == [0, 1, 1, 1, 1, 1]  # the same text is one lesson
    again = Guesser([["right"]])
    loop(again, Check(), Noter()).compile(store=store).run(task)
    assert [x.text for x in again.seen[0].lessons] == ["failed: 0 of 1"]


def test_a_wide_trial_judges_until_the_first_pass_and_admits_one(task: Task) -> None:
    store = InMemoryStore()
    check = Check(wanted=("x", "y"))
    actor = Guesser([["-", "x", "-x"], ["y", "x y", "never judged"]])
    result = loop(actor, check, width=3).compile(store=store).run(task)
    assert check.judged == ["-", "x", "-x", "y", "x y"]
    admissions = [r for r in records_of(store, result.episode_id) if isinstance(r, Admission)]
    assert [a.candidate_digest for a in admissions] == [answer(task, "x").digest]
    assert [j.candidate.changes[ANSWER] for j in actor.seen[1].judged] == [b"-", b"x", b"-x"]


def test_the_best_candidate_is_kept_when_a_later_one_is_worse(task: Task) -> None:
    check = Check(wanted=("x", "y", "z"))
    actor = Guesser([["x y"], ["-"], ["y z"], ["x y -"]])
    result = loop(actor, check).set_entry("test").compile().run(task)
    assert result.stop_reason is StopReason.EXHAUSTED
    assert result.best is not None
    assert result.best.candidate.changes[ANSWER] == b"x y"
    assert actor.seen[2].tree.files[ANSWER] == b"x y"
    assert result.patch == ""


def test_without_a_judged_baseline_a_failing_try_does_not_stay_in_the_tree(task: Task) -> None:
    actor = Guesser([["x"], ["y"]])
    loop(actor, Check(wanted=("x", "z"))).compile().run(task)
    assert [c.tree.files[ANSWER] for c in actor.seen] == [b"nothing"] * 3


def test_an_actor_that_repeats_itself_is_asked_again_escalated(task: Task) -> None:
    actor = Guesser([["a"], ["a"], ["right"]])
    result = loop(actor, Check()).compile().run(task)
    assert result.stop_reason is StopReason.VERIFIED
    assert [c.escalation for c in actor.seen] == [0, 0, 1]
    assert result.trials == 2


class Walker:
    """Appends a step each time the environment says "go on"; rewrites if told to."""

    def __init__(self, *, rewrite: bool = False) -> None:
        self.rewrite = rewrite
        self.log = ""

    async def propose(self, context: ActorContext, n: int) -> list[Candidate]:
        self.log = f"x{self.log}y" if self.rewrite and self.log else f"{self.log}step "
        return [answer(context.task, self.log)]


def walk(steps: int) -> Check:
    def environment(text: str) -> Observation | None:
        if text.count("step") < steps:
            return no_verdict(NoVerdict.GO_ON, Origin.ENVIRONMENT)
        return Observation(verdict=Verdict.PASS, origin=Origin.ENVIRONMENT)

    return Check(origin=Origin.ENVIRONMENT, override=environment)


def walking(actor: Walker, check: Check) -> FeedbackGraph:
    graph = FeedbackGraph().add_actor("act", actor).add_tool("world", check)
    return graph.add_edge("act", "world").advance("world", to="act")


def test_advance_appends_within_one_trial(task: Task) -> None:
    check = walk(4)
    result = walking(Walker(), check).compile().run(task)
    assert (result.stop_reason, result.trials) == (StopReason.VERIFIED, 1)
    assert check.judged[-1] == "step step step step "


def test_advance_refuses_a_rewrite(task: Task) -> None:
    with pytest.raises(GroundingError, match="may only append"):
        walking(Walker(rewrite=True), walk(4)).compile().run(task)


def test_an_environment_that_never_ends_hits_the_step_budget(task: Task) -> None:
    result = walking(Walker(), walk(10**6)).compile(budget=Budget(steps=7)).run(task)
    assert result.stop_reason is StopReason.BUDGET_STEPS


def test_an_actor_reached_without_an_admission_is_refused(task: Task) -> None:
    """A state written by hand (time travel, update_state) can't stand in for a signal."""
    app = loop(Guesser([["a"], ["b"]]), Check()).compile()

    async def forge() -> None:
        async with app.episode(task) as episode:
            state = {**app.input(episode), "trial": 3, "step": 1, "admission": "forged"}
            await app.langgraph.ainvoke(state, context=episode)

    with pytest.raises(GroundingError, match="no signal has opened"):
        asyncio.run(forge())
