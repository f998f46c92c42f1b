"""refined_best_of_n: best of n, with what can be mended mended before the check chooses.

    write = n drafts ──► first bad step, by another judge ──► cut, corrected, gone on with
    write ──► test ──pass──► (hidden) ──► end
      ▲         │
      └─(reflect)◄─refine

What `write` does is a fixed number of calls, on one admission.
"""

from __future__ import annotations

from groundwire.agents.width._refined_best_of_n import RefinedBestOfN
from groundwire.core._contexts import Critic, Tool
from groundwire.graphs.build._feedback_graph import FeedbackGraph
from groundwire.graphs.library._card import GraphCard
from groundwire.graphs.library._wide import ORIGINS, judged_outside

CARD = GraphCard(
    name="refined_best_of_n",
    does="samples, and a continuation of each from its first bad step, corrected; the check chooses",
    sources=(
        "GM-PRM, Refined-BoN (arXiv 2508.04088)",
        "best of n",
    ),
    origins=ORIGINS,
    cost="trials × (2 × samples + a continuation for each bad step)",
    use="a cheap check exists, and answers have steps",
    avoid="the judge of steps is the author: refused, it agrees with itself; no check: then nothing chooses",
)


def refined_best_of_n(
    actor: RefinedBestOfN, judge: Tool, *, critic: Critic | None = None, hidden: Tool | None = None, width: int = 1
) -> FeedbackGraph:
    """The graph; `compile` it with a store, a budget and a sandbox.

    Args:
        actor: samples, and goes on from corrected steps.
        judge: the check outside the model.
        critic: reflects on what failed; none by default.
        hidden: has the last word on what passed, once.
        width: of what the actor came to, how many are judged in a trial.
    """
    return judged_outside("refined_best_of_n", actor, judge, critic=critic, hidden=hidden, width=width)
