"""correction_memory: a person corrects once; the correction is remembered, word for word, for work of the same kind.

    write ──► (test) ──► person ──content──► end
      ▲                    │ correction
      └──── distil ◄─refine┘

Distil and retrieve corrections (DROC, arXiv 2311.10678). A person's word is an opinion: the graph names `human`, and
every report says so.
"""

from __future__ import annotations

from groundwire.agents.patching._llm_critic import Distiller
from groundwire.core._contexts import Actor, Critic, Tool
from groundwire.core._signals import Origin
from groundwire.graphs.build._feedback_graph import FeedbackGraph
from groundwire.graphs.library._card import GraphCard
from groundwire.tools._person import Ask, Person

CARD = GraphCard(
    name="correction_memory",
    does="a person corrects once; the correction comes back in work of the same kind",
    sources=("DROC (arXiv 2311.10678)",),
    origins=(Origin.HUMAN,),
    cost="trials × (1 proposal + 1 look by a person + 1 distillation where there is a correction)",
    use="what is wanted is a matter of taste or house rules that no test knows",
    avoid="a test can say it: a person is slower, dearer and can be wrong",
)


def correction_memory(
    actor: Actor, ask: Ask, *, distil: Critic | None = None, judge: Tool | None = None
) -> FeedbackGraph:
    """The graph; give it a store that lasts, and tasks of one kind the same `family`.

    Args:
        actor: proposes; it is told what memory recalls.
        ask: shows a person a candidate; their correction, or nothing where they are content.
        distil: what is remembered beside their words; default: their words (`Distiller("openai/…")` asks a model).
        judge: judges before the person is asked; its FAIL needs no person.
    """
    graph = FeedbackGraph(name="correction_memory", trust={Origin.HUMAN})
    graph.add_actor("write", actor)
    graph.add_tool("person", Person(ask))
    graph.add_critic("distil", distil or Distiller())
    if judge is None:
        graph.add_edge("write", "person")
    else:
        graph.add_tool("test", judge)
        graph.add_edge("write", "test")
        graph.refine("test", to="write")
        graph.confirm("test", by="person")
    graph.refine("person", via="distil", to="write")
    return graph
