"""Control arms: the same graph with its critics taken out and its actors blinded.

Where reflection is in question, on the budget that might have been used; where memory is, with as many trials.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from groundwire.agents.patching._variants import BlindActor
from groundwire.core._errors import GraphError
from groundwire.core._records import Intent, ModelCall, Record, TrialRecord
from groundwire.core._signals import Origin, Signal
from groundwire.graphs.build._declarations import Rules
from groundwire.graphs.build._feedback_graph import FeedbackGraph
from groundwire.graphs.run._budget import Budget

ROUNDS = 64
"""Renewed draws of one trial where a model only draws what it drew before; the budget ends them as a rule."""
CONTROL_RULES = Rules(repeats=None, escalations=ROUNDS)
MANY_TRIALS = 10_000


@dataclass(frozen=True)
class EpisodeUsage:
    """What one episode used, and its control may use.

    Args:
        tokens: prompt and completion tokens of answered calls.
        first_call: the most tokens that its first proposing call could have used; 0: it asked no model.
        candidates: candidates that were judged, the baseline not counted.
    """

    tokens: int = 0
    first_call: int = 0
    candidates: int = 0

    @property
    def by_model(self) -> bool:
        """True if a model was asked, so that tokens are the price."""
        return self.first_call > 0


def spent_by(records: Sequence[Record]) -> EpisodeUsage:
    """What an episode used, by its ledger."""
    proposing = {r.intent_id for r in records if isinstance(r, ModelCall) and r.purpose == "propose"}
    reserved = [r.tokens for r in records if isinstance(r, Intent) and r.id in proposing]
    judged = {
        r.candidate_digest
        for r in records
        if isinstance(r, Signal) and r.trial > 0 and r.origin not in (Origin.HIDDEN_TESTS, Origin.RULE)
    }
    return EpisodeUsage(
        tokens=sum(r.prompt_tokens + r.completion_tokens for r in records if isinstance(r, ModelCall)),
        first_call=reserved[0] if reserved else 0,
        candidates=len(judged),
    )


def allowance_of(records: Sequence[Record], budget: Budget) -> EpisodeUsage:
    """What an episode might have used, by what its tries cost it: what its control may use.

    An episode that succeeds stops, so what it used is less than what it might have used, and a control held to that
    would be stopped wherever the other arm succeeds. So the tries that were left are reckoned at what the others cost.

    Args:
        records: the episode's.
        budget: what it was given.
    """
    spent = spent_by(records)
    tries = len({r.trial for r in records if isinstance(r, TrialRecord) and r.trial > 0})
    times = max(budget.trials / tries, 1.0) if tries else 1.0
    tokens = math.ceil(spent.tokens * times)
    return replace(
        spent,
        tokens=tokens if budget.tokens is None else max(spent.tokens, min(tokens, budget.tokens)),
        candidates=math.ceil(spent.candidates * times),
    )


def control_budget(budget: Budget, spent: EpisodeUsage) -> Budget:
    """The same budget, but for what the control is held to instead of trials.

    Tokens: a try begins while fewer have been used than the other arm might use; so both may use as many to within one
    try, which the control may go over. A budget that held the control under them would favour the other arm.

    Args:
        budget: of the arm that it is the control of.
        spent: what the episode might have used there (`allowance_of`).
    """
    tokens = spent.tokens + max(spent.first_call - 1, 0) if spent.by_model else None
    return budget.model_copy(update={"trials": MANY_TRIALS, "tokens": tokens})


def resampling_of(graph: FeedbackGraph, spent: EpisodeUsage) -> FeedbackGraph:
    """The blind control of a graph: the same actors, tools and edges, and nothing that tells an actor what came of it.

    Args:
        graph: any graph of actors, critics and tools. It stays as it is.
        spent: what the episode might have used that this is the control of.

    Raises:
        GraphError: it has plain nodes, routers or graphs as nodes, which may carry feedback past the blindfold, or a
            critic that an edge leads to.
    """
    limit = None if spent.by_model else spent.candidates
    return _blinded(graph, "resampling", samples=spent.by_model, limit=limit)


def without_memory_of(graph: FeedbackGraph, *, by_model: bool) -> FeedbackGraph:
    """A graph whose actors see what the world answers within a trial, and nothing of any trial before it.

    Args:
        graph: of actors, critics and tools. It stays as it is.
        by_model: True if its actors ask a model.

    Raises:
        GraphError: as `resampling_of`.
    """
    return _blinded(graph, "without_memory", samples=by_model, limit=None)


def _blinded(graph: FeedbackGraph, kind: str, *, samples: bool, limit: int | None) -> FeedbackGraph:
    parts = graph.parts
    edges = {name for edge in parts.edges for name in edge}
    if parts.plain or parts.graphs or parts.routers or parts.joins or edges & parts.critics.keys():
        raise GraphError(
            f"The graph {graph.name} has nodes of its own between its actors and tools, so its blind control can't be"
            " made.",
            do="Run it without --control, or wire it of actors, critics and tools alone.",
        )
    control = FeedbackGraph(
        graph.state, name=f"{graph.name}_{kind}", trust=graph.trust, allow_ungrounded=graph.allow_ungrounded
    )
    actors = {
        name: replace(part, actor=BlindActor(part.actor, samples=samples, width=part.width, candidates=limit))
        for name, part in parts.actors.items()
    }
    # what an environment answers is what its actor acts on, and stays; what a critic says of it does not
    gates = {gate: (None, to) for gate, (_, to) in parts.gates.items()}
    control.parts = replace(parts, actors=actors, critics={}, gates=gates)
    return control
