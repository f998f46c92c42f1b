"""parallel_refine: drafts side by side, a bounded workspace, drafts from there, and one of them to the check.

    write = drafts ×8 ──► workspace ≤ κ ──► drafts ×4 ──► workspace ──► 1 answer
    write ──► test ──pass──► (hidden) ──► end
      ▲         │
      └─(reflect)◄─refine

What `write` does is a fixed number of calls, on one admission.
"""

from __future__ import annotations

from groundwire.agents.width._parallel_refine import ParallelRefine
from groundwire.core._contexts import Critic, Tool
from groundwire.graphs.build._feedback_graph import FeedbackGraph
from groundwire.graphs.library._card import GraphCard
from groundwire.graphs.library._wide import ORIGINS, judged_outside

CARD = GraphCard(
    name="parallel_refine",
    does="drafts side by side, distilled into a bounded workspace, written anew from there, judged outside",
    sources=(
        "PDR (arXiv 2510.01123)",
        "GSR (arXiv 2509.00084)",
    ),
    origins=ORIGINS,
    cost="trials × (8 + 4 + 1 drafts + 2 summaries); GSR: 5 + 1",
    use="every draft may be wrong, and waiting time matters more than tokens",
    avoid="single answers are right in over 90 %: the vote is as good, and is taken; untrained models gain little",
)


def parallel_refine(
    actor: ParallelRefine, judge: Tool, *, critic: Critic | None = None, hidden: Tool | None = None, width: int = 1
) -> FeedbackGraph:
    """The graph; `compile` it with a store, a budget and a sandbox.

    Args:
        actor: drafts, distils and writes.
        judge: the check outside the model.
        critic: reflects on what failed; none by default.
        hidden: has the last word on what passed, once.
        width: of what the actor came to, how many are judged in a trial.
    """
    return judged_outside("parallel_refine", actor, judge, critic=critic, hidden=hidden, width=width)
