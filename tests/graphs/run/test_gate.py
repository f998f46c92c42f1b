"""The gate opens for exactly one kind of signal; every other is refused with its reason, and each rule is needed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from guessing import Check, Guesser, loop, no_verdict
from hypothesis import given
from hypothesis import strategies as st

from groundwire import Budget, FeedbackApp, FeedbackGraph, StopReason, Task
from groundwire.core._records import Admission
from groundwire.core._seal import Mint
from groundwire.core._signals import EXTERNAL_ORIGINS, NoVerdict, Observation, Origin, Signal, Verdict
from groundwire.graphs.build._declarations import Rules
from groundwire.graphs.run import _gate as gate
from groundwire.graphs.run._gate import CHECKS, GateKind, Question, Refusal, admit
from groundwire.memory import InMemoryStore

KEY = b"k" * 32
MINT = Mint("run", KEY)
FAIL = Observation(verdict=Verdict.FAIL, origin=Origin.TESTS)
GO_ON = Observation(verdict=Verdict.NONE, origin=Origin.ENVIRONMENT, reason=NoVerdict.GO_ON)


def mint(observation: Observation = FAIL, *, run: str = "run", key: bytes = KEY) -> Signal:
    return Mint(run, key).signal(observation, episode_id="e", trial=2, issuer="test", candidate_digest="c")


def question(signal: Signal, kind: GateKind = GateKind.REFINE, **changed: Any) -> Question:
    asked = Question(kind=kind, signal=signal, episode_id="e", trial=2, issuer="test", candidate_digest="c", used=False)
    return replace(asked, **changed)


def test_a_sealed_fail_of_the_current_candidate_is_admitted() -> None:
    signal = mint()
    admission = admit(question(signal), MINT)
    assert (admission.admitted, admission.reason, admission.edge) == (True, "", "refine")
    assert (admission.signal_id, admission.candidate_digest, admission.trial) == (signal.id, "c", 2)
    assert admission.episode_id == "e"


def test_a_fresh_go_on_is_admitted_by_advance_only() -> None:
    admission = admit(question(mint(GO_ON), GateKind.ADVANCE), MINT)
    assert (admission.admitted, admission.edge) == (True, "advance")
    assert admit(question(mint(GO_ON)), MINT).reason == Refusal.VERDICT
    assert admit(question(mint(), GateKind.ADVANCE), MINT).reason == Refusal.VERDICT


ONE_WRONG: list[tuple[Question, Refusal]] = [
    (question(mint(key=b"x" * 32)), Refusal.SEAL),
    (question(mint(run="other")), Refusal.SEAL),
    (question(mint().model_copy(update={"exit_code": 0})), Refusal.SEAL),
    (question(mint().model_copy(update={"seal": ""})), Refusal.SEAL),
    (question(mint(), episode_id="other"), Refusal.EPISODE),
    (question(mint(), trial=1), Refusal.STALE),
    (question(mint(), trial=3), Refusal.STALE),
    (question(mint(), issuer="other"), Refusal.ISSUER),
    (question(mint(), candidate_digest="other"), Refusal.CANDIDATE),
    (question(mint(), used=True), Refusal.REUSED),
    (question(mint(Observation(verdict=Verdict.FAIL, origin=Origin.HIDDEN_TESTS))), Refusal.ORIGIN),
    (question(mint(Observation(verdict=Verdict.FAIL, origin=Origin.RULE))), Refusal.ORIGIN),
    (question(mint(Observation(verdict=Verdict.FAIL, origin=Origin.HUMAN))), Refusal.ORIGIN),
    (question(mint(Observation(verdict=Verdict.FAIL, origin=Origin.OTHER_MODEL))), Refusal.ORIGIN),
    (question(mint(Observation(verdict=Verdict.PASS, origin=Origin.TESTS))), Refusal.VERDICT),
    (question(mint(GO_ON)), Refusal.VERDICT),
    (question(mint(), GateKind.ADVANCE), Refusal.VERDICT),
    (
        question(
            mint(Observation(verdict=Verdict.NONE, origin=Origin.TESTS, reason=NoVerdict.SANDBOX)), GateKind.ADVANCE
        ),
        Refusal.VERDICT,
    ),
    (question(mint(), used_up="trials"), Refusal.BUDGET),
]


@pytest.mark.parametrize(("asked", "refusal"), ONE_WRONG)
def test_what_is_wrong_in_one_way_is_refused_for_that_reason(asked: Question, refusal: Refusal) -> None:
    admission = admit(asked, MINT)
    assert (admission.admitted, admission.reason) == (False, refusal)


@pytest.mark.parametrize(("asked", "refusal"), ONE_WRONG)
def test_no_other_rule_refuses_it_so_each_is_needed(
    asked: Question, refusal: Refusal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gate, "CHECKS", tuple(c for c in CHECKS if c[0] is not refusal))
    assert admit(asked, MINT).admitted


def test_every_reason_has_a_rule() -> None:
    assert [reason for reason, _ in CHECKS] == list(Refusal)


def test_of_several_things_that_are_wrong_the_first_is_named() -> None:
    everything = question(
        mint(Observation(verdict=Verdict.PASS, origin=Origin.RULE), key=b"x" * 32),
        episode_id="other", trial=9, issuer="other", candidate_digest="other", used=True, used_up="usd",
    )  # fmt: skip
    assert admit(everything, MINT).reason == Refusal.SEAL


@given(
    st.sampled_from(Verdict), st.sampled_from(Origin), st.sampled_from(GateKind), st.frozensets(st.sampled_from(Origin))
)
def test_only_external_fails_refine_and_only_go_on_advances(
    verdict: Verdict, origin: Origin, kind: GateKind, trusted: frozenset[Origin]
) -> None:
    reason = NoVerdict.FLAKY if verdict is Verdict.NONE else None
    signal = mint(Observation(verdict=verdict, origin=origin, reason=reason))
    admission = admit(question(signal, kind, trusted=trusted), MINT)
    trusts = origin in EXTERNAL_ORIGINS or (origin in trusted and origin in (Origin.HUMAN, Origin.OTHER_MODEL))
    assert admission.admitted == (trusts and verdict is Verdict.FAIL and kind is GateKind.REFINE)


@given(st.sampled_from(Origin), st.frozensets(st.sampled_from(Origin)))
def test_go_on_advances_from_any_origin_that_may(origin: Origin, trusted: frozenset[Origin]) -> None:
    signal = mint(Observation(verdict=Verdict.NONE, origin=origin, reason=NoVerdict.GO_ON))
    trusts = origin in EXTERNAL_ORIGINS or (origin in trusted and origin in (Origin.HUMAN, Origin.OTHER_MODEL))
    assert admit(question(signal, GateKind.ADVANCE, trusted=trusted), MINT).admitted == trusts


def test_hidden_tests_and_rules_never_open_a_gate_even_if_named() -> None:
    for origin in (Origin.HIDDEN_TESTS, Origin.RULE):
        signal = mint(Observation(verdict=Verdict.FAIL, origin=origin))
        assert admit(question(signal, trusted=frozenset(Origin)), MINT).reason == Refusal.ORIGIN


# --- refusals are in the ledger --------------------------------------------------------------------------------------


async def answers(app: FeedbackApp, task: Task, stop: StopReason) -> list[tuple[bool, str]]:
    result = await app.arun(task)
    assert result.stop_reason is stop
    records = await app.store.records(result.episode_id)
    return [(r.admitted, r.reason) for r in records if isinstance(r, Admission)]


async def test_a_refused_origin_is_in_the_ledger_with_its_reason(task: Task) -> None:
    app = loop(Guesser([["wrong"]]), Check(origin=Origin.HUMAN)).compile(store=InMemoryStore())
    assert await answers(app, task, StopReason.REFUSED) == [(False, "origin")]


@pytest.mark.parametrize(
    ("budget", "rules", "stop"),
    [
        (Budget(trials=1), Rules(), StopReason.BUDGET_TRIALS),
        (Budget(), Rules(refinements={Origin.VERIFIER: 0}), StopReason.BUDGET_REFINEMENTS),
    ],
)
async def test_a_budget_that_is_used_up_is_in_the_ledger(
    task: Task, budget: Budget, rules: Rules, stop: StopReason
) -> None:
    graph = loop(Guesser([["wrong"], ["right"]]), Check())
    assert await answers(graph.compile(budget=budget, rules=rules), task, stop) == [(False, "budget")]


async def test_an_environment_without_steps_left_is_in_the_ledger(task: Task) -> None:
    check = Check(override=lambda text: no_verdict(NoVerdict.GO_ON, Origin.ENVIRONMENT))
    graph = FeedbackGraph().add_actor("act", Guesser([["a"], ["ab"], ["abc"]])).add_tool("world", check)
    app = graph.add_edge("act", "world").advance("world", to="act").compile(budget=Budget(steps=2))
    assert await answers(app, task, StopReason.BUDGET_STEPS) == [(True, ""), (False, "budget")]


async def test_a_signal_that_was_changed_under_the_gates_eyes_is_in_the_ledger(
    task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if the tool's process had got hold of the episode's view."""
    minted = Mint.signal

    def forged(self: Mint, observation: Observation, **place: Any) -> Signal:
        return minted(self, observation, **place).model_copy(update={"duration_s": 1.0})

    monkeypatch.setattr(Mint, "signal", forged)
    app = loop(Guesser([["wrong"]]), Check()).compile()
    assert await answers(app, task, StopReason.REFUSED) == [(False, "seal")]
