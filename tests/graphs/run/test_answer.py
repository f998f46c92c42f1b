"""What the user's tests passed is never lost to tests that a model wrote, however the loop ends after that."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from guessing import Check, Guesser, Noter, no_verdict
from trails import trail

from groundwire import Budget, EpisodeResult, NoVerdict, Origin, Rules, StopReason, Task, Tree, Verdict
from groundwire.agents import LLMActor, LLMCaseWriter, RuleCritic
from groundwire.core._candidates import Candidate
from groundwire.core._contexts import Actor, ActorContext, Critic, CriticContext, Reflection, Tool
from groundwire.core._errors import BudgetExceeded, ConfigError, GraphError, ModelError
from groundwire.core._models import Request
from groundwire.core._records import Intent
from groundwire.core._tasks import Hidden
from groundwire.core._traits import ToolTraits
from groundwire.graphs import FeedbackGraph
from groundwire.graphs.build._proof import prove
from groundwire.graphs.library._code_repair import code_repair
from groundwire.memory import InMemoryStore
from groundwire.models import ScriptedBackend
from groundwire.tools import HiddenTests, ModelTests, Pytest

SECRET = Hidden(("check",), Tree({"hidden.txt": b"the whole secret 42\n"}))
USERS, OWN = ("right",), ("deep", "wide")


class HiddenCheck(Check):
    traits = ToolTraits(judges_hidden=True)


class Breaks(Guesser):
    """Plays its answers, then breaks."""

    def __init__(self, batches: Sequence[Sequence[str]], trouble: Exception) -> None:
        super().__init__(batches)
        self.trouble = trouble

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        proposed = await super().propose(context, n)
        if not proposed:
            raise self.trouble
        return proposed


class MuteCritic:
    async def reflect(self, context: CriticContext) -> Reflection:
        raise ModelError("the critic's model is gone")


class NoWriter:
    """A tool whose tests a model would have written, and could not."""

    async def write(self, task: Task, context: Any) -> Any:
        raise ModelError("nobody writes tests")

    async def judge(self, candidate: Candidate, task: Task, context: Any) -> Any:
        raise AssertionError("it has no tests")


def own(override: Callable[[str], Any] = lambda _: None) -> Check:
    return Check(OWN, origin=Origin.MODEL_TESTS, override=override)


def mute(_text: str) -> Any:
    return no_verdict(NoVerdict.FLAKY, Origin.MODEL_TESTS)


MONEY = BudgetExceeded("usd", "0.10 of 0.10 used")
ENDS: dict[str, tuple[Actor, Critic | None, Tool, Budget]] = {
    "exhausted": (Guesser([["right"], ["wrong"]]), Noter(), own(), Budget()),
    "stuck": (Guesser([["right"], ["right"], ["right"], ["right"], ["right"]]), None, own(), Budget()),
    "budget_trials": (Guesser([["right"], ["wrong"]]), Noter(), own(), Budget(trials=2)),
    "budget_trials, at once": (Guesser([["right"]]), Noter(), own(), Budget(trials=1)),
    "budget_usd": (Breaks([["right"]], MONEY), Noter(), own(), Budget()),
    "model_error": (Breaks([["right"], ["wrong"]], ModelError("the model is gone")), None, own(), Budget()),
    "model_error of the critic": (Guesser([["right"]]), MuteCritic(), own(), Budget()),
    "model_error of the writer": (Guesser([["right"]]), Noter(), NoWriter(), Budget()),
    "no_verdict": (Guesser([["right"]]), Noter(), own(mute), Budget()),
}


async def ended(
    name: str, *, hidden: Sequence[str] | None, config: Any = None
) -> tuple[EpisodeResult, list[str], HiddenCheck]:
    actor, critic, weaker, budget = ENDS[name]
    if isinstance(actor, Guesser):
        actor.seen.clear()
    last, store = HiddenCheck(hidden or ()), InMemoryStore()
    graph = code_repair(actor, critic, Check(USERS, origin=Origin.TESTS), last, own_tests=weaker, baseline=False)
    app = graph.compile(store=store, budget=budget, rules=Rules(escalations=1))
    task = Task(id="t", tree=Tree({"answer.txt": b"nothing"}), hidden=None if hidden is None else SECRET)
    result = await app.arun(task, config=config)
    records = list(await store.records(result.episode_id))
    if result.error is None:
        if isinstance(actor, Guesser):
            actor.seen.clear()
        replayed = await app.areplay(task, run_id=result.run_id, episode_id=result.episode_id)
        assert replayed.difference is None
    return result, trail(records), last


@pytest.mark.parametrize("name", ENDS)
async def test_however_the_loop_ends_what_the_users_tests_passed_is_the_answer(name: str) -> None:
    result, way, _ = await ended(name, hidden=None)
    assert (result.verdict, result.stop_reason, result.exit_code) == (Verdict.PASS, StopReason.VERIFIED, 0)
    assert result.best is not None and result.best.candidate.changes == {"answer.txt": b"right"}
    assert result.best.signal.origin is Origin.TESTS and "+right" in result.patch
    assert way[:2] == ["write", "test pass"]
    assert name.partition(",")[0].partition(" of")[0] in result.detail, "why the loop ended is said"
    assert "the model's own tests" in result.detail
    assert result.account.disagrees == ("0 of 2" if "own fail" in way else "")


@pytest.mark.parametrize("name", ENDS)
@pytest.mark.parametrize("config", [None, {"tags": ["node by node"]}])
async def test_hidden_tests_have_the_last_word_on_it_once(name: str, config: Any) -> None:
    result, way, last = await ended(name, hidden=["right"], config=config)
    assert (result.stop_reason, last.judged) == (StopReason.VERIFIED, ["right"]), way
    assert way[-1] == "hidden pass" and result.account.steering == 0
    assert "the model's own tests" in result.detail and "after that: " in result.detail
    if config is None:
        return
    result, way, last = await ended(name, hidden=["deep"])
    assert (result.stop_reason, last.judged, result.patch) == (StopReason.HIDDEN_FAILED, ["right"], "")


async def test_what_is_better_before_both_is_taken() -> None:
    actor = Guesser([["right"], ["wrong"], ["right deep"], ["right deep wide"], ["never"]])
    graph = code_repair(actor, None, Check(USERS), HiddenTests(), own_tests=own(), baseline=False)
    store = InMemoryStore()
    result = await graph.compile(store=store).arun(Task(id="t", tree=Tree({"answer.txt": b"nothing"})))
    assert (result.stop_reason, result.trials, result.account.disagrees) == (StopReason.VERIFIED, 4, "")
    assert "the model's own tests" not in result.detail
    assert trail(await store.records(result.episode_id)) == [
        "write", "test pass", "own fail", "refine", "write", "test fail", "refine",
        "write", "test pass", "own fail", "refine", "write", "test pass", "own pass",
    ]  # fmt: skip
    actor = Guesser([["right"], ["right deep"], ["right wide"], ["wrong"]])
    graph = code_repair(actor, None, Check(USERS), HiddenTests(), own_tests=own(), baseline=False)
    result = await graph.compile().arun(Task(id="t", tree=Tree({"answer.txt": b"nothing"})))
    assert result.best is not None and result.best.candidate.changes["answer.txt"] == b"right deep"
    assert (result.stop_reason, result.account.disagrees) == (StopReason.VERIFIED, "1 of 2")


async def test_time_that_runs_out_loses_nothing_either(task: Task) -> None:
    class Sleeps(Guesser):
        async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
            import asyncio

            proposed = await super().propose(context, n)
            if not proposed:
                await asyncio.Event().wait()
            return proposed

    graph = code_repair(Sleeps([["right"]]), None, Check(USERS), HiddenCheck(), own_tests=own(), baseline=False)
    app = graph.compile(budget=Budget(seconds=2.0))
    result = await app.arun(task)
    assert (result.stop_reason, result.exit_code) == (StopReason.VERIFIED, 0) and "budget_seconds" in result.detail
    late = code_repair(Sleeps([["right"]]), None, Check(USERS), HiddenCheck(), own_tests=own(), baseline=False)
    result = await late.compile(budget=Budget(seconds=2.0)).arun(replace(task, hidden=SECRET))
    assert (result.stop_reason, result.patch) == (StopReason.BUDGET_SECONDS, ""), "no time for the hidden tests"


async def test_what_a_stronger_tool_fails_does_not_stand(task: Task) -> None:
    graph = FeedbackGraph().add_actor("write", Guesser([["right"]])).add_edge("write", "test")
    graph.add_tool("test", Check(USERS)).add_tool("own", own()).add_tool("last", Check(("never",)))
    graph.confirm("test", by="own").refine("own", to="write").confirm("own", by="last")
    store = InMemoryStore()
    result = await graph.compile(store=store).arun(task)
    assert trail(await store.records(result.episode_id))[-1] == "last fail"
    assert (result.verdict, result.stop_reason) == (Verdict.FAIL, StopReason.EXHAUSTED)


def test_the_way_of_what_stands_is_part_of_the_proof() -> None:
    graph = code_repair(Guesser([]), Noter(), Check(), HiddenTests(), own_tests=own())
    assert graph.parts.hands_in() == dict.fromkeys(("own", "reflect", "write", "test"), "hidden")
    prove(graph.wiring())
    ways = {(edge.source, edge.target) for edge in graph.wiring().edges if not edge.gate}
    assert {("write", "hidden"), ("reflect", "hidden"), ("test", "hidden"), ("own", "hidden")} <= ways
    assert code_repair(Guesser([]), Noter(), Check(), HiddenTests()).parts.hands_in() == {}
    with pytest.raises(ConfigError, match="gives it up"):
        code_repair(Guesser([]), Noter(), Check(), HiddenTests(), own_tests=own(), select="last")
    routed = FeedbackGraph().add_actor("write", Guesser([])).add_tool("test", Check()).add_tool("own", own())
    routed.add_tool("last", Check()).confirm("test", by="own").confirm("own", by="last").refine("own", to="write")
    routed.add_conditional_edges("write", lambda _: "test", ["test"], role="pure")
    with pytest.raises(GraphError, match="write must be able to lead to last"):
        routed.compile()


# --- the whole of it: real pytest in a real sandbox, a scripted model

SQUARE, RIGHT, NINE = (f"def double(x):\n    return {body}\n" for body in ("x * x", "x * 2", "x + 9"))
TASK = Task(
    id="double",
    prompt="Make double(x) twice x.",
    tree=Tree({
        "mod.py": b"def double(x):\n    return x\n",
        "test_mod.py": b"from mod import double\n\n\ndef test_two():\n    assert double(2) == 4\n",
    }),
)  # fmt: skip
WRITTEN = "```python\nfrom mod import double\nassert double(3) == 6\n```"


@pytest.mark.parametrize(("second", "patch"), [(RIGHT, "+    return x * 2"), (NINE, "+    return x * x")])
async def test_the_models_own_tests_ask_for_another_try(second: str, patch: str) -> None:
    """Rows 23, 24 and 53 with an origin of their own: what is sent, which way it goes, and what it comes to."""

    def say(request: Request) -> str:
        if request.purpose == "write_tests":
            return WRITTEN
        return f"FILE: mod.py\n```\n{SQUARE if len(proposals(backend)) == 1 else second}```\n"

    backend, store = ScriptedBackend(say), InMemoryStore()
    graph = code_repair(
        LLMActor(backend, answer="whole"),
        RuleCritic(),
        Pytest(),
        HiddenTests(),
        own_tests=ModelTests(LLMCaseWriter(backend)),
    )
    app = graph.compile(store=store, budget=Budget(trials=2), rules=Rules(rejudge_fails=0, rejudge_passes=0))
    result = await app.arun(TASK)
    records = list(await store.records(result.episode_id))
    assert (result.stop_reason, result.verdict) == (StopReason.VERIFIED, Verdict.PASS)
    assert patch in result.patch
    end = ["test pass", "own pass"] if second == RIGHT else ["test fail", "refine refused: budget"]
    assert trail(records) == ["baseline fail", "refine", "write", "test pass", "own fail", "refine", "write", *end]
    (written,) = (r for r in backend.requests if r.purpose == "write_tests")
    assert "assert double(2) == 4" in written.messages[-1].content, "it sees the user's tests"
    told = proposals(backend)[1].messages[-1].content
    assert "test_written_by_model.py" in told and "assert 9 == 6" in told
    assert [r.kind for r in records if isinstance(r, Intent)].count("stands") >= 1
    disagrees = second != RIGHT
    assert bool(result.account.disagrees) is disagrees
    assert ("the model's own tests disagree" in result.detail) is disagrees
    replayed = await app.areplay(TASK, run_id=result.run_id, episode_id=result.episode_id)
    assert replayed.difference is None


def proposals(backend: ScriptedBackend) -> list[Request]:
    return [r for r in backend.requests if r.purpose.startswith("propose")]
