"""Will this pass?"""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from groundwire.core._errors import ConfigError
from groundwire.evaluation._confidence import Attempt, HistoryPredictor, calibration


def planted(count: int, seed: int) -> tuple[list[Attempt], list[bool]]:
    """Long answers fail, mostly."""
    random = np.random.default_rng(seed)
    attempts: list[Attempt] = []
    right: list[bool] = []
    for _ in range(count):
        words = int(random.integers(20, 400))
        attempts.append(Attempt(f"task {random.integers(5)}", "word " * words, f"model-{random.integers(2)}"))
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
    assert {field.name for field in dataclasses.fields(Attempt)} == {"question", "response", "model", "tokens"}


@pytest.mark.parametrize("right", [[True] * 10, [True] * 40, [True] * 37 + [False] * 3])
def test_a_history_that_teaches_nothing_is_refused(right: list[bool]) -> None:
    with pytest.raises(ConfigError, match="teaches nothing"):
        HistoryPredictor([Attempt("q")] * len(right), right)
