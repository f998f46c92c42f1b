"""preflight: no call that can't be undone is made before somebody other than the actor has looked at it.

    act ──► sort ──irreversible──► review ──go on──► call ──ok (advance)──► act
                 ──call──────────────────────────────►         └──error (refine)──► act
                                   review ──veto (refine)──► act, with the suggestion
                                   review ──in doubt──► person ──go on──► call, or ──veto──► act
                 ──answer──► check ──pass──► end

The reviewer is a rule or another model (GUI-Critic-R1, arXiv 2506.04614). What it approves has not passed: `check` has
the last word.
"""

from __future__ import annotations

from groundwire.core._contexts import Actor, Tool
from groundwire.core._errors import ConfigError
from groundwire.core._records import StopReason
from groundwire.core._signals import Origin
from groundwire.core._toolcalls import Reviewer
from groundwire.graphs.build._feedback_graph import FeedbackGraph
from groundwire.graphs.library._card import GraphCard
from groundwire.graphs.library._tool_steps import FAILURES, ToolState, add_steps
from groundwire.graphs.run._nodes import AskPerson
from groundwire.tools._functions import Toolbox
from groundwire.tools._tool_calls import OUTPUT_CHARS, Preflight, ToolCalls

CARD = GraphCard(
    name="preflight",
    does="an agent with tools in, its answer out; what can't be undone is looked at by another before it is done",
    sources=("GUI-Critic-R1 (arXiv 2506.04614)",),
    origins=(Origin.VERIFIER, Origin.OTHER_MODEL, Origin.HUMAN, Origin.EXECUTION, Origin.TOOL_ERROR),
    cost="1 model call a step, and 1 review for each call that can't be undone (none where a rule reviews)",
    use="some tools pay, delete, send or merge",
    avoid="every tool can be undone: the review is skipped, so `tool_recovery` is the same graph; a model as reviewer"
    " errs too, so a rule is better wherever one can be written",
)


def preflight(
    actor: Actor,
    toolbox: Toolbox,
    check: Tool,
    reviewer: Reviewer,
    *,
    person: bool = False,
    failures: int = FAILURES,
    rejections: int = FAILURES,
    chars: int = OUTPUT_CHARS,
) -> FeedbackGraph:
    """The graph; `compile` it with a store and a budget, and with a checkpointer where a person is asked.

    Args:
        actor: names the next step.
        toolbox: functions, and tools of MCP servers, some of them `irreversible`.
        check: judges the answer.
        reviewer: `RuleReviewer`, or `ModelReviewer` with another model than the actor's.
        person: True to ask a person where the reviewer is in doubt; else the episode ends there, and nothing is done.
        failures: calls of one step that may fail, and vetoes that may fall, in a row.
        rejections: answers that may be rejected.
        chars: characters of a result that are kept.

    Raises:
        ConfigError: the reviewer is the actor's own model.
    """
    model = _model_of(reviewer)
    if model is not None and model == _model_of(actor):
        raise ConfigError(
            f"The reviewer is the actor's own model, {model}: it would approve of its own text.",
            do="Give another model, or write the policy as a RuleReviewer.",
        )
    trust = [*([Origin.OTHER_MODEL] if model is not None else []), *([Origin.HUMAN] if person else [])]
    graph = FeedbackGraph(ToolState, name="preflight", trust=trust)
    calls = ToolCalls(toolbox, chars=chars)
    add_steps(graph, actor, calls, check, failures=failures, rejections=rejections, irreversible="review")
    graph.add_tool("review", Preflight(reviewer))
    graph.refine("review", to="act", failures=failures, stop=StopReason.REJECTED)
    graph.confirm("review", by="call")
    if person:
        graph.add_tool("person", AskPerson())
        graph.refer("review", to="person")
        graph.refine("person", to="act", failures=failures, stop=StopReason.REJECTED)
        graph.confirm("person", by="call")
    return graph.advance("call", to="act")


def _model_of(holder: object) -> str | None:
    """The model that an actor or reviewer asks; None where it asks none."""
    backend = getattr(holder, "backend", None)
    return getattr(backend, "model", None)
