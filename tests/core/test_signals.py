"""Signals: what counts for and against a candidate, and the one form that a seal covers."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from groundwire.core._sandboxes import Enforcement, SandboxInfo
from groundwire.core._signals import (
    EXTERNAL_ORIGINS,
    CaseOutcome,
    CaseResult,
    Evidence,
    Isolation,
    NoVerdict,
    Observation,
    Origin,
    Signal,
    Verdict,
    canonical,
)

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def signal(**changed: Any) -> Signal:
    fields: dict[str, Any] = {
        "id": "id", "run_id": "run", "episode_id": "episode", "trial": 1, "origin": Origin.TESTS,
        "verdict": Verdict.FAIL, "reason": None, "issuer": "test", "candidate_digest": "c", "command": ("pytest",),
        "exit_code": 1, "duration_s": 0.5, "sandbox": None, "evidence": Evidence(), "partial": False, "oracle": False,
        "isolation": Isolation.PROCESS, "created_at": "now",
    }  # fmt: skip
    return Signal.from_fields({**fields, **changed})


@given(values)
def test_the_canonical_form_is_json_of_one_line_in_ascii(value: Any) -> None:
    text = canonical(value)
    assert text.isascii()
    assert "\n" not in text
    assert json.loads(text) == value


@given(st.dictionaries(st.text(), values, max_size=5))
def test_the_canonical_form_does_not_know_in_which_order_keys_came(value: dict[str, Any]) -> None:
    assert canonical(dict(reversed(value.items()))) == canonical(value)


def test_the_canonical_form_is_pinned() -> None:
    assert canonical({"b": [1, 2.5, None], "a": {"ü": True}}) == '{"a":{"\\u00fc":true},"b":[1,2.5,null]}'
    for number in (math.nan, math.inf):
        with pytest.raises(ValueError, match="not JSON compliant"):
            canonical(number)


def test_the_form_that_the_seal_covers_is_pinned() -> None:
    """A change here would break every seal that was ever made."""
    sealed = signal(
        seal="s",
        sandbox=SandboxInfo(kind="bubblewrap", enforcement={"network": Enforcement.ENFORCED}),
        evidence=Evidence(cases=(CaseOutcome(id="t", result=CaseResult.FAILED, message="m"),), collected=1, stdout="o"),
    )
    body = (
        '{"candidate_digest":"c","command":["pytest"],"created_at":"now","duration_s":0.5,"episode_id":"episode",'
        '"evidence":{"cases":[{"duration_s":0.0,"id":"t","message":"m","result":"failed"}],"collected":1,'
        '"deselected":0,"detail":"","stderr":"","stderr_cut":0,"stdout":"o","stdout_cut":0},"exit_code":1,"id":"id",'
        '"isolation":"process","issuer":"test","oracle":false,"origin":"tests","partial":false,"reason":null,'
        '"run_id":"run","sandbox":{"enforcement":{"network":"enforced"},"image_digest":"","isolated":true,'
        '"kind":"bubblewrap","version":""},"trial":1,"verdict":"fail"}'
    )
    assert sealed.body() == body
    assert sealed.to_json() == body.replace('"trial"', '"seal":"s","trial"')


def test_what_of_the_network_was_open_is_covered() -> None:
    opened = signal(sandbox=SandboxInfo(kind="bubblewrap", network=("a.example:1",)), seal="s")
    assert json.loads(opened.body())["sandbox"]["network"] == ["a.example:1"]
    assert Signal.from_json(opened.to_json()) == opened
    assert "network" not in json.loads(signal(sandbox=SandboxInfo(kind="bubblewrap")).body())["sandbox"]


def test_flaky_cases_are_covered_where_there_are_any() -> None:
    flaky = signal(evidence=Evidence(flaky=("t",)), seal="s")
    assert json.loads(flaky.body())["evidence"]["flaky"] == ["t"]
    assert json.loads(flaky.to_json())["evidence"]["flaky"] == ["t"]
    assert "seal" not in json.loads(flaky.body())
    assert Signal.from_json(flaky.to_json()) == flaky
    assert "flaky" not in signal().to_json()


def test_which_results_count_against_a_candidate() -> None:
    against = {CaseResult.FAILED, CaseResult.ERROR}
    assert {result for result in CaseResult if not result.ok} == against


def case(name: str, result: CaseResult) -> CaseOutcome:
    return CaseOutcome(id=name, result=result)


def test_evidence_tells_what_passed_and_what_failed_without_what_is_flaky() -> None:
    cases = (
        case("good", CaseResult.PASSED),
        case("bad", CaseResult.FAILED),
        case("broken", CaseResult.ERROR),
        case("skipped", CaseResult.SKIPPED),
        case("shaky pass", CaseResult.PASSED),
        case("shaky fail", CaseResult.FAILED),
    )
    evidence = Evidence(cases=cases, flaky=("shaky pass", "shaky fail"), stdout="out", stderr="err")
    assert evidence.passed() == {"good", "skipped"}
    assert [c.id for c in evidence.failed()] == ["bad", "broken"]
    assert evidence.output == ("", "")
    steady = evidence.model_copy(update={"flaky": ()})
    assert steady.output == ("out", "err")
    assert steady.passed() == {"good", "skipped", "shaky pass"}
    assert [c.id for c in steady.failed()] == ["bad", "broken", "shaky fail"]


def test_which_origins_may_open_a_gate_by_themselves() -> None:
    never = {Origin.HIDDEN_TESTS, Origin.RULE, Origin.OTHER_MODEL, Origin.HUMAN}
    assert set(Origin) - EXTERNAL_ORIGINS == never


@pytest.mark.parametrize("verdict", Verdict)
@pytest.mark.parametrize("reason", [None, NoVerdict.SANDBOX])
def test_a_reason_goes_with_no_verdict_and_only_with_it(verdict: Verdict, reason: NoVerdict | None) -> None:
    if (verdict is Verdict.NONE) == (reason is not None):
        Observation(verdict=verdict, origin=Origin.TESTS, reason=reason)
        return
    with pytest.raises(ValidationError, match="a reason is given exactly when the verdict is none"):
        Observation(verdict=verdict, origin=Origin.TESTS, reason=reason)


def test_nothing_can_be_changed_or_slipped_in() -> None:
    observation = Observation(verdict=Verdict.FAIL, origin=Origin.TESTS)
    with pytest.raises(ValidationError, match="frozen"):
        observation.verdict = Verdict.PASS
    with pytest.raises(ValidationError, match="frozen"):
        signal().verdict = Verdict.PASS
    with pytest.raises(ValidationError, match="Extra inputs"):
        Observation(verdict=Verdict.FAIL, origin=Origin.TESTS, seal="x")  # pyright: ignore[reportCallIssue]


def test_a_signal_comes_from_the_mint_or_the_ledger_only() -> None:
    with pytest.raises(ValidationError, match="a Signal comes from the mint or the ledger, not from a constructor"):
        Signal.model_validate(signal().model_dump())
    with pytest.raises(ValidationError, match="not from a constructor"):
        Signal.model_validate_json(signal().to_json(), context=object())
    with pytest.raises(ValidationError):
        Signal.from_json("{}")
