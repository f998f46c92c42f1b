"""Numbers of a trace that are for people only: how sure it looked, how unstable it was, and how far such numbers hold.

None of them may start, stop or steer a refinement: their authors call them diagnostics, and early peaks often heal.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats
from scipy.spatial.distance import jensenshannon

from groundwire.core._errors import ConfigError
from groundwire.evaluation._rows import Bools, Floats

BINS = 10
LATE = 0.5
"""Relative position from which a peak is late."""
PREFIXES = (0.25, 0.5, 0.75, 1.0)
_SURE = 1e-12


def token_confidence(top_logprobs: Floats) -> Floats:
    """C_i = −(1/k)·Σ_j log P_i(j) over the k likeliest tokens, in nats (DeepConf, arXiv 2508.15260).

    Args:
        top_logprobs: tokens × k.
    """
    return -np.asarray(top_logprobs, dtype=np.float64).mean(axis=1)


def group_confidence(confidence: Floats, window: int = 2048) -> Floats:
    """Mean confidence over each window of tokens; one group where the trace is no longer than that (arXiv 2508.15260).

    Raises:
        ValueError: the window is empty.
    """
    if window < 1:
        raise ValueError(f"a window of {window} tokens")
    if len(confidence) <= window:
        return confidence.mean(keepdims=True) if len(confidence) else confidence
    sums = np.concatenate([[0.0], np.cumsum(confidence)])
    return (sums[window:] - sums[:-window]) / window


@dataclass(frozen=True)
class TraceConfidence:
    """A trace's confidence, in nats (arXiv 2508.15260).

    Args:
        mean: over all tokens; it hides a short run of doubt.
        lowest_group: the least confident window.
        bottom_tenth: mean of the least confident 10 % of windows.
        tail: the last window.
    """

    mean: float
    lowest_group: float
    bottom_tenth: float
    tail: float


def trace_confidence(confidence: Floats, window: int = 2048) -> TraceConfidence | None:
    """Scores one trace; None where it has no tokens.

    Args:
        confidence: by token, see `token_confidence`.
        window: tokens of a group; 2048 and 1024 in the paper.
    """
    if not len(confidence):
        return None
    groups = np.sort(group_confidence(confidence, window))
    worst = groups[: max(1, math.ceil(len(groups) / 10))]
    return TraceConfidence(
        float(confidence.mean()), float(groups[0]), float(worst.mean()), float(confidence[-window:].mean())
    )


@dataclass(frozen=True)
class Instability:
    """A trace's instability, in nats (arXiv 2602.02863).

    Args:
        steps: I_t = JSD(p̃_t, p̃_{t−1}) + λ·H(p̃_t) by step; the first has no JSD.
        peak: S = max I_t.
        position: t*/T of the first peak, in (0, 1].
        label: `early`: it may recover; `late`: it usually fails.
        prefixes: S over the first quarter, half, three quarters and all of the trace.
    """

    steps: Sequence[float]
    peak: float
    position: float
    label: str
    prefixes: Sequence[float]


def instability(distributions: Sequence[Mapping[str, float]], *, weight: float = 1.0) -> Instability | None:
    """Scores one trace; None where it has no steps. A report may show it; nothing that steers may read it.

    Args:
        distributions: by step, the probabilities of the likeliest tokens; they need not sum to 1.
        weight: λ; 1 fits the author's charts, and was not read in the paper.
    """
    if not distributions:
        return None
    steps: list[float] = []
    before: Mapping[str, float] | None = None
    for now in distributions:
        steps.append(
            (_jsd(before, now) if before is not None else 0.0) + weight * float(stats.entropy(list(now.values())))
        )
        before = now
    values = np.array(steps)
    # what differs by rounding only is the same peak, and the first of them counts
    at = int(np.flatnonzero(values >= values.max() - _SURE)[0])
    position = (at + 1) / len(values)
    return Instability(
        steps=steps,
        peak=float(values.max()),
        position=position,
        label="late" if position > LATE else "early",
        prefixes=[float(values[: max(1, math.ceil(part * len(values)))].max()) for part in PREFIXES],
    )


def _jsd(one: Mapping[str, float], other: Mapping[str, float]) -> float:
    """Jensen–Shannon divergence in nats, over the tokens of either side."""
    tokens = [*one, *(token for token in other if token not in one)]
    left = np.array([one.get(token, 0.0) for token in tokens])
    right = np.array([other.get(token, 0.0) for token in tokens])
    return float(jensenshannon(left, right)) ** 2


@dataclass(frozen=True)
class Calibration:
    """How far predicted probabilities hold (arXiv 2509.24988).

    Args:
        n: predictions.
        accuracy: share whose side of one half is right.
        ece: expected calibration error over ten bins of equal width: Σ n_b/n·|right_b − predicted_b|.
        rmsce: root mean square of the same: √(Σ n_b/n·(right_b − predicted_b)²).
        auroc: see `auroc`.
        coverage: accuracy on the surest quarter, half, three quarters and all of them (`accuracy_coverage`).
    """

    n: int
    accuracy: float
    ece: float
    rmsce: float
    auroc: float | None
    coverage: Sequence[float]


def calibration(predicted: Floats, right: Bools) -> Calibration | None:
    """Scores predictions; None where there are none.

    Args:
        predicted: P(right), from 0 to 1.
        right: whether it was.
    """
    if not len(predicted):
        return None
    bins = np.minimum((predicted * BINS).astype(np.int64), BINS - 1)
    counts = np.bincount(bins, minlength=BINS)
    there = counts > 0
    said = np.bincount(bins, weights=predicted, minlength=BINS)[there] / counts[there]
    held = np.bincount(bins, weights=right, minlength=BINS)[there] / counts[there]
    weight = counts[there] / len(predicted)
    return Calibration(
        n=len(predicted),
        accuracy=float(((predicted >= 0.5) == right).mean()),
        ece=float((weight * np.abs(held - said)).sum()),
        rmsce=float(np.sqrt((weight * (held - said) ** 2).sum())),
        auroc=auroc(predicted, right),
        coverage=accuracy_coverage(predicted, right),
    )


def auroc(predicted: Floats, right: Bools) -> float | None:
    """Probability that a right one is predicted higher than a wrong one, ties half; None where either is missing."""
    n_right, n_wrong = int(right.sum()), int((~right).sum())
    if not (n_right and n_wrong):
        return None
    ranks = stats.rankdata(predicted)
    return float((ranks[right].sum() - n_right * (n_right + 1) / 2) / (n_right * n_wrong))


def accuracy_coverage(
    predicted: Floats, right: Bools, coverages: Sequence[float] = (0.25, 0.5, 0.75, 1.0)
) -> Sequence[float]:
    """Accuracy on the most confident share, for each share: what is gained by not answering (arXiv 2509.24988). Of
    answers predicted alike, none is the surer: where a share ends among them, their mean stands for each."""
    if not len(right):
        return []
    # what is predicted alike has no order: each of a tie counts as the tie's own mean
    _, tie = np.unique(-predicted, return_inverse=True)
    mean = np.bincount(tie, weights=right) / np.bincount(tie)
    best_first = mean[np.sort(tie)]
    kept = [max(1, round(share * len(right))) for share in coverages]
    return [float(best_first[:n].mean()) for n in kept]


# Will this pass? Told from what passed before, never from what a model says of itself (arXiv 2509.24988).

NEIGHBOURS = 15
FOLDS = 5
LEAST = 20
"""Attempts below which nothing is learnt."""
WORDS = 64


@dataclass(frozen=True)
class UnjudgedAnswer:
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

    def __init__(self, history: Sequence[UnjudgedAnswer], right: Sequence[bool], *, platt: bool = True) -> None:
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

    def predict(self, attempts: Sequence[UnjudgedAnswer]) -> Floats:
        """P(right) of each, from 0 to 1."""
        return np.asarray(self._classifier.predict_proba(self._features(attempts))[:, 1], dtype=np.float64)

    def neighbours(self, attempt: UnjudgedAnswer, n: int = 5) -> Sequence[Neighbour]:
        """The likest earlier attempts, nearest first: what a person should see beside the number."""
        distances, places = self._nearest.kneighbors(self._features([attempt]), n_neighbors=n)
        return [
            Neighbour(int(at), float(distance), self._right[int(at)])
            for distance, at in zip(distances[0], places[0], strict=True)
        ]


class _Features:
    """Attempts as numbers: hashed words, and the response's length on the history's scale."""

    def __init__(self, history: Sequence[UnjudgedAnswer]) -> None:
        self._words: Any = _sklearn("feature_extraction.text").HashingVectorizer(n_features=WORDS, norm="l2")
        lengths = _lengths(history)
        self._middle, self._spread = float(lengths.mean()), float(lengths.std()) or 1.0

    def __call__(self, attempts: Sequence[UnjudgedAnswer]) -> Floats:
        texts = [f"{a.question} {a.model}" for a in attempts], [a.response for a in attempts]
        asked, said = (np.asarray(self._words.transform(t).toarray(), dtype=np.float64) for t in texts)
        length = (_lengths(attempts) - self._middle) / self._spread
        return np.column_stack([asked, said, length])


def _lengths(attempts: Sequence[UnjudgedAnswer]) -> Floats:
    return np.log1p(np.array([len(a.response) or a.tokens for a in attempts], dtype=np.float64))


def _sklearn(name: str) -> Any:
    """A module of scikit-learn, which has no types of its own."""
    try:
        return importlib.import_module(f"sklearn.{name}")
    except ImportError as error:
        raise ConfigError("The history predictor needs scikit-learn.", do='pip install "groundwire[eval]"') from error
