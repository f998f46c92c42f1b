"""sets: a control. Samples that check and correct themselves, then a vote.

    write = samples ──► each checks and corrects itself ──► vote
    write ──► test ──pass──► (hidden) ──► end
      ▲         │
      └─────────┘ refine

Nothing outside the model steers what it writes; the check only counts.
"""

from __future__ import annotations

from groundwire.agents.width.controls._drafts import Sets
from groundwire.core._contexts import Tool
from groundwire.graphs.build._feedback_graph import FeedbackGraph
from groundwire.graphs.library._card import GraphCard
from groundwire.graphs.library._wide import judged_outside

CARD = GraphCard(
    name="sets",
    does="control: samples that check and correct themselves, then a vote",
    sources=("SETS (arXiv 2501.19306)",),
    origins=(),
    cost="trials × samples × (1 + 2 × rounds) at most",
    use="as the baseline of mixes of width and depth",
    avoid="a model's verdict on itself is to be trusted",
    grounded=False,
)


def sets(
    actor: Sets, judge: Tool, *, hidden: Tool | None = None, width: int = 1, allow_ungrounded: bool = False
) -> FeedbackGraph:
    """The graph; `compile` refuses it unless `allow_ungrounded` is True.

    Args:
        actor: checks and corrects its samples.
        judge: the check outside the model; it only decides whether there is a next trial.
        hidden: has the last word on what passed, once.
        width: candidates judged in one trial.
        allow_ungrounded: True says that you know it for a control; every report of it then says so.
    """
    return judged_outside("sets", actor, judge, hidden=hidden, width=width, allow_ungrounded=allow_ungrounded)
