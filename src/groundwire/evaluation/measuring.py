"""All metrics of one arm, and the same as plain data."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from typing import Any, cast

import numpy as np

from groundwire.evaluation.confidence import Calibration, calibration
from groundwire.evaluation.correction import Correction, correction
from groundwire.evaluation.cost import Cost, cost
from groundwire.evaluation.drift import Drift, drift
from groundwire.evaluation.horizon import Horizon, horizon
from groundwire.evaluation.memory_effect import MemoryEffect, memory_effect
from groundwire.evaluation.outcome import Attempts, Outcome, attempts, outcome
from groundwire.evaluation.predictor import FOLDS, LEAST, Attempt, HistoryPredictor
from groundwire.evaluation.process import Process, process
from groundwire.evaluation.provenance import Provenance, provenance
from groundwire.evaluation.rows import NONE, PASS
from groundwire.evaluation.signal_quality import Confusion, confusion, confusion_by_origin
from groundwire.evaluation.trials import Trials
from groundwire.evaluation.uptake import Uptake, uptake
from groundwire.evaluation.width import Diversity, Width, diversity, width

__all__ = ["Measured", "as_data", "history_calibration", "measure"]

HISTORY = 3_000
"""Latest trials that the history predictor is scored on."""


@dataclass(frozen=True, kw_only=True)
class Measured:
    """Everything that is measured of an arm, group by group; each group's module says what its numbers mean.

    Args:
        history: how well an arm's earlier trials foretell its later ones; None where there are too few.
    """

    outcome: Outcome
    attempts: Sequence[Attempts]
    correction: Correction
    signal: Confusion
    signal_by_origin: Mapping[str, Confusion]
    uptake: Uptake
    process: Process
    horizon: Horizon
    width: Width
    diversity: Mapping[int, Diversity]
    drift: Drift
    memory: MemoryEffect
    history: Calibration | None
    cost: Cost
    provenance: Provenance


def measure(trials: Trials) -> Measured:
    """Measures an arm: pure, and without a look at anything else."""
    return Measured(
        outcome=outcome(trials),
        attempts=attempts(trials),
        correction=correction(trials),
        signal=confusion(trials),
        signal_by_origin=confusion_by_origin(trials),
        uptake=uptake(trials),
        process=process(trials),
        horizon=horizon(trials),
        width=width(trials),
        diversity=diversity(trials),
        drift=drift(trials),
        memory=memory_effect(trials),
        history=history_calibration(trials),
        cost=cost(trials),
        provenance=provenance(trials),
    )


def history_calibration(trials: Trials) -> Calibration | None:
    """Scores the history predictor (arXiv 2509.24988) as it would have been used: the first two thirds of the episodes
    foretell the rest. None where either part is too short or all came out the same."""
    known = np.flatnonzero(~trials.is_given & (trials.truth != NONE))[-HISTORY:]
    until = trials.number[known[2 * len(known) // 3]] if len(known) >= 2 * LEAST else 0
    past, rest = known[trials.number[known] < until], known[trials.number[known] >= until]
    right = trials.truth == PASS
    rarer = min(int(right[past].sum()), int((~right[past]).sum()))
    if len(past) < LEAST or rarer < FOLDS or not len(rest):
        return None
    predictor = HistoryPredictor([_attempt(trials, row) for row in past], right[past].tolist())
    return calibration(predictor.predict([_attempt(trials, row) for row in rest]), right[rest])


def _attempt(trials: Trials, row: int) -> Attempt:
    question = f"{trials.family[row]} {trials.task[row]} trial{int(trials.trial[row])}"
    return Attempt(question, model=trials.model[row], tokens=int(trials.tokens[row]))


def as_data(value: object) -> Any:
    """Plain data for JSON: what a dataclass holds, and what its properties say of that."""
    if isinstance(value, Enum):
        return str(value)
    if is_dataclass(value) and not isinstance(value, type):
        named = [f.name for f in fields(value)]
        named += [name for name, own in vars(type(value)).items() if isinstance(own, property)]
        return {name: as_data(getattr(value, name)) for name in named}
    if isinstance(value, Mapping):
        return {str(key): as_data(item) for key, item in cast("Mapping[object, object]", value).items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [as_data(item) for item in cast("Sequence[object]", value)]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value
