"""perturb_vote: the task in versions that change nothing, each solved and undone, and a vote.

    write = versions of the task ──► an answer to each ──► undone ──► vote
    write ──► test ──pass──► (hidden) ──► end
      ▲         │
      └─(reflect)◄─refine

What `write` does is a fixed number of calls, on one admission.
"""

from __future__ import annotations

from groundwire.agents.width._perturb_vote import PerturbVote
from groundwire.core._contexts import Critic, Tool
from groundwire.graphs.build._feedback_graph import FeedbackGraph
from groundwire.graphs.library._card import GraphCard
from groundwire.graphs.library._wide import ORIGINS, judged_outside

CARD = GraphCard(
    name="perturb_vote",
    does="the task in versions that change nothing, each solved, undone, and a vote",
    sources=("HRM (arXiv 2601.10679)",),
    origins=ORIGINS,
    cost="trials × (1 + versions)",
    use="the task has a symmetry: names of symbols, order of options",
    avoid="a version changes what is asked; nothing can tell but you",
)


def perturb_vote(
    actor: PerturbVote, judge: Tool, *, critic: Critic | None = None, hidden: Tool | None = None, width: int = 1
) -> FeedbackGraph:
    """The graph; `compile` it with a store, a budget and a sandbox.

    Args:
        actor: changes, solves, undoes and votes.
        judge: the check outside the model.
        critic: reflects on what failed; none by default.
        hidden: has the last word on what passed, once.
        width: of what the actor came to, how many are judged in a trial.
    """
    return judged_outside("perturb_vote", actor, judge, critic=critic, hidden=hidden, width=width)
