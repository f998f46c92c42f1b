"""Monotone acceptance: no sequence of candidates ever loses a case that the best one passed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from groundwire.contexts import Judged
from groundwire.graphs.acceptance import Change, compare, most_promising
from groundwire.mint import Mint
from groundwire.signals import CaseOutcome, CaseResult, Evidence, NoVerdict, Observation, Origin, Verdict
from groundwire.trees import Candidate

MINT = Mint("run", b"k" * 32)


def judged(results: list[bool], *, size: int = 1, verdict: Verdict | None = None) -> Judged:
    candidate = Candidate("base", {"x": b"." * size, "y": repr(results).encode()})
    cases = tuple(
        CaseOutcome(id=str(i), result=CaseResult.PASSED if ok else CaseResult.FAILED) for i, ok in enumerate(results)
    )
    verdict = verdict or (Verdict.PASS if all(results) else Verdict.FAIL)
    reason = NoVerdict.FLAKY if verdict is Verdict.NONE else None
    seen = Observation(verdict=verdict, origin=Origin.TESTS, reason=reason, evidence=Evidence(cases=cases))
    return Judged(candidate, MINT.signal(seen, episode_id="e", trial=1, issuer="t", candidate_digest=candidate.digest))


vectors = st.lists(st.booleans(), min_size=4, max_size=4)


@given(st.lists(vectors, min_size=1, max_size=10))
def test_the_best_never_loses_a_case(sequence: list[list[bool]]) -> None:
    best = judged(sequence[0])
    for results in sequence[1:]:
        new = judged(results)
        if compare(new, best) is Change.BETTER:
            assert new.signal.evidence.passed() > best.signal.evidence.passed()
            best = new


def test_each_change_has_its_name() -> None:
    best = judged([True, False, False])
    assert compare(judged([True, True, False]), best) is Change.BETTER
    assert compare(judged([True, False, False]), best) is Change.SAME
    assert compare(judged([False, False, False]), best) is Change.WORSE
    assert compare(judged([False, True, True]), best) is Change.TRADE_OFF
    assert compare(judged([True, True, True], verdict=Verdict.NONE), best) is Change.UNKNOWN


def test_a_case_that_vanished_counts_as_broken() -> None:
    assert compare(judged([True]), judged([True, True, False])) is Change.WORSE


def test_the_most_promising_is_a_pass_then_most_cases_then_smallest_then_first() -> None:
    small, large = judged([True, False], size=1), judged([True, False], size=9)
    worse, none = judged([False, False]), judged([True, True], verdict=Verdict.NONE)
    passing = judged([True, True], size=99)
    assert most_promising([worse, large, small, none]) is small
    assert most_promising([worse, large, small, none, passing]) is passing
    assert most_promising([none]) is None
    assert most_promising([]) is None
