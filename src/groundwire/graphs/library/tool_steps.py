"""What the graphs of tool-using actors share: the actor, the node that sorts its steps, the calls, and the judge.

    act ──► sort ──call──► call ──error (refine)──► act
                 ──answer─► check ──fail (refine)──► act

Where a call that went well leads is each graph's own: straight back (`advance`), or past another tool first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from langgraph.runtime import Runtime

from groundwire.core.contexts import Actor, Judged, Tool
from groundwire.core.records import StopReason
from groundwire.core.toolcalls import Answer, Call, Offers, Steps, anything, seen_calls
from groundwire.graphs.build.feedback_graph import FeedbackGraph
from groundwire.graphs.run.episode import Episode
from groundwire.graphs.run.state import EpisodeState
from groundwire.tools.tool_calls import ToolCalls

__all__ = ["FAILURES", "StepSorter", "ToolState", "add_steps"]

FAILURES = 3
"""Failures of one step, one after the other, before the episode ends (THOR, arXiv 2509.13761)."""


class ToolState(EpisodeState):
    """The state of an actor that uses tools."""

    kind: str = ""
    """The last step: `call`, `irreversible` or `answer`."""
    calls: int = 0
    """Calls in the sequence, the last one included."""


@dataclass(frozen=True)
class StepSorter:
    """Says what the actor's last step is; a plain node. An answer that is not on offer is sorted with the calls, which
    refuse it: nothing but an offer leads to the judge.

    Args:
        calls: the tool that makes the calls, which knows its toolbox.
        offers: what may be done next.
    """

    calls: ToolCalls
    offers: Offers = anything

    def __call__(self, state: ToolState, runtime: Runtime[Episode]) -> Mapping[str, object]:
        """One superstep."""
        history = runtime.context.history
        steps = Steps.of(history.candidates[state.candidate])
        return {"kind": self._kind(steps, history.judged_until(state.trial)), "calls": len(steps.calls)}

    def _kind(self, steps: Steps, past: Sequence[Judged]) -> str:
        last = steps.last
        if isinstance(last, Answer):
            return "answer" if self.offers(seen_calls(steps, past)).answer else "call"
        undoable = isinstance(last, Call) and self.calls.toolbox.is_irreversible(last.tool)
        return "irreversible" if undoable else "call"


def add_steps(
    graph: FeedbackGraph,
    actor: Actor,
    calls: ToolCalls,
    check: Tool,
    *,
    offers: Offers = anything,
    failures: int = FAILURES,
    rejections: int = FAILURES,
    irreversible: str = "call",
) -> FeedbackGraph:
    """Adds the nodes `act`, `sort`, `call` and `check` with the edges between them, but for what follows a good call.

    Args:
        graph: its state is a `ToolState`.
        actor: names the next step.
        calls: makes the calls.
        check: judges the answer.
        offers: what may be done next; the actor's own.
        failures: calls of one step that may fail one after the other; at the last the episode ends `tool_exhausted`.
        rejections: answers that may be rejected; at the last the episode ends `rejected`.
        irreversible: the node to which calls go that can't be undone.
    """
    graph.add_actor("act", actor)
    graph.add_node("sort", StepSorter(calls, offers), role="pure")
    graph.add_tool("call", calls)
    graph.add_tool("check", check)
    graph.add_edge("act", "sort")
    ways = {"call": "call", "irreversible": irreversible, "answer": "check"}
    graph.add_conditional_edges("sort", by_kind, ways, role="pure")
    graph.refine("call", to="act", failures=failures, stop=StopReason.TOOL_EXHAUSTED)
    graph.refine("check", to="act", failures=rejections, stop=StopReason.REJECTED)
    return graph


def by_kind(state: ToolState) -> str:
    """Where a step leads, by its kind."""
    return state.kind
