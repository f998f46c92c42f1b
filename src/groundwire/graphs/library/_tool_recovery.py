"""tool_recovery: an agent with tools that goes back to the step whose call failed, and not to the beginning.

    act ──► sort ──call──► call ──ok (advance)──► act
                              └───error (refine)──► act, at that step
                 ──answer─► check ──pass──► end

The steps before a failing call stay as they are; it alone is named anew, with one line of the error in view (THOR,
arXiv 2509.13761). A call that failed is not made again (Fission-GRPO, arXiv 2601.15625, counts such repeats).
"""

from __future__ import annotations

from groundwire.core._contexts import Actor, Tool
from groundwire.core._signals import Origin
from groundwire.graphs.build._feedback_graph import FeedbackGraph
from groundwire.graphs.library._card import GraphCard
from groundwire.graphs.library._tool_steps import FAILURES, ToolState, add_steps
from groundwire.tools._functions import Toolbox
from groundwire.tools._tool_calls import OUTPUT_CHARS, ToolCalls

CARD = GraphCard(
    name="tool_recovery",
    does="a task and tools go in, an answer that a judge of yours passed comes out; failing calls are made anew",
    sources=("THOR (arXiv 2509.13761)", "Fission-GRPO (arXiv 2601.15625)"),
    origins=(Origin.EXECUTION, Origin.TOOL_ERROR, Origin.VERIFIER),
    cost="1 model call a step + 1 for each failure; at most 3 failures of one step in a row",
    use="calls fail for reasons that their error names: wrong arguments, missing records, limits",
    avoid="errors that say nothing: a small model does not repair better for being shown them (own code bugs, 135M"
    " model: 31 % without, 26 % with)",
)


def tool_recovery(
    actor: Actor,
    toolbox: Toolbox,
    check: Tool,
    *,
    failures: int = FAILURES,
    rejections: int = FAILURES,
    chars: int = OUTPUT_CHARS,
) -> FeedbackGraph:
    """The graph; `compile` it with a store and a budget.

    Args:
        actor: names the next step; `ToolActor(model, toolbox.specs)`.
        toolbox: functions, and tools of MCP servers.
        check: judges the answer; `AnswerCheck` makes one of a function.
        failures: calls of one step that may fail in a row; at the last the episode ends `tool_exhausted`.
        rejections: answers that may be rejected; at the last the episode ends `rejected`.
        chars: characters of a result that are kept.
    """
    graph = FeedbackGraph(ToolState, name="tool_recovery")
    calls = ToolCalls(toolbox, chars=chars)
    add_steps(graph, actor, calls, check, failures=failures, rejections=rejections)
    return graph.advance("call", to="act")
