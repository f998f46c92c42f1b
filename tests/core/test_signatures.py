"""A failure's signature: what failures of the same kind share, whatever their values and names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.core._signals import CaseOutcome, CaseResult, Evidence
from groundwire.core._signatures import failure_frames, failure_signature


def evidence(*messages: str, stderr: str = "") -> Evidence:
    cases = tuple(
        CaseOutcome(id=f"t::{i}", result=CaseResult.FAILED, message=message) for i, message in enumerate(messages)
    )
    return Evidence(cases=cases, collected=len(cases), stderr=stderr)


@pytest.mark.parametrize(
    ("message", "signature"),
    [
        ("AssertionError: assert 2 == 3\n +  where 2 = f(3)", "AssertionError: int one too small"),
        ("AssertionError: assert 5 == 3", "AssertionError: int too large"),
        ("AssertionError: assert -3 == 3", "AssertionError: int negated"),
        ("AssertionError: assert 1.5 == 3", "AssertionError: int too small"),
        ("AssertionError: assert True == False", "AssertionError: bool flipped"),
        ("AssertionError: assert None == [1]", "AssertionError: None for list"),
        ("AssertionError: assert [1, 2] == [2, 1]", "AssertionError: list reversed"),
        ("AssertionError: assert [1, 2, 3] == [1, 3, 2]\n  At index 1", "AssertionError: list reordered"),
        ("AssertionError: assert [1, 2] == [1]", "AssertionError: list too long"),
        ("AssertionError: assert {} == {1: 2}", "AssertionError: dict empty"),
        ("AssertionError: assert 'Ab' == 'aB'", "AssertionError: str in another case"),
        ("AssertionError: assert 'abc' == 'abd'", "AssertionError: str with other contents"),
        ("AssertionError: assert <C object> == 4", "AssertionError: value == int"),
        ("AssertionError: assert 4 in [1, 2]", "AssertionError: int in list"),
        ("AssertionError: assert 0\n +  where 0 = f(1)", "AssertionError: int is false"),
        ("AssertionError: assert not [1]", "AssertionError: list is true"),
        ("AssertionError: 2 != 3", "AssertionError: int one too small"),
        ("AssertionError: 2 != 3 : the sum", "AssertionError: int one too small"),
        ("AssertionError: msg\nassert [1] == []", "AssertionError: list too long"),
        ("Expected:\n    3\nGot:\n    2\n", "AssertionError: int one too small"),
        ("KeyError: 'user-17'\n  m.py:8 in h: return x[k]", "KeyError: '…'"),
        ("IndexError: list index out of range", "IndexError: list index out of range"),
        ("TypeError: f() takes 2 arguments", "TypeError: f() takes N arguments"),
        ("my.own.CustomError: at 0xdeadbeef", "CustomError: at 0x…"),
        ("Failed: DID NOT RAISE ValueError", "Failed: DID NOT RAISE ValueError"),
        ("RecursionError", "RecursionError"),
        ("nothing to read here", ""),
    ],
)  # fmt: skip
def test_values_are_taken_out(message: str, signature: str) -> None:
    assert failure_signature(evidence(message)) == signature


def test_the_commonest_kind_wins_and_the_first_among_equals() -> None:
    off, late = "AssertionError: assert 2 == 3", "KeyError: 'a'"
    assert failure_signature(evidence(late, off, off)) == "AssertionError: int one too small"
    assert failure_signature(evidence(late, off)) == "KeyError: '…'"


def test_a_command_without_cases_is_known_by_its_last_exception() -> None:
    trace = "Traceback (most recent call last):\n  File 'x'\nValueError: 17 is too much\nfinished\n"
    assert failure_signature(evidence(stderr=trace)) == "ValueError: N is too much"
    assert failure_signature(evidence()) == ""


def test_frames_have_no_line_numbers() -> None:
    message = (
        "IndexError: list index out of range\n  t.py:6 in test_b: assert g(3) == 3\n  pkg/m.py:5 in g: return [1][x]"
    )
    assert failure_frames(evidence("AssertionError", message)) == ("t.py:test_b", "pkg/m.py:g")
    assert failure_frames(evidence("AssertionError")) == ()


@given(st.text(max_size=300), st.sampled_from(["", "AssertionError: assert ", "assert not ", "Expected:\n    "]))
def test_hostile_text_gives_one_short_line(text: str, start: str) -> None:
    signature = failure_signature(evidence(start + text, "(" * 390 + " == 1"))
    assert len(signature) <= 120
    assert len(signature.splitlines()) <= 1


@pytest.mark.parametrize("value", ["(" * 190, "-" * 399 + "1", "[" * 100 + "]" * 100, "9" * 399])
def test_a_value_made_to_break_the_reader_is_only_a_value(value: str) -> None:
    assert failure_signature(evidence(f"AssertionError: assert {value} == 3")).startswith("AssertionError: ")
