"""select="best" and select="last": which candidate the hidden tests judge, once, when nothing can follow any more."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from guessing import ANSWER, Guesser, Noter, answer
from looking import Look, Looks, looked

from groundwire import Budget, EpisodeResult, FeedbackGraph, NoVerdict, Observation, Origin, Rules, StopReason, Task
from groundwire.core._candidates import Candidate, Tree
from groundwire.core._contexts import ToolContext
from groundwire.core._errors import GraphError
from groundwire.core._records import Admission, CandidateRecord, Intent, Record, ReflectionRecord
from groundwire.core._signals import Signal, Verdict
from groundwire.core._tasks import Hidden
from groundwire.graphs.library._code_repair import code_repair
from groundwire.graphs.run._answer import Select
from groundwire.memory import InMemoryStore

TASK = Task(
    id="guess",
    tree=Tree({ANSWER: b"nothing"}),
    hidden=Hidden(("hidden",), Tree({"hidden/test_hidden.py": b"assert answer == 'the whole secret 42'\n"})),
)
PASS: Look = {"a": True, "b": True}
HALF: Look = {"a": True, "b": False}
FAIL: Look = {"a": False, "b": False}


@dataclass
class HiddenLook:
    """Hidden tests that pass for the right answers; they may be cut off the first time."""

    right: Sequence[str]
    breaks: int = 0
    judged: list[str] = field(default_factory=list[str])
    judges_hidden = True

    async def judge(self, candidate: Candidate, task: Task, context: ToolContext) -> Observation:
        assert task.hidden is not None
        text = task.tree.with_changes(candidate.changes).files[ANSWER].decode()
        self.judged.append(text)
        if len(self.judged) <= self.breaks:
            raise RuntimeError("cut off")
        return looked({"h": text in self.right}, Origin.HIDDEN_TESTS, command=("hidden",))


@dataclass
class Ran:
    """An episode, its ledger, and what each part was asked."""

    result: EpisodeResult
    records: list[Record]
    hidden: HiddenLook
    actor: Guesser

    def answered(self) -> str:
        """The text that the hidden tests judged."""
        (text,) = self.hidden.judged
        return text


def repair(
    looks: Mapping[str, Sequence[Look]],
    answers: Sequence[Sequence[str]],
    *,
    right: Sequence[str] = (),
    select: Select = "last",
    task: Task = TASK,
    trials: int = 9,
    rules: Rules | None = None,
    baseline: bool = False,
    width: int = 1,
) -> Ran:
    """Runs code_repair on what each answer shows."""
    actor, hidden, store = Guesser(answers), HiddenLook(right), InMemoryStore()
    judge = Looks(looks, repeatable=False)
    graph = code_repair(actor, Noter(), judge, hidden, select=select, baseline=baseline, width=width)
    app = graph.compile(store=store, budget=Budget(trials=trials), rules=rules or Rules(escalations=0))
    result = app.run(task)
    return Ran(result, list(asyncio.run(store.records(result.episode_id))), hidden, actor)


def one_each(**looks: Look) -> dict[str, Sequence[Look]]:
    return {text: [look] for text, look in looks.items()}


def nothing_follows(records: Sequence[Record]) -> bool:
    """True if the one access to the hidden tests comes after all that could be steered by it."""
    access = [i for i, r in enumerate(records) if isinstance(r, Intent) and r.kind == "hidden_access"]
    steered = [i for i, r in enumerate(records) if isinstance(r, CandidateRecord | Admission | ReflectionRecord)]
    hidden = [i for i, r in enumerate(records) if isinstance(r, Signal) and r.origin is Origin.HIDDEN_TESTS]
    return len(access) == len(hidden) == 1 and max(steered) < access[0] < hidden[0]


# --- an answer that never passed


def test_best_does_not_ask_the_hidden_tests_about_what_never_passed() -> None:
    ran = repair(one_each(x=FAIL, y=HALF), [["x"], ["y"]], right=["y"], select="best")
    assert (ran.result.stop_reason, ran.result.verdict) == (StopReason.EXHAUSTED, Verdict.FAIL)
    assert ran.hidden.judged == [] and ran.result.account.hidden_accesses == 0
    assert ran.result.best is not None and ran.result.best.candidate == answer(TASK, "y")


@pytest.mark.parametrize(
    ("right", "reason", "verdict"),
    [(["y"], StopReason.VERIFIED, Verdict.PASS), (["x"], StopReason.HIDDEN_FAILED, Verdict.FAIL)],
)
def test_last_hands_in_the_last_one_once_at_the_end(right: list[str], reason: StopReason, verdict: Verdict) -> None:
    ran = repair(one_each(x=HALF, y=FAIL), [["x"], ["y"]], right=right)
    assert (ran.result.stop_reason, ran.result.verdict) == (reason, verdict)
    assert ran.answered() == "y", "it is worse than the one before, and the answer all the same"
    assert nothing_follows(ran.records)
    assert (ran.result.account.hidden_accesses, ran.result.account.steering) == (1, 0)
    assert len(ran.actor.seen) == 3, "the actor was asked until it had nothing more"


def test_what_is_handed_in_and_passes_is_the_patch_and_the_detail_says_what_came_before() -> None:
    ran = repair(one_each(x=HALF, y=FAIL), [["x"], ["y"]], right=["y"])
    assert ran.result.best is not None and ran.result.best.candidate == answer(TASK, "y")
    assert "+y" in ran.result.patch
    assert ran.result.detail.endswith("the last candidate, although test gave fail")


def test_each_retry_was_opened_by_a_visible_fail() -> None:
    ran = repair(one_each(x=FAIL, y=FAIL, z=HALF), [["x"], ["y"], ["z"]])
    admitted = [r for r in ran.records if isinstance(r, Admission) and r.admitted]
    signals = {r.id: r for r in ran.records if isinstance(r, Signal)}
    assert [signals[a.signal_id].verdict for a in admitted] == [Verdict.FAIL] * 3
    assert {signals[a.signal_id].origin for a in admitted} == {Origin.TESTS}
    assert [a.trial for a in admitted] == [1, 2, 3] and ran.result.trials == 3


@pytest.mark.parametrize("select", ["best", "last"])
def test_what_passes_is_judged_at_once_in_both_and_nothing_more_is_asked(select: Select) -> None:
    ran = repair(one_each(x=FAIL, y=PASS, z=PASS), [["x"], ["y"], ["z"]], right=["y"], select=select)
    assert (ran.answered(), ran.result.stop_reason, len(ran.actor.seen)) == ("y", StopReason.VERIFIED, 2)
    assert "although" not in ran.result.detail and nothing_follows(ran.records)


# --- other ends of the loop


def test_the_trials_are_used_up() -> None:
    ran = repair(one_each(x=FAIL, y=FAIL, z=FAIL), [["x"], ["y"], ["z"]], right=["y"], trials=2)
    assert (ran.answered(), ran.result.stop_reason) == ("y", StopReason.VERIFIED)
    refused = [r for r in ran.records if isinstance(r, Admission) and not r.admitted]
    assert [(r.trial, r.reason) for r in refused] == [(2, "budget")]


def test_the_loop_is_stuck() -> None:
    texts = [f"w{i}" for i in range(9)]
    ran = repair({t: [FAIL] for t in texts}, [[t] for t in texts], right=["w3"])
    assert (ran.answered(), ran.result.stop_reason) == ("w3", StopReason.VERIFIED), "more than three in a row"


def test_an_answer_that_was_given_before_is_the_last_one_too() -> None:
    ran = repair(one_each(x=FAIL, y=HALF), [["x"], ["y"], ["x"]], right=["x"])
    assert (ran.answered(), ran.result.stop_reason, ran.result.trials) == ("x", StopReason.VERIFIED, 2)
    assert nothing_follows(ran.records)


def test_of_several_candidates_of_a_trial_the_chosen_one_is_handed_in() -> None:
    ran = repair(one_each(x=FAIL, y=HALF, z=FAIL), [["x", "y", "z"]], right=["y"], width=3)
    assert (ran.answered(), ran.result.stop_reason) == ("y", StopReason.VERIFIED)


# --- no verdict


@pytest.mark.parametrize("reason", [NoVerdict.NOTHING_COLLECTED, NoVerdict.LIMIT_HIT, NoVerdict.COUNT_MISMATCH])
def test_without_a_visible_verdict_there_is_none_in_best_and_the_hidden_one_in_last(reason: NoVerdict) -> None:
    best = repair(one_each(x=reason), [["x"]], right=["x"], select="best")
    assert (best.result.stop_reason, best.result.verdict) == (StopReason.NO_VERDICT, Verdict.NONE)
    assert best.hidden.judged == [] and len(best.actor.seen) == 1
    last = repair(one_each(x=reason), [["x"], ["y"]], right=["x"])
    assert (last.answered(), last.result.verdict) == ("x", Verdict.PASS)
    assert len(last.actor.seen) == 1 and last.result.detail.endswith("although test gave none")
    wrong = repair(one_each(x=reason), [["x"]])
    assert (wrong.result.stop_reason, wrong.result.verdict) == (StopReason.HIDDEN_FAILED, Verdict.FAIL)


@pytest.mark.parametrize("reason", [NoVerdict.SANDBOX, NoVerdict.RUNNER_MISSING, NoVerdict.USAGE])
def test_where_the_loop_could_not_go_on_nothing_is_handed_in(reason: NoVerdict) -> None:
    ran = repair(one_each(x=reason), [["x"]], right=["x"])
    assert (ran.result.stop_reason, ran.hidden.judged) == (StopReason.NO_VERDICT, [])


def test_an_actor_that_proposes_nothing_has_no_last_candidate() -> None:
    ran = repair({}, [])
    assert (ran.result.stop_reason, ran.result.verdict, ran.hidden.judged) == (
        StopReason.EXHAUSTED,
        Verdict.NONE,
        [],
    )


def test_the_tree_as_it_stands_is_nobody_s_answer() -> None:
    ran = repair(one_each(nothing=FAIL), [], right=["nothing"], baseline=True)
    assert (ran.result.stop_reason, ran.hidden.judged) == (StopReason.EXHAUSTED, [])
    ran = repair(one_each(nothing=FAIL, x=FAIL), [["x"]], right=["x"], baseline=True)
    assert (ran.result.stop_reason, ran.answered()) == (StopReason.VERIFIED, "x")


def test_a_task_without_hidden_tests_ends_as_it_would_otherwise() -> None:
    task = Task(id="guess", tree=TASK.tree)
    ran = repair(one_each(x=FAIL), [["x"]], right=["x"], task=task)
    assert (ran.result.stop_reason, ran.hidden.judged) == (StopReason.EXHAUSTED, [])


# --- cut off and gone on


async def test_a_process_that_is_ended_in_the_last_judging_goes_on_with_the_same_answer() -> None:
    store, hidden = InMemoryStore(), HiddenLook(["y"], breaks=1)
    actor = Guesser([["x"], ["y"]])
    graph = code_repair(actor, Noter(), Looks(one_each(x=HALF, y=FAIL)), hidden, select="last", baseline=False)
    app = graph.compile(store=store)
    run = await app.start_run()
    with pytest.raises(RuntimeError, match="cut off"):
        await app.arun(TASK, run_id=run)
    (episode,) = await store.episodes(run)
    result = await app.arun(TASK, run_id=run, episode_id=episode.id)
    assert (result.stop_reason, hidden.judged) == (StopReason.VERIFIED, ["y", "y"])
    proposed = [r for r in await store.records(episode.id) if isinstance(r, CandidateRecord)]
    assert [r.digest for r in proposed] == [answer(TASK, text).digest for text in ("x", "y")]


# --- wiring


def graph_of(select: Select = "last") -> FeedbackGraph:
    return code_repair(Guesser([]), Noter(), Looks({}), HiddenLook([]), select=select)


def test_the_proof_sees_the_way_from_the_actor_to_the_last_judging() -> None:
    ways = {(e.source, e.target) for e in graph_of().wiring().edges}
    assert ("write", "hidden") in ways and ("hidden", "__end__") in ways
    assert not {target for source, target in ways if source == "hidden"} - {"__end__"}
    assert ("write", "hidden") not in {(e.source, e.target) for e in graph_of("best").wiring().edges}


def test_the_run_s_record_tells_the_two_apart() -> None:
    assert (graph_of("best").name, graph_of("last").name) == ("code_repair", "code_repair_last")


def test_what_can_t_be_handed_in_is_said_when_the_graph_is_compiled() -> None:
    inner = FeedbackGraph().add_actor("write", Guesser([])).add_tool("check", Looks({}))
    inner.add_edge("write", "check")
    outer = FeedbackGraph().add_tool("test", Looks({})).add_tool("hidden", HiddenLook([]))
    outer.add_node("inner", inner).set_entry("inner").add_edge("inner", "test")
    outer.refine("test", to="inner").confirm("test", by="hidden", select="last")
    with pytest.raises(GraphError, match="The last candidate of inner can't be handed in to hidden"):
        outer.compile()


def test_two_tools_that_lead_to_one_actor_must_agree() -> None:
    graph: Any = FeedbackGraph().add_actor("write", Guesser([]))
    for name in ("one", "two"):
        graph.add_tool(name, Looks({})).add_tool(f"hidden_{name}", HiddenLook([]))
        graph.refine(name, to="write").confirm(name, by=f"hidden_{name}", select="last")
    graph.add_edge("write", "one")
    with pytest.raises(GraphError, match="answers to one such tool"):
        graph.compile()
