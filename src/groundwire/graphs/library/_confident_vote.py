"""confident_vote: many samples, and what the most confident of them say.

    write = traces ──► their confidence ──► the weakest fall ──► weighted vote
    write ──► test ──pass──► (hidden) ──► end
      ▲         │
      └─(reflect)◄─refine

What `write` does is a fixed number of calls, on one admission.
"""

from __future__ import annotations

from groundwire.agents.width._confident_vote import ConfidentVote
from groundwire.core._contexts import Critic, Tool
from groundwire.graphs.build._feedback_graph import FeedbackGraph
from groundwire.graphs.library._card import GraphCard
from groundwire.graphs.library._wide import ORIGINS, judged_outside

CARD = GraphCard(
    name="confident_vote",
    does="many samples, and a vote: by number, by brevity, or by the confidence of their tokens",
    sources=(
        "DeepConf (arXiv 2508.15260)",
        "self-consistency (arXiv 2203.11171)",
        "shortest majority vote (arXiv 2502.12215)",
    ),
    origins=ORIGINS,
    cost="trials × samples at most; online it ends traces and sampling early",
    use="answers can be compared, and checking one is dear",
    avoid="no sample is right: a vote can't be either; a check is cheap: let it choose",
)


def confident_vote(
    actor: ConfidentVote, judge: Tool, *, critic: Critic | None = None, hidden: Tool | None = None, width: int = 1
) -> FeedbackGraph:
    """The graph; `compile` it with a store, a budget and a sandbox.

    Args:
        actor: samples and votes.
        judge: the check outside the model.
        critic: reflects on what failed; none by default.
        hidden: has the last word on what passed, once.
        width: of what the actor came to, how many are judged in a trial.
    """
    return judged_outside("confident_vote", actor, judge, critic=critic, hidden=hidden, width=width)
