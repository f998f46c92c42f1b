"""How far the signal that steers can be trusted."""

from __future__ import annotations

import pytest
from rows import episode, trials

from groundwire.core._signals import Origin
from groundwire.evaluation._signal_quality import Confusion, confusion, confusion_by_origin, localised, localiser_f1


def test_internal_verdicts_against_hidden_ones() -> None:
    told = trials(
        episode("a", "--+", hidden="-+-"),
        episode("b", "+", hidden="+"),
        episode("c", "+", hidden="?"),
        episode("d", "+", hidden="-", origin=Origin.MODEL_TESTS),
        episode("e", "+", hidden="+", trial=0),
    )
    whole = confusion(told)
    assert whole == Confusion(tp=1, fn=1, fp=2, tn=1)
    assert (whole.precision, whole.recall, whole.false_pass_share) == (pytest.approx(1 / 3), 0.5, pytest.approx(2 / 3))
    assert confusion_by_origin(told) == {"tests": Confusion(1, 1, 1, 1), "model_tests": Confusion(0, 0, 1, 0)}
    assert confusion(trials()).precision is None


def test_the_localiser_of_row_79() -> None:
    assert localiser_f1(0.5, 0.8) == pytest.approx(0.615, abs=5e-4)
    assert localiser_f1(0, 0) == 0
    told = localised([2, 0, 1, 3, -1, -1, -1, -1, -1], [2, 0, 0, -1, -1, -1, -1, -1, 4])
    assert (told.acc_err, told.acc_ok, told.f1) == (0.5, 0.8, pytest.approx(0.6154, abs=1e-4))
    assert localised([1], [1]).f1 is None, "without right solutions there is no F1"
    with pytest.raises(ValueError, match="2 labels, but 1 answers"):
        localised([1, 2], [1])
