"""blind_resampling: a control. More samples of the same question, told of nothing.

    write ──► test ──pass──► (hidden) ──► end
      ▲         │
      └─────────┘ refine, of which it is told nothing

Nothing outside the model steers what it writes; the check only counts.
"""

from __future__ import annotations

from groundwire.agents.width.controls._drafts import BlindResampling
from groundwire.core._contexts import Tool
from groundwire.graphs.build._feedback_graph import FeedbackGraph
from groundwire.graphs.library._card import GraphCard
from groundwire.graphs.library._wide import judged_outside

CARD = GraphCard(
    name="blind_resampling",
    does="control: more samples of the same question, told of nothing",
    sources=("self-consistency without a vote (arXiv 2203.11171)",),
    origins=(),
    cost="trials × width",
    use="as the baseline at equal tokens for every loop here",
    avoid="a loop is to be used, and not measured",
    grounded=False,
)


def blind_resampling(
    actor: BlindResampling, judge: Tool, *, hidden: Tool | None = None, width: int = 1, allow_ungrounded: bool = False
) -> FeedbackGraph:
    """The graph; `compile` refuses it unless `allow_ungrounded` is True.

    Args:
        actor: samples blindly.
        judge: the check outside the model; it only decides whether there is a next trial.
        hidden: has the last word on what passed, once.
        width: candidates judged in one trial.
        allow_ungrounded: True says that you know it for a control; every report of it then says so.
    """
    return judged_outside(
        "blind_resampling", actor, judge, hidden=hidden, width=width, allow_ungrounded=allow_ungrounded
    )
