"""round_table: different models answer, hear each other's reasons, answer again, and vote.

    write = A ∥ B ∥ C ──differ──► each hears the others ──► A ∥ B ∥ C ──► weighted vote
    write ──► test ──pass──► (hidden) ──► end
      ▲         │
      └─(reflect)◄─refine

What `write` does is a fixed number of calls, on one admission.
"""

from __future__ import annotations

from groundwire.agents.width._round_table import RoundTable
from groundwire.core._contexts import Critic, Tool
from groundwire.graphs.build._feedback_graph import FeedbackGraph
from groundwire.graphs.library._card import GraphCard
from groundwire.graphs.library._wide import ORIGINS, judged_outside

CARD = GraphCard(
    name="round_table",
    does="different models answer, hear each other's reasons, answer again, and vote",
    sources=("ReConcile (arXiv 2309.13007)",),
    origins=ORIGINS,
    cost="trials × models × (1 + rounds) at most; 1 round where they agree",
    use="models that differ are at hand, and no check is cheap",
    avoid="one model in several seats: it raises its confidence in wrong answers; refused",
)


def round_table(
    actor: RoundTable,
    judge: Tool,
    *,
    critic: Critic | None = None,
    hidden: Tool | None = None,
    width: int = 1,
    allow_ungrounded: bool = False,
) -> FeedbackGraph:
    """The graph; `compile` it with a store, a budget and a sandbox.

    Args:
        actor: seats different models. One model in several seats is a control, which `compile` refuses unless
            `allow_ungrounded` is True.
        judge: the check outside the model.
        critic: reflects on what failed; none by default.
        hidden: has the last word on what passed, once.
        width: of what the actor came to, how many are judged in a trial.
        allow_ungrounded: lets in a control, see `FeedbackGraph`.
    """
    return judged_outside(
        "round_table", actor, judge, critic=critic, hidden=hidden, width=width, allow_ungrounded=allow_ungrounded
    )
