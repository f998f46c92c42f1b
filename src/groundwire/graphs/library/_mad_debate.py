"""mad_debate: a control. One model on both sides of a debate, and as its moderator and judge.

    write = for ──► against ──► moderator ──undecided──► for ──► … ──► judge
    write ──► test ──pass──► (hidden) ──► end
      ▲         │
      └─────────┘ refine

Nothing outside the model steers what it writes; the check only counts.
"""

from __future__ import annotations

from groundwire.agents.width.controls._mad_debate import MadDebate
from groundwire.core._contexts import Tool
from groundwire.graphs.build._feedback_graph import FeedbackGraph
from groundwire.graphs.library._card import GraphCard
from groundwire.graphs.library._wide import judged_outside

CARD = GraphCard(
    name="mad_debate",
    does="control: one model argues with itself until its moderator or its judge decides",
    sources=("MAD (arXiv 2305.19118)",),
    origins=(),
    cost="trials × (3 × rounds + 1) at most, 3 at least",
    use="as the baseline of round_table, whose models differ",
    avoid="anywhere else: same-model debate is no signal, and degenerates into the first opinion",
    grounded=False,
)


def mad_debate(
    actor: MadDebate, judge: Tool, *, hidden: Tool | None = None, width: int = 1, allow_ungrounded: bool = False
) -> FeedbackGraph:
    """The graph; `compile` refuses it unless `allow_ungrounded` is True.

    Args:
        actor: debates with itself.
        judge: the check outside the model; it only decides whether there is a next trial.
        hidden: has the last word on what passed, once.
        width: candidates judged in one trial.
        allow_ungrounded: True says that you know it for a control; every report of it then says so.
    """
    return judged_outside("mad_debate", actor, judge, hidden=hidden, width=width, allow_ungrounded=allow_ungrounded)
