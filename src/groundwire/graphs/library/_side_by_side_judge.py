"""side_by_side_judge: different answers, argued for one by one, judged together.

    write = drafts ──► an argument for each ──► judged together, shuffled ──► one answer
    write ──► test ──pass──► (hidden) ──► end
      ▲         │
      └─(reflect)◄─refine

What `write` does is a fixed number of calls, on one admission.
"""

from __future__ import annotations

from groundwire.agents.width._side_by_side import SideBySide
from groundwire.core._contexts import Critic, Tool
from groundwire.graphs.build._feedback_graph import FeedbackGraph
from groundwire.graphs.library._card import GraphCard
from groundwire.graphs.library._wide import ORIGINS, judged_outside

CARD = GraphCard(
    name="side_by_side_judge",
    does="different answers, argued for one by one and judged side by side",
    sources=("Think Twice Before Trusting (arXiv 2403.09972)",),
    origins=ORIGINS,
    cost="trials × (samples + different answers + 1); samples where they agree",
    use="no executable check says which answer is better before it is handed in",
    avoid="a check can be run on each: it knows, a judge guesses",
)


def side_by_side_judge(
    actor: SideBySide,
    judge: Tool,
    *,
    critic: Critic | None = None,
    hidden: Tool | None = None,
    width: int = 1,
    allow_ungrounded: bool = False,
) -> FeedbackGraph:
    """The graph; `compile` it with a store, a budget and a sandbox.

    Args:
        actor: samples, and has them judged. One that judges its own answers is a control, which `compile` refuses
            unless `allow_ungrounded` is True.
        judge: the check outside the model.
        critic: reflects on what failed; none by default.
        hidden: has the last word on what passed, once.
        width: of what the actor came to, how many are judged in a trial.
        allow_ungrounded: True says that you know it for a control; every report of it then says so.
    """
    return judged_outside(
        "side_by_side_judge",
        actor,
        judge,
        critic=critic,
        hidden=hidden,
        width=width,
        allow_ungrounded=allow_ungrounded,
    )
