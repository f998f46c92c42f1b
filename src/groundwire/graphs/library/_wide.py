"""The one shape of every graph whose width is inside its actor: it proposes, a check outside judges, a FAIL lets it in
again.

    write ──► test ──pass──► (hidden) ──► end
      ▲         │
      └─(reflect)◄─refine
"""

from __future__ import annotations

from groundwire.core._contexts import Actor, Critic, Tool
from groundwire.core._signals import Origin
from groundwire.graphs.build._feedback_graph import FeedbackGraph

ORIGINS = (Origin.TESTS, Origin.EXECUTION, Origin.VERIFIER, Origin.HIDDEN_TESTS)
"""Any of these may judge what went wide."""


def judged_outside(
    name: str,
    actor: Actor,
    judge: Tool,
    *,
    critic: Critic | None = None,
    hidden: Tool | None = None,
    width: int = 1,
    allow_ungrounded: bool = False,
) -> FeedbackGraph:
    """The graph; `compile` it with a store, a budget and a sandbox.

    Args:
        name: for reports.
        actor: goes wide inside one proposal.
        judge: the check outside the model.
        critic: reflects on what failed; none by default.
        hidden: has the last word on what passed, once.
        width: of what the actor came to, how many are judged in a trial; the best comes first.
        allow_ungrounded: lets in a control, see `FeedbackGraph`.
    """
    graph = FeedbackGraph(name=name, allow_ungrounded=allow_ungrounded)
    graph.add_actor("write", actor, width=width)
    graph.add_tool("test", judge)
    graph.add_edge("write", "test")
    if critic is not None:
        graph.add_critic("reflect", critic)
    graph.refine("test", via=None if critic is None else "reflect", to="write")
    if hidden is not None:
        graph.add_tool("hidden", hidden)
        graph.confirm("test", by="hidden")
    return graph
