"""A graph of your own: typed state, a plain node, two checks in a row, and gates that only their word opens.

python examples/own_graph.py
"""

import ast
import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from groundwire import Candidate, EpisodeState, FeedbackGraph, Observation, Origin, Task, Tree, Verdict
from groundwire.core import Actor, ActorContext, CaseOutcome, CaseResult, Evidence, Tool, ToolContext

DRAFTS = ("def area(r): return 3.14 * r r", "def area(r): return 3.14 * r", "def area(r): return 3.14 * r * r")


# --- the graph: 18 lines


class Counted(EpisodeState):
    """The runtime's state, and how many drafts there were."""

    drafts: int = 0


def count(state: Counted) -> dict[str, int]:
    """A plain node: a function of the state that returns what changes."""
    return {"drafts": state.drafts + 1}


def careful(actor: Actor, parses: Tool, works: Tool) -> FeedbackGraph:
    """write → count → parses → works; what does not parse never gets as far as being run."""
    graph = FeedbackGraph(Counted, name="careful")
    graph.add_actor("write", actor).add_node("count", count, role="pure")
    graph.add_tool("parses", parses).add_tool("works", works)
    graph.add_edge("write", "count").add_edge("count", "parses")
    graph.confirm("parses", by="works")
    return graph.refine("parses", to="write").refine("works", to="write")


# --- what it is made of


class Writer:
    """Stands for a model: hands in one draft after the other."""

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        made = [Candidate(context.task.tree.digest, {"area.py": draft.encode()}) for draft in DRAFTS]
        return [c for c in made if c.digest not in context.tried][:n]


class Check:
    """Says of a draft what a function finds wrong with it; empty where that is nothing."""

    def __init__(self, wrong_with: Callable[[str], str]) -> None:
        self.wrong_with = wrong_with

    async def judge(self, candidate: Candidate, task: Task, context: ToolContext) -> Observation:
        name, wrong = self.wrong_with.__name__, self.wrong_with((candidate.changes["area.py"] or b"").decode())
        print(f"{name}: {wrong or 'fine'}")
        case = CaseOutcome(id=name, result=CaseResult.FAILED if wrong else CaseResult.PASSED, message=wrong)
        verdict = Verdict.FAIL if wrong else Verdict.PASS
        return Observation(verdict=verdict, origin=Origin.VERIFIER, evidence=Evidence(cases=(case,)))


def parses(draft: str) -> str:
    """Whether it is Python at all."""
    try:
        ast.parse(draft)
    except SyntaxError as error:
        return error.msg
    return ""


def works(draft: str) -> str:
    """Whether it computes an area. A model's code is run in a sandbox, by groundwire.tools; these drafts are ours."""
    names: dict[str, Any] = {}
    exec(draft, names)
    got = names["area"](2)
    return "" if got == 12.56 else f"area(2) is {got}"


async def main() -> None:
    """Runs the compiled LangGraph graph itself, to see the state it ends in."""
    app = careful(Writer(), Check(parses), Check(works)).compile()
    async with app.episode(Task(id="area", tree=Tree({"area.py": b""}))) as episode:
        state = await app.langgraph.ainvoke(app.input(episode), context=episode)
    print(state["drafts"], "drafts,", state["stop_reason"])


if __name__ == "__main__":
    asyncio.run(main())
