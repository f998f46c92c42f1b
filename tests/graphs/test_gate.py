"""The gate opens for exactly one kind of signal; every other is refused with its reason."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.graphs.gate import GateKind, Question, Refusal, admit
from groundwire.mint import Mint
from groundwire.signals import EXTERNAL_ORIGINS, NoVerdict, Observation, Origin, Signal, Verdict

KEY = b"k" * 32
MINT = Mint("run", KEY)
FAIL = Observation(verdict=Verdict.FAIL, origin=Origin.TESTS)
GO_ON = Observation(verdict=Verdict.NONE, origin=Origin.ENVIRONMENT, reason=NoVerdict.GO_ON)


def mint(observation: Observation = FAIL, *, run: str = "run", key: bytes = KEY) -> Signal:
    return Mint(run, key).signal(observation, episode_id="e", trial=2, issuer="test", candidate_digest="c")


def question(signal: Signal, kind: GateKind = GateKind.REFINE) -> Question:
    return Question(kind=kind, signal=signal, episode_id="e", trial=2, issuer="test", candidate_digest="c", used=False)


def test_a_sealed_fail_of_the_current_candidate_is_admitted() -> None:
    signal = mint()
    admission = admit(question(signal), MINT)
    assert (admission.admitted, admission.reason, admission.edge) == (True, "", "refine")
    assert (admission.signal_id, admission.candidate_digest, admission.trial) == (signal.id, "c", 2)


def test_a_fresh_go_on_is_admitted_by_advance_only() -> None:
    assert admit(question(mint(GO_ON), GateKind.ADVANCE), MINT).admitted
    assert admit(question(mint(GO_ON)), MINT).reason == Refusal.VERDICT
    assert admit(question(mint(), GateKind.ADVANCE), MINT).reason == Refusal.VERDICT


@pytest.mark.parametrize(
    ("changed", "refusal"),
    [
        ({"episode_id": "other"}, Refusal.EPISODE),
        ({"trial": 3}, Refusal.STALE),
        ({"issuer": "other"}, Refusal.ISSUER),
        ({"candidate_digest": "other"}, Refusal.CANDIDATE),
        ({"used": True}, Refusal.REUSED),
        ({"used_up": "trials"}, Refusal.BUDGET),
    ],
)
def test_each_mismatch_has_its_own_reason(changed: dict[str, object], refusal: Refusal) -> None:
    admission = admit(replace(question(mint()), **changed), MINT)  # pyright: ignore[reportArgumentType]
    assert (admission.admitted, admission.reason) == (False, refusal)


@pytest.mark.parametrize("signal", [mint(run="other"), mint(key=b"x" * 32), mint().model_copy(update={"trial": 3})])
def test_a_foreign_or_changed_seal_is_refused(signal: Signal) -> None:
    assert admit(question(signal), MINT).reason == Refusal.SEAL


@given(
    st.sampled_from(Verdict), st.sampled_from(Origin), st.sampled_from(GateKind), st.frozensets(st.sampled_from(Origin))
)
def test_only_external_fails_refine_and_only_go_on_advances(
    verdict: Verdict, origin: Origin, kind: GateKind, trusted: frozenset[Origin]
) -> None:
    reason = NoVerdict.FLAKY if verdict is Verdict.NONE else None
    signal = mint(Observation(verdict=verdict, origin=origin, reason=reason))
    admission = admit(replace(question(signal, kind), trusted=trusted), MINT)
    trusts = origin in EXTERNAL_ORIGINS or (origin in trusted and origin in (Origin.HUMAN, Origin.OTHER_MODEL))
    assert admission.admitted == (trusts and verdict is Verdict.FAIL and kind is GateKind.REFINE)


def test_hidden_tests_and_rules_never_open_a_gate_even_if_named() -> None:
    for origin in (Origin.HIDDEN_TESTS, Origin.RULE):
        signal = mint(Observation(verdict=Verdict.FAIL, origin=origin))
        assert admit(replace(question(signal), trusted=frozenset(Origin)), MINT).reason == Refusal.ORIGIN
