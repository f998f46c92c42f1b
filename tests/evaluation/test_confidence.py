"""Numbers of a trace that are for people only."""

from __future__ import annotations

import dataclasses
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from groundwire.core._errors import ConfigError
from groundwire.evaluation._confidence import (
    HistoryPredictor,
    UnjudgedAnswer,
    accuracy_coverage,
    auroc,
    calibration,
    group_confidence,
    instability,
    token_confidence,
    trace_confidence,
)

SOURCE = Path(__file__).parents[2] / "src" / "groundwire"


def test_a_short_run_of_doubt_shows_in_the_lowest_group_and_not_in_the_mean() -> None:
    """Row 4: 64 tokens of low confidence in a trace of a high mean."""
    confidence = np.full(4096, 10.0)
    confidence[1000:1064] = 1.0
    told = trace_confidence(confidence, window=64)
    assert told is not None
    assert (told.lowest_group, told.tail) == (pytest.approx(1.0), pytest.approx(10.0))
    assert told.mean > 9.8
    assert told.lowest_group < told.bottom_tenth < 10
    assert trace_confidence(np.zeros(0)) is None
    assert group_confidence(np.array([1.0, 3.0]), window=64).tolist() == [2.0]
    assert group_confidence(np.array([1.0, 3.0, 5.0]), window=2).tolist() == [2.0, 4.0]
    assert token_confidence(np.array([[-1.0, -3.0]])).tolist() == [2.0]


def test_constant_distributions_are_as_unstable_as_their_entropy() -> None:
    """Row 74: JSD 0, S = λ·H."""
    told = instability([{"a": 0.5, "b": 0.25, "c": 0.25}] * 10, weight=0.7)
    assert told is not None
    entropy = 0.5 * math.log(2) + 0.5 * math.log(4)
    assert told.peak == pytest.approx(0.7 * entropy)
    assert (told.position, told.label) == (0.1, "early")


def test_a_planted_jump_at_80_percent_is_late() -> None:
    """Row 74: t*/T = .8."""
    told = instability([{"a": 0.9, "b": 0.1}] * 79 + [{"z": 0.5, "y": 0.5}] + [{"z": 0.9, "y": 0.1}] * 20)
    assert told is not None
    assert (told.position, told.label) == (0.8, "late")
    assert told.peak == pytest.approx(math.log(2) + math.log(2)), "nothing in common: JSD is ln 2"
    assert told.prefixes[0] == told.prefixes[2] < told.prefixes[3] == told.peak
    assert instability([]) is None


def test_nothing_that_steers_can_read_these() -> None:
    """Rows 9 and 74: what routes, acts or judges imports nothing of this package, and reads no trace's confidence."""
    steering = [
        path for part in ("graphs", "agents", "tools", "memory", "sandbox") for path in (SOURCE / part).rglob("*.py")
    ]
    assert len(steering) > 100
    assert not [path for path in steering if "groundwire.evaluation" in path.read_text()]
    code = "import sys, groundwire.graphs; print([m for m in sys.modules if 'evaluation' in m or m == 'scipy'])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_calibration() -> None:
    right = np.array([True] * 8 + [False] * 2)
    told = calibration(np.full(10, 0.9), right)
    assert told is not None
    assert (told.ece, told.rmsce, told.accuracy) == (pytest.approx(0.1), pytest.approx(0.1), 0.8)
    assert auroc(np.array([0.9, 0.8, 0.3, 0.1]), np.array([True, False, True, False])) == 0.75
    assert auroc(np.ones(3), np.array([True, True, False])) == 0.5
    assert auroc(np.ones(2), np.array([True, True])) is None
    assert accuracy_coverage(np.array([0.9, 0.8, 0.3, 0.1]), np.array([True, True, True, False])) == [1, 1, 1, 0.75]
    tied = np.array([0.9, 0.5, 0.5, 0.5])
    for right_of_tie in ([True, False, False], [False, False, True]):
        told_alike = accuracy_coverage(tied, np.array([True, *right_of_tie]))
        assert told_alike == pytest.approx([1, 2 / 3, 5 / 9, 0.5]), "whatever the order of the rows"
    assert calibration(np.zeros(0), np.zeros(0, dtype=np.bool_)) is None


# Will this pass?


def planted(count: int, seed: int) -> tuple[list[UnjudgedAnswer], list[bool]]:
    """Long answers fail, mostly."""
    random = np.random.default_rng(seed)
    attempts: list[UnjudgedAnswer] = []
    right: list[bool] = []
    for _ in range(count):
        words = int(random.integers(20, 400))
        attempts.append(UnjudgedAnswer(f"task {random.integers(5)}", "word " * words, f"model-{random.integers(2)}"))
        right.append(bool(random.random() < (0.9 if words < 200 else 0.1)))
    return attempts, right


def test_long_answers_fail() -> None:
    """Row 43: 200 attempts stored, AUROC ≥ .8 on 100 held out, and less ECE after Platt than before."""
    history, held_out = planted(200, 1), planted(100, 2)
    right = np.array(held_out[1])
    before = calibration(HistoryPredictor(*history, platt=False).predict(held_out[0]), right)
    predictor = HistoryPredictor(*history)
    after = calibration(predictor.predict(held_out[0]), right)
    assert before is not None
    assert after is not None
    assert after.auroc is not None
    assert after.auroc >= 0.8
    assert after.ece < before.ece
    nearest = predictor.neighbours(history[0][3])
    assert (nearest[0].at, nearest[0].distance, nearest[0].right) == (3, pytest.approx(0), history[1][3])
    assert [n.distance for n in nearest] == sorted(n.distance for n in nearest)


def test_nothing_a_model_says_of_itself_goes_in() -> None:
    """Rows 21 and 43."""
    assert {field.name for field in dataclasses.fields(UnjudgedAnswer)} == {"question", "response", "model", "tokens"}


@pytest.mark.parametrize("right", [[True] * 10, [True] * 40, [True] * 37 + [False] * 3])
def test_a_history_that_teaches_nothing_is_refused(right: list[bool]) -> None:
    with pytest.raises(ConfigError, match="teaches nothing"):
        HistoryPredictor([UnjudgedAnswer("q")] * len(right), right)
