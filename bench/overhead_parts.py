"""The loops that `bench_overhead.py` times: bare LangGraph's, and ours with the same number of attempts."""

from __future__ import annotations

import operator
from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any, TypedDict

from langgraph.graph import END, START, StateGraph

from groundwire import FeedbackGraph, Observation, Origin, Task, Verdict
from groundwire.core import (
    ActorContext,
    ActorTraits,
    Candidate,
    CaseOutcome,
    CaseResult,
    CriticContext,
    CriticTraits,
    Evidence,
    Message,
    NoVerdict,
    Reflection,
    Request,
    ToolContext,
    ToolTraits,
    Tree,
)
from groundwire.models import ScriptedBackend

__all__ = ["ANSWER", "TASK", "TRIALS", "Paid", "bare", "bare_steps", "ours", "walk"]

TRIALS = 3
ANSWER = "answer.py"
TASK = Task(id="overhead", tree=Tree({ANSWER: b"def f(): return 0\n"}), prompt="Return 1.")
ASKED = Request(messages=(Message(role="user", content="Return 1."),))
STEP_BYTES = 1000


class Flat(TypedDict):
    """State of the bare loop."""

    trial: int
    code: str
    ok: bool
    note: str
    memory: Annotated[list[str], operator.add]


class Count(TypedDict):
    """State of the bare long episode."""

    left: int
    note: str


def bare() -> Callable[[], Awaitable[Any]]:
    """Act, verify, reflect, remember: ten supersteps for three attempts, without a checkpointer."""

    async def model(_prompt: str) -> str:
        return "def f(): return 1"

    async def act(state: Flat) -> dict[str, Any]:
        return {"code": await model("\n".join(state["memory"])), "trial": state["trial"] + 1}

    async def verify(state: Flat) -> dict[str, Any]:
        return {"ok": state["trial"] >= TRIALS}

    async def reflect(_state: Flat) -> dict[str, Any]:
        return {"note": await model("reflect")}

    async def memory(state: Flat) -> dict[str, Any]:
        return {"memory": [state["note"]]}

    def after(state: Flat) -> str:
        return END if state["ok"] else "reflect"

    graph: Any = StateGraph(Flat)
    for node in (act, verify, reflect, memory):
        graph.add_node(node.__name__, node)
    graph.add_edge(START, "act")
    graph.add_edge("act", "verify")
    graph.add_conditional_edges("verify", after, ["reflect", END])
    graph.add_edge("reflect", "memory")
    graph.add_edge("memory", "act")
    app = graph.compile()

    async def episode() -> None:
        ended = await app.ainvoke({"trial": 0, "code": "", "ok": False, "note": "", "memory": []})
        assert ended["trial"] == TRIALS

    return episode


def bare_steps(checkpointer: Any = None) -> Any:
    """A bare loop of one node that takes as many steps as it is told."""

    def step(state: Count) -> dict[str, Any]:
        return {"left": state["left"] - 1, "note": f"{state['left']:0{STEP_BYTES}d}"}

    def after(state: Count) -> str:
        return "step" if state["left"] else END

    graph: Any = StateGraph(Count)
    graph.add_node("step", step)
    graph.add_edge(START, "step")
    graph.add_conditional_edges("step", after, ["step", END])
    return graph.compile(checkpointer=checkpointer)


class Paid(ScriptedBackend):
    """Costs something, so that each call waits until the ledger has its intent."""

    def price(self, request: Request) -> float | None:
        """A thousandth of a dollar."""
        return 0.001


class Writer:
    """Asks a model that answers at once, and proposes what no trial had. It declares what `LLMActor` does."""

    traits = ActorTraits(calls_only=True)

    def __init__(self, kind: type[ScriptedBackend]) -> None:
        self._backend = kind(lambda _request: "def f(): return 1")

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        """One candidate."""
        said = (await context.call(self._backend, ASKED)).texts[0]
        return [Candidate(context.task.tree.digest, {ANSWER: f"{said}  # {context.trial}\n".encode()})]


class Critic:
    """Asks the same model what went wrong. It declares what `LLMCritic` does."""

    traits = CriticTraits(calls_only=True)

    def __init__(self, kind: type[ScriptedBackend]) -> None:
        self._backend = kind(lambda _request: "It must return 1.")

    async def reflect(self, context: CriticContext) -> Reflection:
        """What it says."""
        return Reflection((await context.call(self._backend, ASKED)).texts[0], by="critic")


class Verifier:
    """In this process: the third attempt passes. It has no effect in the world, and declares it."""

    traits = ToolTraits(calls_only=True)

    async def judge(self, candidate: Candidate, task: Task, context: ToolContext) -> Observation:
        """A verdict with one case."""
        right = f"# {TRIALS}\n".encode() in (candidate.changes.get(ANSWER) or b"")
        case = CaseOutcome(id="returns one", result=CaseResult.PASSED if right else CaseResult.FAILED)
        verdict = Verdict.PASS if right else Verdict.FAIL
        return Observation(verdict=verdict, origin=Origin.VERIFIER, evidence=Evidence(cases=(case,)))


def ours(kind: type[ScriptedBackend] = ScriptedBackend) -> FeedbackGraph:
    """Write, test, reflect, with gates; three attempts."""
    graph = FeedbackGraph(name="overhead")
    graph.add_actor("write", Writer(kind))
    graph.add_tool("test", Verifier())
    graph.add_critic("reflect", Critic(kind))
    graph.add_edge("write", "test")
    return graph.refine("test", via="reflect", to="write")


class Mover:
    """Appends a move, without a model."""

    traits = ActorTraits(calls_only=True)

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        """All moves so far and one more."""
        before = context.failing.candidate.changes.get(ANSWER) if context.failing else None
        return [Candidate(context.task.tree.digest, {ANSWER: (before or b"") + b"."})]


class Field:
    """An environment that says "go on" until enough moves are made."""

    traits = ToolTraits(calls_only=True)

    def __init__(self, steps: int) -> None:
        self._steps = steps

    async def judge(self, candidate: Candidate, task: Task, context: ToolContext) -> Observation:
        """What the move led to, 1 KB."""
        made = len(candidate.changes.get(ANSWER) or b"")
        seen = Evidence(stdout=f"{made:0{STEP_BYTES}d}")
        if made >= self._steps:
            return Observation(verdict=Verdict.PASS, origin=Origin.ENVIRONMENT, evidence=seen)
        return Observation(verdict=Verdict.NONE, origin=Origin.ENVIRONMENT, reason=NoVerdict.GO_ON, evidence=seen)


def walk(steps: int) -> FeedbackGraph:
    """Move, look, move on: `advance` opens on each fresh "go on"."""
    graph = FeedbackGraph(name="walk")
    graph.add_actor("move", Mover())
    graph.add_tool("look", Field(steps))
    graph.add_edge("move", "look")
    return graph.advance("look", to="move")
