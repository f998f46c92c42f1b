"""ssr: a control. The step that re-solving agrees with least is redone.

    write = steps ──► each solved again ──► the one agreed with least ──► redone from there
    write ──► test ──pass──► (hidden) ──► end
      ▲         │
      └─────────┘ refine

Nothing outside the model steers what it writes; the check only counts.
"""

from __future__ import annotations

from groundwire.agents.width.controls._ssr import SocraticRefine
from groundwire.core._contexts import Tool
from groundwire.graphs.build._feedback_graph import FeedbackGraph
from groundwire.graphs.library._card import GraphCard
from groundwire.graphs.library._wide import judged_outside

CARD = GraphCard(
    name="ssr",
    does="control: the step that solving it again agrees with least is redone",
    sources=("SSR (arXiv 2511.10621)",),
    origins=(),
    cost="trials × (1 + rounds × (2 + steps × solves))",
    use="as the baseline of verifiers that look at steps",
    avoid="errors are coherent: agreement with oneself passes them",
    grounded=False,
)


def ssr(
    actor: SocraticRefine, judge: Tool, *, hidden: Tool | None = None, width: int = 1, allow_ungrounded: bool = False
) -> FeedbackGraph:
    """The graph; `compile` refuses it unless `allow_ungrounded` is True.

    Args:
        actor: redoes its weakest step.
        judge: the check outside the model; it only decides whether there is a next trial.
        hidden: has the last word on what passed, once.
        width: candidates judged in one trial.
        allow_ungrounded: True says that you know it for a control; every report of it then says so.
    """
    return judged_outside("ssr", actor, judge, hidden=hidden, width=width, allow_ungrounded=allow_ungrounded)
