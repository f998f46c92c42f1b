"""fusion: a control. All drafts in one prompt, merged without a word of doubt.

    write = drafts ──► all of them in one prompt ──► one answer
    write ──► test ──pass──► (hidden) ──► end
      ▲         │
      └─────────┘ refine

Nothing outside the model steers what it writes; the check only counts.
"""

from __future__ import annotations

from groundwire.agents.width.controls._drafts import Fusion
from groundwire.core._contexts import Tool
from groundwire.graphs.build._feedback_graph import FeedbackGraph
from groundwire.graphs.library._card import GraphCard
from groundwire.graphs.library._wide import judged_outside

CARD = GraphCard(
    name="fusion",
    does="control: all drafts in one prompt, merged by a model that was not trained to",
    sources=("GSR's baseline (arXiv 2509.00084)",),
    origins=(),
    cost="trials × (drafts + 1)",
    use="as the baseline of parallel_refine",
    avoid="one right draft among wrong ones is to be found: 38.3 against GSR's 60.2 (AIME24, one of four right)",
    grounded=False,
)


def fusion(
    actor: Fusion, judge: Tool, *, hidden: Tool | None = None, width: int = 1, allow_ungrounded: bool = False
) -> FeedbackGraph:
    """The graph; `compile` refuses it unless `allow_ungrounded` is True.

    Args:
        actor: merges its drafts.
        judge: the check outside the model; it only decides whether there is a next trial.
        hidden: has the last word on what passed, once.
        width: candidates judged in one trial.
        allow_ungrounded: True says that you know it for a control; every report of it then says so.
    """
    return judged_outside("fusion", actor, judge, hidden=hidden, width=width, allow_ungrounded=allow_ungrounded)
