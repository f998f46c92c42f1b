"""strategy_router: one, two or all strategies, by how well they did before.

    write = scores from the ledger ──sure──► one strategy
                                   ──close─► two, and whether they agree
                                   ──unsure► all, and a vote
    write ──► test ──pass──► (hidden) ──► end
      ▲         │
      └─(reflect)◄─refine

What `write` does is a fixed number of calls, on one admission.
"""

from __future__ import annotations

from groundwire.agents.width._strategy_router import StrategyRouter
from groundwire.core._contexts import Critic, Tool
from groundwire.graphs.build._feedback_graph import FeedbackGraph
from groundwire.graphs.library._card import GraphCard
from groundwire.graphs.library._wide import ORIGINS, judged_outside

CARD = GraphCard(
    name="strategy_router",
    does="one, two or all strategies are tried, by how well each did before",
    sources=("PRISM (arXiv 2509.24377)",),
    origins=ORIGINS,
    cost="trials × (1, 2 or all strategies)",
    use="several strategies exist, and each is best at some tasks",
    avoid="memory knows nothing yet: then all are tried, which is the price of learning",
)


def strategy_router(
    actor: StrategyRouter, judge: Tool, *, critic: Critic | None = None, hidden: Tool | None = None, width: int = 1
) -> FeedbackGraph:
    """The graph; `compile` it with a store, a budget and a sandbox.

    Args:
        actor: holds the strategies.
        judge: the check outside the model.
        critic: reflects on what failed; none by default.
        hidden: has the last word on what passed, once.
        width: of what the actor came to, how many are judged in a trial.
    """
    return judged_outside("strategy_router", actor, judge, critic=critic, hidden=hidden, width=width)
