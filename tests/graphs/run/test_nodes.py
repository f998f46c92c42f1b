"""What is let in: an actor or critic acts on an admission, once, and an advance only appends."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from typing import Any

import pytest
from dying import dies_and_goes_on
from guessing import ANSWER, Check, Guesser, Noter, answer, loop, no_verdict
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.callbacks import BaseCallbackHandler
from langgraph.checkpoint.memory import InMemorySaver

from groundwire import (
    Budget,
    FeedbackApp,
    FeedbackGraph,
    NoVerdict,
    Observation,
    Origin,
    StopReason,
    Task,
    Tree,
    Verdict,
)
from groundwire.core._candidates import Candidate
from groundwire.core._contexts import ActorContext
from groundwire.core._errors import Contradiction, GroundingError
from groundwire.core._records import Admission, Intent, Record
from groundwire.core._signals import Signal
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


# One superstep a trial, or one a node: the same nodes in the same order with the same ledger.


WORDS = ["wrong", "right", "x", "x right", "y"]


def says(text: str) -> Observation | None:
    match text:
        case "x":
            return no_verdict(NoVerdict.GO_ON, Origin.ENVIRONMENT)
        case "y":
            return no_verdict(NoVerdict.NOTHING_COLLECTED)
        case _:
            return None


def build(batches: list[list[str]], *, critic: bool, entry: str, confirm: bool, plain: bool) -> FeedbackGraph:
    graph = FeedbackGraph().add_actor("write", Guesser(batches), width=2).add_tool("test", Check(override=says))
    if plain:
        graph.add_node("note", lambda state: {}, role="pure").add_edge("write", "note").add_edge("note", "test")
    else:
        graph.add_edge("write", "test")
    if critic:
        graph.add_critic("reflect", Noter())
    if confirm:
        graph.add_tool("second", Check(("x", "right"))).confirm("test", by="second")
    graph.refine("test", via="reflect" if critic else None, to="write").advance("test", to="write")
    return graph.set_entry(entry)


def comparable(record: Record) -> Any:
    """A record without what differs between two runs of the same thing."""
    fields = record.model_dump() if isinstance(record, Signal) else dataclasses.asdict(record)
    varying = {"id", "run_id", "episode_id", "signal_id", "lesson_id", "lessons", "created_at", "seal", "duration_s"}
    return type(record).__name__, {k: v for k, v in fields.items() if k not in varying}


async def ledger_of(app: FeedbackApp, config: dict[str, Any] | None = None) -> list[Any]:
    result = await app.arun(Task(id="t", tree=Tree({"answer.txt": b"nothing"})), config=config)
    return [comparable(r) for r in await app.store.records(result.episode_id)]


@settings(max_examples=50)
@given(
    st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=2), max_size=4),
    st.booleans(),
    st.sampled_from(["write", "test"]),
    st.booleans(),
    st.booleans(),
)
async def test_the_ledger_is_the_same(
    batches: list[list[str]], critic: bool, entry: str, confirm: bool, plain: bool
) -> None:
    ledgers: list[list[Any]] = []
    for config in (None, {"tags": ["one superstep a node"]}):
        graph = build(batches, critic=critic, entry=entry, confirm=confirm, plain=plain)
        app = graph.compile(store=InMemoryStore(), budget=Budget(trials=3, steps=3))
        try:
            ledgers.append(await ledger_of(app, config))
        except Exception as error:  # the same refusal
            ledgers.append([type(error)])
    assert ledgers[0] == ledgers[1]


class Supersteps(BaseCallbackHandler):
    def __init__(self) -> None:
        self.nodes: list[str] = []

    def on_chain_start(self, serialized: Any, inputs: Any, *, metadata: Any = None, **kwargs: Any) -> None:
        if metadata and "langgraph_node" in metadata and kwargs.get("name") == metadata["langgraph_node"]:
            self.nodes.append(metadata["langgraph_node"])


async def test_who_watches_sees_every_node(task: Task) -> None:
    app = loop(Guesser([["wrong"], ["right"]]), Check(), Noter()).compile()
    seen = Supersteps()
    await app.arun(task, config={"callbacks": [seen]})
    assert seen.nodes == ["write", "test", "reflect", "write", "test"]


@pytest.mark.parametrize("options", [{"checkpointer": InMemorySaver()}, {"interrupt_before": ["test"]}])
def test_who_keeps_or_stops_at_supersteps_gets_one_a_node(options: Any, task: Task) -> None:
    graph = loop(Guesser([["wrong"], ["right"]]), Check(), Noter())
    assert graph.compile(**options)._graph_for(None).builder.edges == graph.compile().langgraph.builder.edges  # pyright: ignore[reportPrivateUsage]


async def test_trials_are_one_superstep_where_nobody_watches(task: Task) -> None:
    app = loop(Guesser([["wrong"], ["right"]]), Check(), Noter()).compile()
    strides = app._graph_for(None)  # pyright: ignore[reportPrivateUsage]
    nodes: list[str] = []
    async with app.episode(task) as episode:
        async for update in strides.astream(app.input(episode), context=episode, stream_mode="updates"):
            nodes += update
    assert nodes == ["write"]


def test_what_is_added_after_compiling_changes_nothing(task: Task) -> None:
    graph = loop(Guesser([["wrong"], ["right"]]), Check())
    app = graph.compile()
    graph.add_node("late", lambda state: 1 / 0).add_edge("late", "write").set_entry("late")
    assert app.run(task).verdict is Verdict.PASS


# --- an actor's word that a test contradicts the task


class Objector:
    """Proposes what is wrong, then says that a test contradicts the task."""

    def __init__(self, case: str, reason: str = "the task says otherwise") -> None:
        self.case, self.reason = case, reason
        self.asked = 0

    async def propose(self, context: ActorContext, n: int) -> list[Candidate]:
        self.asked += 1
        if context.trial == 1:
            return [answer(context.task, "wrong")]
        raise Contradiction(self.case, self.reason)


def objecting(actor: Objector, check: Check, store: InMemoryStore | None = None) -> FeedbackApp:
    graph = FeedbackGraph().add_actor("write", actor).add_tool("test", check).add_edge("write", "test")
    return graph.refine("test", to="write").compile(store=store)


def test_a_contradiction_is_an_end_of_its_own_and_no_verdict_of_anybody(task: Task) -> None:
    store, check = InMemoryStore(), Check(wanted=("right", "wro"))
    result = objecting(Objector("right"), check, store).run(task)
    assert (result.stop_reason, result.verdict, result.exit_code) == (StopReason.CONTRADICTION, Verdict.FAIL, 8)
    assert result.detail == "right: the task says otherwise"
    assert check.judged == ["wrong"]
    records = records_of(store, result.episode_id)
    (said,) = [r for r in records if isinstance(r, Intent) and r.kind == "contradiction"]
    (failing,) = [r for r in records if isinstance(r, Signal)]
    assert json.loads(said.body) == {
        "issuer": "write", "case": "right", "reason": "the task says otherwise", "signal": failing.id,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("case", "reason", "said"),
    [
        ("nobody's", "why", "no such case has failed"),
        ("wro", "it passes", "no such case has failed"),
        ("", "why", "no such case has failed"),
        ("right", "  ", "and not why"),
    ],
)
def test_a_contradiction_that_names_no_failing_case_is_bad_input(task: Task, case: str, reason: str, said: str) -> None:
    result = objecting(Objector(case, reason), Check(wanted=("right", "wro"))).run(task)
    assert result.stop_reason is StopReason.EXHAUSTED
    assert said in result.detail


def test_before_anything_was_judged_nothing_can_be_contradicted(task: Task) -> None:
    class AtOnce:
        async def propose(self, context: ActorContext, n: int) -> list[Candidate]:
            raise Contradiction("right", "why")

    graph = FeedbackGraph().add_actor("write", AtOnce()).add_tool("test", Check()).add_edge("write", "test")
    result = graph.compile().run(task)
    assert result.stop_reason is StopReason.EXHAUSTED and "No case is known to have failed" in result.detail


async def test_a_contradiction_that_is_on_record_is_not_asked_for_again(task: Task) -> None:
    actor = Objector("right")
    app = objecting(actor, Check(), InMemoryStore())
    result = await dies_and_goes_on(app, task, lambda r: isinstance(r, Intent) and r.kind == "contradiction")
    assert (result.stop_reason, actor.asked) == (StopReason.CONTRADICTION, 2)
