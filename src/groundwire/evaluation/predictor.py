"""Will this pass? Told from what passed before, never from what a model says of itself (arXiv 2509.24988)."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from groundwire.core.errors import ConfigError
from groundwire.evaluation.rows import Floats

__all__ = ["Attempt", "HistoryPredictor", "Neighbour"]

NEIGHBOURS = 15
FOLDS = 5
LEAST = 20
"""Attempts below which nothing is learnt."""
WORDS = 64


@dataclass(frozen=True)
class Attempt:
    """What may be known before judging. There is no field for a model's own confidence, on purpose.

    Args:
        question: what was asked: a prompt, a task's id, its family.
        response: what was answered, in words; may be empty where only its size is known.
        model: who answered.
        tokens: the size of the answer, where the text itself is not kept.
    """

    question: str
    response: str = ""
    model: str = ""
    tokens: int = 0


@dataclass(frozen=True)
class Neighbour:
    """An earlier attempt that a prediction rests on.

    Args:
        at: its place in the history.
        distance: how unlike it is; 0 is the same.
        right: how it ended.
    """

    at: int
    distance: float
    right: bool


class HistoryPredictor:
    """P(right) from the likest earlier attempts: question, wording and length of the response, and the model.

    Args:
        history: earlier attempts.
        right: how each ended, by a verdict from outside.
        platt: calibrate by Platt's method, over five folds of the history.

    Raises:
        ConfigError: scikit-learn is not installed, or the history is too short or one-sided.
    """

    def __init__(self, history: Sequence[Attempt], right: Sequence[bool], *, platt: bool = True) -> None:
        least = min(sum(right), len(right) - sum(right))
        if len(history) < LEAST or least < FOLDS:
            raise ConfigError(
                f"A history of {len(history)} attempts, {least} of the rarer outcome, teaches nothing.",
                do=f"Record at least {LEAST} attempts, {FOLDS} of each outcome.",
            )
        self._right = list(right)
        self._features = _Features(history)
        plain = _sklearn("neighbors").KNeighborsClassifier(min(NEIGHBOURS, len(history) // 2), weights="distance")
        calibrated = _sklearn("calibration").CalibratedClassifierCV(plain, method="sigmoid", cv=FOLDS)
        known = self._features(history)
        self._classifier: Any = (calibrated if platt else plain).fit(known, self._right)
        self._nearest: Any = _sklearn("neighbors").NearestNeighbors(n_neighbors=NEIGHBOURS).fit(known)

    def predict(self, attempts: Sequence[Attempt]) -> Floats:
        """P(right) of each, from 0 to 1."""
        return np.asarray(self._classifier.predict_proba(self._features(attempts))[:, 1], dtype=np.float64)

    def neighbours(self, attempt: Attempt, n: int = 5) -> Sequence[Neighbour]:
        """The likest earlier attempts, nearest first: what a person should see beside the number."""
        distances, places = self._nearest.kneighbors(self._features([attempt]), n_neighbors=n)
        return [
            Neighbour(int(at), float(distance), self._right[int(at)])
            for distance, at in zip(distances[0], places[0], strict=True)
        ]


class _Features:
    """Attempts as numbers: hashed words, and the response's length on the history's scale."""

    def __init__(self, history: Sequence[Attempt]) -> None:
        self._words: Any = _sklearn("feature_extraction.text").HashingVectorizer(n_features=WORDS, norm="l2")
        lengths = _lengths(history)
        self._middle, self._spread = float(lengths.mean()), float(lengths.std()) or 1.0

    def __call__(self, attempts: Sequence[Attempt]) -> Floats:
        texts = [f"{a.question} {a.model}" for a in attempts], [a.response for a in attempts]
        asked, said = (np.asarray(self._words.transform(t).toarray(), dtype=np.float64) for t in texts)
        length = (_lengths(attempts) - self._middle) / self._spread
        return np.column_stack([asked, said, length])


def _lengths(attempts: Sequence[Attempt]) -> Floats:
    return np.log1p(np.array([len(a.response) or a.tokens for a in attempts], dtype=np.float64))


def _sklearn(name: str) -> Any:
    """A module of scikit-learn, which has no types of its own."""
    try:
        return importlib.import_module(f"sklearn.{name}")
    except ImportError as error:
        raise ConfigError("The history predictor needs scikit-learn.", do='pip install "groundwire[eval]"') from error
