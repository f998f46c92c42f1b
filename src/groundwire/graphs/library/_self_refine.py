"""self_refine: a control. The model criticises and rewrites its own answer; the check only counts.

    write = draft ──► its own criticism ──► rewritten ──► …
    write ──► test ──pass──► (hidden) ──► end
      ▲         │
      └─────────┘ refine

Nothing outside the model steers what it writes; the check only counts.
"""

from __future__ import annotations

from groundwire.agents.width.controls._self_refine import SelfRefine
from groundwire.core._contexts import Tool
from groundwire.graphs.build._feedback_graph import FeedbackGraph
from groundwire.graphs.library._card import GraphCard
from groundwire.graphs.library._wide import judged_outside

CARD = GraphCard(
    name="self_refine",
    does="control: a model criticises and rewrites its own answer, and no signal asks it to",
    sources=("Self-Refine (arXiv 2303.17651)",),
    origins=(),
    cost="trials × (1 + 2 × rounds)",
    use="as the baseline that a loop with a signal has to beat",
    avoid="anywhere else: models confirm their first answer or turn right ones wrong (arXiv 2310.01798)",
    grounded=False,
)


def self_refine(
    actor: SelfRefine, judge: Tool, *, hidden: Tool | None = None, width: int = 1, allow_ungrounded: bool = False
) -> FeedbackGraph:
    """The graph; `compile` refuses it unless `allow_ungrounded` is True.

    Args:
        actor: criticises itself.
        judge: the check outside the model; it only decides whether there is a next trial.
        hidden: has the last word on what passed, once.
        width: candidates judged in one trial.
        allow_ungrounded: True says that you know it for a control; every report of it then says so.
    """
    return judged_outside("self_refine", actor, judge, hidden=hidden, width=width, allow_ungrounded=allow_ungrounded)
