"""Whom to blame: by coverage, by frames, or all alike."""

from __future__ import annotations

from typing import Any

import pytest

from groundwire.agents.search._blame import ALIKE, NOT_RUN, OUTSIDE_FACTOR, blame
from groundwire.agents.search._localise import dstar, ochiai
from groundwire.core._candidates import Candidate

FILES = {"a.py": "x = 1\ny = 2\nz = 3\n", "b.py": "x = 1\n", "tests/test_a.py": "", "setup.py": "", "data.txt": ""}


def test_coverage_decides(maker: Any) -> None:
    task = maker.task(FILES)
    signal = maker.judged(Candidate(task.tree.digest, {}), ["f"], ["p"]).signal
    coverage = {"f": {"b.py": (1,), "tests/test_a.py": (1,)}, "p": {"a.py": (1, 2)}}
    found = blame(task, signal, coverage, ochiai)
    assert found.paths == ("b.py", "a.py")
    assert found.of("b.py", 1, 1) == 1.0
    assert found.of("a.py", 1, 3) == found.of("a.py", 99, 99) == NOT_RUN


def test_without_coverage_all_lines_of_editable_files_are_alike(maker: Any) -> None:
    task = maker.task(FILES)
    signal = maker.judged(Candidate(task.tree.digest, {}), ["f"]).signal
    for known in (None, {}, {"other": {"a.py": (1,)}}):
        found = blame(task, signal, known, ochiai)
        assert found.paths == ("a.py", "b.py")
        assert found.of("a.py", 1, 3) == ALIKE


def test_frames_in_messages_weigh_more(maker: Any) -> None:
    task = maker.task(FILES)
    messages = {"f": "ZeroDivisionError: division by zero\n  tests/test_a.py:1 in test\n  b.py:1 in g: x = 1"}
    signal = maker.judged(Candidate(task.tree.digest, {}), ["f"], messages=messages).signal
    found = blame(task, signal, None, ochiai)
    assert found.paths == ("b.py", "a.py")
    assert found.of("b.py", 1, 1) == pytest.approx(1.5 * ALIKE)


def test_only_what_may_be_edited(maker: Any) -> None:
    task = maker.task(FILES, editable=("a.py",))
    assert blame(task, None, {"f": {"b.py": (1,)}}, dstar).paths == ("a.py",)


def test_the_formula_can_be_chosen(maker: Any) -> None:
    task = maker.task(FILES)
    signal = maker.judged(Candidate(task.tree.digest, {}), ["f", "g"], ["p"]).signal
    coverage = {"f": {"a.py": (1, 2)}, "g": {"a.py": (1,)}, "p": {"a.py": (1,)}}
    by = {name: blame(task, signal, coverage, f) for name, f in (("ochiai", ochiai), ("dstar", dstar))}
    assert by["ochiai"].of("a.py", 2, 2) == pytest.approx((1 / 2**0.5) / (2 / 6**0.5))
    assert by["dstar"].of("a.py", 2, 2) == pytest.approx(1 / 4)


SLICED = {
    "a.py": "def f(x):\n    seen = [x]\n    y = x + 1\n    print(seen)\n    return y\n",
    "tests/test_a.py": "from a import f\ndef test_f():\n    assert f(1) == 3\n",
}
CASE = "tests/test_a.py::test_f"
MESSAGE = "AssertionError: assert 2 == 3\n  tests/test_a.py:3 in test_f: assert f(1) == 3"


def test_what_the_assertion_did_not_see_is_blamed_less(maker: Any) -> None:
    task = maker.task(SLICED)
    signal = maker.judged(Candidate(task.tree.digest, {}), [CASE], messages={CASE: MESSAGE}).signal
    found = blame(task, signal, {CASE: {"a.py": (2, 3, 4, 5)}}, ochiai)
    assert found.of("a.py", 3, 3) == found.of("a.py", 5, 5) == 1.0
    assert found.of("a.py", 2, 2) == found.of("a.py", 4, 4) == pytest.approx(OUTSIDE_FACTOR)


def test_slices_say_something_without_coverage_too(maker: Any) -> None:
    task = maker.task(SLICED)
    signal = maker.judged(Candidate(task.tree.digest, {}), [CASE], messages={CASE: MESSAGE}).signal
    found = blame(task, signal, None, ochiai)
    assert found.of("a.py", 3, 3) == ALIKE
    assert found.of("a.py", 4, 4) == pytest.approx(ALIKE * OUTSIDE_FACTOR)


def test_what_only_failing_cases_ran_may_lack_something_though_no_value_came_from_there(maker: Any) -> None:
    task = maker.task(SLICED)
    signal = maker.judged(Candidate(task.tree.digest, {}), [CASE], ["p"], messages={CASE: MESSAGE}).signal
    found = blame(task, signal, {CASE: {"a.py": (2, 3, 4, 5)}, "p": {"a.py": (2, 3, 5)}}, ochiai)
    assert found.of("a.py", 4, 4) == 1.0
    assert found.of("a.py", 2, 2) == pytest.approx(OUTSIDE_FACTOR * found.of("a.py", 3, 3))
