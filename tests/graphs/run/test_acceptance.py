"""Monotone acceptance: no sequence of signals ever loses a case that the best candidate was seen to pass."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from groundwire.core._candidates import Candidate, Tree
from groundwire.core._contexts import Judged
from groundwire.core._seal import Mint
from groundwire.core._signals import CaseOutcome, CaseResult, Evidence, NoVerdict, Observation, Origin, Signal, Verdict
from groundwire.graphs.run._acceptance import Change, Ladder, change_size, most_promising

MINT = Mint("run", b"k" * 32)
BASE = Tree({"x": b"a\nb\nc\n"})
UNIT, INTEGRATION = ("pytest", "unit"), ("pytest", "integration")


def seen(
    name: str,
    results: list[bool] | Mapping[str, bool],
    *,
    command: tuple[str, ...] = UNIT,
    origin: Origin = Origin.TESTS,
    verdict: Verdict | None = None,
    reason: NoVerdict | None = None,
    flaky: tuple[str, ...] = (),
) -> Signal:
    """A signal about the candidate `name`."""
    ended = results if isinstance(results, Mapping) else {str(i): ok for i, ok in enumerate(results)}
    cases = tuple(
        CaseOutcome(id=case, result=CaseResult.PASSED if ok else CaseResult.FAILED) for case, ok in ended.items()
    )
    verdict = verdict or (Verdict.PASS if all(ended.values()) else Verdict.FAIL)
    if verdict is Verdict.NONE and reason is None:
        reason = NoVerdict.FLAKY if flaky else NoVerdict.SANDBOX
    evidence = Evidence(cases=cases, flaky=flaky)
    looked = Observation(verdict=verdict, origin=origin, reason=reason, command=command, evidence=evidence)
    return MINT.signal(looked, episode_id="e", trial=1, issuer="t", candidate_digest=name)


def climbed(*signals: Signal) -> Ladder:
    ladder = Ladder()
    for signal in signals:
        ladder.take(signal)
    return ladder


def change(new: Signal, *earlier: Signal) -> Change:
    return climbed(*earlier).take(new)


def best_of(ladder: Ladder) -> str:
    assert ladder.best is not None
    return ladder.best.candidate_digest


cases = st.dictionaries(st.sampled_from("abcd"), st.booleans(), min_size=1)
signals = st.builds(
    seen,
    name=st.sampled_from(["one", "two", "three", "four"]),
    results=cases,
    command=st.sampled_from([UNIT, INTEGRATION]),
    origin=st.sampled_from([Origin.TESTS, Origin.VERIFIER, Origin.MODEL_TESTS, Origin.HIDDEN_TESTS, Origin.RULE]),
    verdict=st.sampled_from([None, Verdict.NONE]),
    flaky=st.sampled_from([(), ("a",), ("b", "c")]),
)


@given(st.lists(signals, max_size=14))
def test_the_best_never_loses_a_verified_case(sequence: list[Signal]) -> None:
    ladder = Ladder()
    flaky: set[tuple[tuple[str, ...], str]] = set()
    for signal in sequence:
        before = ladder.best
        held = ladder.verified(before.candidate_digest) if before else frozenset[tuple[tuple[str, ...], str]]()
        ladder.take(signal)
        flaky |= {(signal.command, name) for name in signal.evidence.flaky}
        # another look at the best one may show that a case fails after all: news about it, not an exchange
        if before is not None and ladder.best is not None and signal.candidate_digest != before.candidate_digest:
            assert held - flaky <= ladder.verified(ladder.best.candidate_digest)


@given(st.lists(st.lists(st.booleans(), min_size=4, max_size=4), min_size=1, max_size=10))
def test_with_each_candidate_judged_once_the_best_only_grows(sequence: list[list[bool]]) -> None:
    ladder = Ladder()
    held: frozenset[object] = frozenset()
    for number, results in enumerate(sequence):
        before = ladder.best
        change = ladder.take(seen(f"c{number}", results))
        now = ladder.verified(best_of(ladder))
        assert held <= now
        assert change.accepted == (ladder.best is not before)
        if change is Change.BETTER and number:
            assert held < now
        held = now


def test_each_change_has_its_name() -> None:
    best = seen("best", [True, False, False])
    assert change(seen("new", [True, True, False]), best) is Change.BETTER
    assert change(seen("new", [True, False, False]), best) is Change.SAME
    assert change(seen("new", [False, False, False]), best) is Change.WORSE
    assert change(seen("new", [False, True, True]), best) is Change.TRADE_OFF
    assert change(seen("new", [True, True, True], verdict=Verdict.NONE), best) is Change.UNKNOWN
    assert change(seen("new", [True] * 3, origin=Origin.HIDDEN_TESTS), best) is Change.UNKNOWN
    assert change(seen("new", [True] * 3, origin=Origin.RULE), best) is Change.UNKNOWN


def test_a_case_that_vanished_counts_as_broken() -> None:
    assert change(seen("new", [True]), seen("best", [True, True, False])) is Change.WORSE
    ladder = climbed(seen("best", [True, True, False]), seen("new", [True]))
    assert ladder.lost("new") == {"1"}
    assert ladder.lost("best") == frozenset()


def test_a_trade_off_is_recorded_and_not_accepted() -> None:
    ladder = climbed(seen("best", {"a": True, "b": False}), seen("new", {"a": False, "b": True}))
    assert best_of(ladder) == "best"
    (trade_off,) = ladder.trade_offs
    assert (trade_off.candidate, trade_off.against, trade_off.fixes, trade_off.breaks) == (
        "new", "best", ("b",), ("a",),
    )  # fmt: skip
    ladder.take(seen("new", {"a": False, "b": True}))
    assert len(ladder.trade_offs) == 1, "another look at it is no other trade-off"


def test_a_flaky_case_is_in_no_vector() -> None:
    best = seen("best", {"a": True, "coin": True})
    again = seen("best", {"a": True, "coin": False}, verdict=Verdict.NONE, flaky=("coin",))
    ladder = climbed(best, again)
    assert ladder.verified("best") == {(UNIT, "a")}
    assert ladder.take(seen("new", {"a": True, "b": True, "coin": False})) is Change.BETTER


def test_a_case_that_proves_flaky_later_is_taken_out_of_earlier_vectors() -> None:
    other = seen("other", {"a": False, "coin": False}, flaky=("coin",))
    ladder = climbed(seen("best", {"a": True, "b": False, "coin": True}), other)
    assert ladder.verified("best") == {(UNIT, "a")}
    assert ladder.take(seen("new", {"a": True, "b": True, "coin": False})) is Change.BETTER
    elsewhere = seen("other", {"a": False, "coin": False}, flaky=("coin",), command=INTEGRATION)
    assert climbed(seen("best", {"coin": True}), elsewhere).verified("best") == {(UNIT, "coin")}


def test_the_best_one_is_known_by_its_newest_look_that_counts_as_much() -> None:
    first, again = seen("best", [True, False]), seen("best", [True, False])
    weak = seen("best", [True], command=("written",), origin=Origin.MODEL_TESTS)
    ladder = climbed(first)
    assert ladder.take(again) is Change.SAME
    assert ladder.best is again
    ladder.take(weak)
    assert ladder.best is again
    assert ladder.look("best") is again
    only_weak = climbed(weak, first)
    assert only_weak.best is first
    assert climbed(weak).look("best") is weak
    assert climbed(weak).look("nobody") is None


def test_a_candidate_that_only_flaky_cases_speak_against_takes_nobodys_place() -> None:
    none = seen("new", {"a": True, "b": True, "coin": False}, verdict=Verdict.NONE, flaky=("coin",))
    assert change(none, seen("best", {"a": True, "b": False})) is Change.UNKNOWN


def test_candidates_are_compared_by_what_judged_both() -> None:
    ladder = climbed(seen("best", {"a": True}), seen("best", {"i": True, "j": False}, command=INTEGRATION))
    assert ladder.take(seen("new", {"a": True})) is Change.UNKNOWN, "integration has not judged it yet"
    assert best_of(ladder) == "best"
    assert ladder.take(seen("new", {"i": False, "j": True}, command=INTEGRATION)) is Change.TRADE_OFF
    assert ladder.take(seen("third", {"a": True})) is Change.UNKNOWN
    assert ladder.take(seen("third", {"i": True, "j": True}, command=INTEGRATION)) is Change.BETTER


def test_weak_origins_order_only_what_stronger_ones_leave_equal() -> None:
    def written(name: str, results: list[bool]) -> Signal:
        return seen(name, results, command=("pytest", "written"), origin=Origin.MODEL_TESTS)

    strong = seen("best", [True, False])
    assert change(written("new", [True, True]), strong) is Change.UNKNOWN
    assert change(seen("new", [True, False]), written("best", [True, True])) is Change.BETTER
    ladder = climbed(strong, written("best", [True, False]), seen("new", [True, False]))
    assert ladder.take(written("new", [True, True])) is Change.BETTER
    assert climbed(written("a", [False]), written("b", [True])).look("b") is not None
    assert ladder.verified("new") == {(UNIT, "0")}


def test_ties_go_to_fewer_changes() -> None:
    sizes = {"best": (1, 9), "small": (1, 2), "large": (2, 2)}
    ladder = Ladder(sizes.__getitem__)
    ladder.take(seen("best", [True, False]))
    assert ladder.take(seen("large", [True, False])) is Change.SAME
    assert ladder.take(seen("small", [True, False])) is Change.SMALLER
    assert best_of(ladder) == "small"


def test_the_size_of_a_change_counts_files_and_lines_not_bytes() -> None:
    def size(**changes: bytes | None) -> tuple[int, int]:
        return change_size(Candidate(BASE.digest, changes), BASE)

    assert size() == (0, 0)
    assert size(x=b"a\nb\nc\n") == (0, 0)
    assert size(x=b"a\nB\nc\n") == (1, 2)
    assert size(x=None) == (1, 3)
    assert size(x=b"a\nb\nc\n", y=b"new\n" * 5) == (1, 5)
    assert size(x=b"a\n" + b"long" * 999 + b"\nc\n") == (1, 2)


def judged(content: bytes, results: list[bool], *, verdict: Verdict | None = None) -> Judged:
    candidate = Candidate(BASE.digest, {"x": content})
    return Judged(candidate, seen(candidate.digest, results, verdict=verdict))


def test_the_most_promising_is_a_pass_then_most_cases_then_fewest_changes_then_first() -> None:
    small, large = judged(b"a\nB\nc\n", [True, False]), judged(b"A\nB\nC\n", [True, False])
    twin = judged(b"a\nb\nC\n", [True, False])
    worse, none = judged(b"", [False, False]), judged(b"z", [True, True], verdict=Verdict.NONE)
    passing = judged(b"1\n" * 99, [True, True])
    assert most_promising([worse, large, small, twin, none], BASE) is small
    assert most_promising([worse, large, small, none, passing], BASE) is passing
    assert most_promising([none], BASE) is None
    assert most_promising([], BASE) is None
