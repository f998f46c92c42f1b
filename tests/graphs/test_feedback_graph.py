"""The loop as a whole: what is let in, what is refused, why it stops, and that LangGraph still works through it."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from guessing import ANSWER, Check, Guesser, Noter, answer, loop, no_verdict
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, Send, interrupt

from groundwire import (
    Budget,
    EpisodeState,
    FeedbackGraph,
    NoVerdict,
    Observation,
    Origin,
    SandboxOptions,
    StopReason,
    Task,
    UngroundedLoopError,
    Verdict,
)
from groundwire.contexts import ActorContext
from groundwire.errors import ConfigError, GraphError, GroundingError, RecordNotFound, SealError
from groundwire.memory import InMemoryStore
from groundwire.records import Admission, EpisodeEnd, ReflectionRecord
from groundwire.sandbox import open_sandbox
from groundwire.signals import Evidence, Signal
from groundwire.tasks import Hidden
from groundwire.trees import Candidate, Tree


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
        "TrialRecord", "CandidateRecord", "Signal", "Admission", "ReflectionRecord",
        "TrialRecord", "CandidateRecord", "Signal", "EpisodeEnd",
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


def test_an_actor_that_repeats_itself_is_asked_again_escalated(task: Task) -> None:
    actor = Guesser([["a"], ["a"], ["right"]])
    result = loop(actor, Check()).compile().run(task)
    assert result.stop_reason is StopReason.VERIFIED
    assert [c.escalation for c in actor.seen] == [0, 0, 1]
    assert result.trials == 2


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


def test_an_ungrounded_loop_does_not_compile(task: Task) -> None:
    graph = FeedbackGraph().add_actor("write", Guesser([])).add_critic("reflect", Noter()).add_tool("test", Check())
    graph.add_edge("write", "reflect").add_edge("reflect", "write").add_edge("write", "test")
    with pytest.raises(UngroundedLoopError, match=r'graph\.refine\("test", via="reflect", to="write"\)'):
        graph.compile()


def jump(target: Any) -> Any:
    return globals()["Command"](goto=target)


@pytest.mark.parametrize("target", ["write", ["write"], Send("write", {}), [Send("write", {})]])
def test_an_undeclared_jump_is_refused_at_run_time(task: Task, target: Any) -> None:
    graph = loop(Guesser([["a"], ["b"]]), Check())

    def sneak(state: EpisodeState) -> Any:
        return jump(target)

    graph.add_node("sneak", sneak, role="pure")
    graph.set_entry("sneak").add_edge("sneak", "write")
    with pytest.raises(GroundingError, match="jumped to write"):
        graph.compile().run(task)


def test_a_jump_must_be_declared_and_then_counts_in_the_proof() -> None:
    def sneak(state: EpisodeState) -> Command[Any]:
        return Command(goto="write")

    with pytest.raises(GraphError, match="undeclared nodes"):
        FeedbackGraph().add_node("sneak", sneak)
    graph = FeedbackGraph().add_actor("write", Guesser([])).add_tool("test", Check())
    graph.add_node("sneak", sneak, destinations=["write"]).add_edge("write", "sneak").add_edge("sneak", "test")
    graph.refine("test", to="write")
    with pytest.raises(UngroundedLoopError, match="write → sneak → write"):
        graph.compile()


def test_an_actor_reached_without_an_admission_is_refused(task: Task) -> None:
    """A state written by hand (time travel, update_state) can't stand in for a signal."""
    app = loop(Guesser([["a"], ["b"]]), Check()).compile()

    async def forge() -> None:
        async with app.episode(task) as episode:
            state = {**app.input(episode), "trial": 3, "step": 1, "admission": "forged"}
            await app.langgraph.ainvoke(state, context=episode)

    with pytest.raises(GroundingError, match="no signal has opened"):
        asyncio.run(forge())


def test_wrong_wiring_is_named(task: Task) -> None:
    graph = FeedbackGraph().add_actor("write", Guesser([])).add_tool("test", Check())
    for build, message in [
        (lambda: FeedbackGraph().compile(), "has no actor"),
        (lambda: graph.add_tool("write", Check()), "a node 'write' already"),
        (lambda: graph.add_actor("__end__", Guesser([])), "can't be a node's name"),
        (lambda: graph.add_actor("w", Guesser([]), width=0), "width of w is 0"),
        (lambda: graph.add_conditional_edges("write", lambda s: "x", []), "declares no targets"),
        (lambda: FeedbackGraph().add_actor("a", Guesser([])).refine("a", to="a").compile(), "is not a tool"),
        (lambda: loop(Guesser([]), Check()).add_edge("test", "write").compile(), "both gated and plain edges"),
        (lambda: loop(Guesser([]), Check()).refine("test", to="write"), "has a refine edge already"),
    ]:
        with pytest.raises(GraphError, match=message):
            build()


def test_own_typed_fields_travel_with_the_state(task: Task) -> None:
    class Counting(EpisodeState):
        visits: int = 0

    seen: list[int] = []

    def count(state: Counting) -> dict[str, int]:
        seen.append(state.visits)
        return {"visits": state.visits + 1}

    graph = FeedbackGraph(Counting)
    graph.add_actor("write", Guesser([["a"], ["right"]])).add_tool("test", Check())
    graph.add_node("count", count, role="pure")
    graph.add_edge("write", "count").add_edge("count", "test").refine("test", to="write")
    assert graph.compile().run(task, visits=5).stop_reason is StopReason.VERIFIED
    assert seen == [5, 6]


def test_an_actors_router_is_followed_until_it_stops(task: Task) -> None:
    graph = FeedbackGraph().add_actor("write", Guesser([["a"], ["right"]])).add_tool("test", Check())
    graph.add_conditional_edges("write", lambda state: "go", {"go": "test"}).refine("test", to="write")
    assert graph.compile().run(task).stop_reason is StopReason.VERIFIED


def test_langgraph_interrupts_checkpoints_and_resumes(task: Task) -> None:
    def ask(state: EpisodeState) -> dict[str, Any]:
        interrupt("May it be judged?")
        return {}

    graph = FeedbackGraph().add_actor("write", Guesser([["a"], ["right"]])).add_tool("test", Check())
    graph.add_node("ask", ask, role="pure").add_edge("write", "ask").add_edge("ask", "test").refine("test", to="write")
    store = InMemoryStore()
    app = graph.compile(store=store, checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "t"}}

    async def go() -> tuple[Any, ...]:
        run_id = await app.start_run()
        first = await app.arun(task, run_id=run_id, config=config)
        again = partial(app.arun, task, run_id=run_id, episode_id=first.episode_id, config=config, resume="yes")
        second, third = await again(), await again()
        return first, second, third

    first, second, third = asyncio.run(go())
    assert first.stop_reason is StopReason.INTERRUPTED
    assert first.interrupts[0].value == "May it be judged?"
    assert second.stop_reason is StopReason.INTERRUPTED
    assert (third.stop_reason, third.signals, third.trials) == (StopReason.VERIFIED, 2, 2)


def test_langgraph_streams_updates_through_the_open_episode(task: Task) -> None:
    app = loop(Guesser([["wrong"], ["right"]]), Check(), Noter()).compile()

    async def go() -> list[str]:
        nodes: list[str] = []
        async with app.episode(task) as episode:
            async for update in app.langgraph.astream(app.input(episode), context=episode, stream_mode="updates"):
                nodes += update
        return nodes

    assert asyncio.run(go()) == ["write", "test", "reflect", "write", "test"]


def test_stream_yields_records_as_they_are_written_then_the_result(task: Task) -> None:
    app = loop(Guesser([["wrong"], ["right"]]), Check(), Noter()).compile()
    items = list(app.stream(task))
    assert [type(i).__name__ for i in items[:3]] == ["EpisodeRecord", "TrialRecord", "Artifact"]
    assert isinstance(items[-2], EpisodeEnd)
    assert items[-1].stop_reason is StopReason.VERIFIED  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]


def test_a_stream_that_is_dropped_stops_the_episode(task: Task) -> None:
    actor = Guesser([[f"{i}"] for i in range(1000)])
    app = loop(actor, Check()).compile(budget=Budget(trials=1000))
    stream = app.stream(task)
    next(iter(stream))
    stream.close()  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    assert len(actor.seen) < 1000


@pytest.mark.parametrize(("choice", "kind"), [(None, "default"), (SandboxOptions(kind="docker"), "docker")])
def test_the_run_tells_which_sandbox_was_asked_for(task: Task, choice: SandboxOptions | None, kind: str) -> None:
    store = InMemoryStore()
    loop(Guesser([["right"]]), Check()).compile(store=store, sandbox=choice).run(task)
    (run,) = asyncio.run(store.runs())
    assert json.loads(run.config)["sandbox"] == kind


async def test_the_run_tells_the_kind_of_a_sandbox_that_was_handed_in(task: Task) -> None:
    store = InMemoryStore()
    sandbox = await open_sandbox("subprocess")
    try:
        await loop(Guesser([["right"]]), Check()).compile(store=store, sandbox=sandbox).arun(task)
    finally:
        await sandbox.aclose()
    (run,) = await store.runs()
    assert json.loads(run.config)["sandbox"] == "subprocess"


def test_batch_shares_a_run_and_keeps_the_order(task: Task) -> None:
    store = InMemoryStore()

    class Echo:
        async def propose(self, context: ActorContext, n: int) -> list[Candidate]:
            await asyncio.sleep(0.001 if context.task.id == "t0" else 0)
            return [answer(context.task, "right")]

    graph = FeedbackGraph().add_actor("write", Echo()).add_tool("test", Check()).add_edge("write", "test")
    graph.refine("test", to="write")
    results = graph.compile(store=store).batch([replace(task, id=f"t{i}") for i in range(6)], at_once=3)
    assert [r.task_id for r in results] == [f"t{i}" for i in range(6)]
    assert len({r.run_id for r in results}) == 1
    assert len(asyncio.run(store.runs())) == 1


async def test_sync_wrappers_refuse_inside_a_loop_and_name_the_twin(task: Task) -> None:
    app = loop(Guesser([["right"]]), Check()).compile()
    with pytest.raises(ConfigError, match="arun"):
        app.run(task)
    with pytest.raises(ConfigError, match="abatch"):
        app.batch([task])
    with pytest.raises(ConfigError, match="astream"):
        next(iter(app.stream(task)))


class Dies(BaseException):
    """Stands for kill -9: nothing in the loop may catch it."""


@pytest.mark.parametrize("after", range(1, 8))
def test_an_episode_goes_on_from_the_ledger_alone_without_repeating_anything(task: Task, after: int) -> None:
    store = InMemoryStore()
    actor, critic, check = Guesser([["wrong"], ["worse"], ["right"]]), Noter(), Check()
    app = loop(actor, check, critic).compile(store=store)
    written = 0

    def die(record: Any) -> None:
        nonlocal written
        written += isinstance(record, (Signal, Admission, ReflectionRecord))
        if written == after:
            raise Dies

    async def go() -> Any:
        run_id = await app.start_run()
        with pytest.raises(BaseException) as caught:
            await app.arun(task, run_id=run_id, observers=[die])
        assert caught.type is Dies
        (episode,) = await store.episodes(run_id)
        return await app.arun(task, run_id=run_id, episode_id=episode.id)

    result = asyncio.run(go())
    assert (result.stop_reason, result.trials, result.signals) == (StopReason.VERIFIED, 3, 3)
    assert check.judged == ["wrong", "worse", "right"]
    assert (len(actor.seen), len(critic.seen), result.reflections) == (3, 2, 2)


def test_going_on_verifies_seals_and_files(task: Task) -> None:
    class Edited(InMemoryStore):
        async def records(self, episode_id: str) -> Any:
            return [
                r.model_copy(update={"evidence": Evidence(detail="edited")}) if isinstance(r, Signal) else r
                for r in await super().records(episode_id)
            ]

    store = Edited()
    app = loop(Guesser([["right"]]), Check()).compile(store=store)

    async def go(other: Task) -> None:
        run_id = await app.start_run()
        first = await app.arun(task, run_id=run_id)
        await app.arun(other, run_id=run_id, episode_id=first.episode_id)

    with pytest.raises(SealError, match="does not match"):
        asyncio.run(go(task))
    with pytest.raises(RecordNotFound, match="about other files"):
        asyncio.run(go(replace(task, tree=Tree({ANSWER: b"changed"}))))
