"""code_repair: a failing project goes in, a verified patch comes out.

    baseline ──refine──► write ──► test ──pass──► hidden ──► end
                           ▲         │
                           └─ reflect ◄─refine

The baseline is judged first; visible tests steer; hidden tests judge once, at the end. The best verified candidate is
kept, test by test (Reflexion, arXiv 2303.11366, with the check outside the model and the memory in SQL).
"""

from __future__ import annotations

from groundwire.contexts import Actor, Critic, Tool
from groundwire.graphs.feedback_graph import FeedbackGraph

__all__ = ["code_repair"]


def code_repair(actor: Actor, critic: Critic, judge: Tool, hidden: Tool, *, width: int = 1) -> FeedbackGraph:
    """The graph; `compile` it with a store, a budget and a sandbox.

    Args:
        actor: proposes patches.
        critic: reflects on what failed.
        judge: runs the visible tests.
        hidden: runs the hidden tests; asked only after the visible ones pass, and only where the task has any.
        width: candidates judged in one trial.
    """
    graph = FeedbackGraph(name="code_repair")
    graph.add_tool("baseline", judge)
    graph.add_actor("write", actor, width=width)
    graph.add_tool("test", judge)
    graph.add_critic("reflect", critic)
    graph.add_tool("hidden", hidden)
    graph.set_entry("baseline")
    graph.refine("baseline", to="write")
    graph.add_edge("write", "test")
    graph.refine("test", via="reflect", to="write")
    graph.confirm("test", by="hidden")
    return graph
