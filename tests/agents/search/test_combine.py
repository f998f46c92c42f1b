"""Combinations: those on top of progress first, none that overlap, none twice."""

from __future__ import annotations

from groundwire.agents.search._plan import MOST, Combinations, Progress
from groundwire.agents.search._source import Edit, Proposal, Splice

EDITS = [Edit("m.py", Proposal("n", (Splice(i, i + 1, "x"),)), i, 1.0 - i / 100) for i in range(20)]


def single(place: int) -> Edit | None:
    return EDITS[place] if place < len(EDITS) else None


def all_of(pairs: Combinations) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    while (pair := pairs.pop()) is not None:
        found.append((pair[0].line, pair[1].line))
    return found


def progress(place: int, fixed: str = "a", broken: str = "") -> Progress:
    return Progress((EDITS[place],), frozenset(fixed), frozenset(broken))


def test_all_pairs_of_likely_edits_once_best_first() -> None:
    pairs = Combinations(single)
    scores: list[float] = []
    found: list[tuple[int, int]] = []
    while True:
        best = pairs.best()
        pair = pairs.pop()
        if pair is None:
            break
        scores.append(best)
        found.append((pair[0].line, pair[1].line))
    assert len(found) == len(set(found)) == 20 * 19 // 2
    assert scores == sorted(scores, reverse=True)
    assert found[0] == (0, 1)
    assert pairs.best() == 0.0


def test_progress_comes_first() -> None:
    pairs = Combinations(single)
    before = pairs.best()
    pairs.learn(progress(7))
    assert pairs.best() > before
    assert [pairs.pop() for _ in range(3)] == [(EDITS[7], EDITS[i]) for i in range(3)]


def test_what_breaks_as_much_as_it_fixes_comes_later() -> None:
    pairs = Combinations(single)
    pairs.learn(progress(7, broken="b"))
    mixed = pairs.best()
    pairs.learn(progress(8))
    assert pairs.best() > mixed
    assert pairs.pop() == (EDITS[8], EDITS[0])


def test_what_fixed_nothing_or_is_known_changes_nothing() -> None:
    pairs = Combinations(single)
    before = pairs.best()
    pairs.learn(progress(3, fixed=""))
    assert pairs.best() == before
    pairs.learn(progress(3))
    pairs.learn(progress(3))
    assert sum(first == 3 for first, _ in all_of(pairs)) == 19 + 16


def test_overlapping_edits_are_not_combined() -> None:
    wide = Edit("m.py", Proposal("n", (Splice(0, 5, ""),)), 99, 1.0)
    same = Edit("m.py", Proposal("n", (Splice(2, 3, ""),)), 98, 0.9)
    other = Edit("other.py", Proposal("n", (Splice(2, 3, ""),)), 97, 0.8)
    edits = [wide, same, other]
    pairs = Combinations(lambda i: edits[i] if i < 3 else None)
    assert all_of(pairs) == [(99, 97), (98, 97)]


def test_irrelevant_partners_are_left_out() -> None:
    pairs = Combinations(lambda i: EDITS[i] if i < 4 else None, lambda p, e: e.line == 2)
    pairs.learn(progress(0))
    assert all_of(pairs)[0] == (0, 2)


def test_nothing_to_combine() -> None:
    assert Combinations(lambda _: None).pop() is None


def test_a_third_edit_on_top_of_two_that_fixed_more() -> None:
    combined = Combinations(single)
    combined.learn(progress(7))
    before = combined.best()
    both = (EDITS[7], EDITS[3])
    combined.learn(Progress(both, frozenset("a"), frozenset()))
    assert combined.best() == before, "the second edit added nothing"
    combined.learn(Progress(both, frozenset("ab"), frozenset()))
    assert combined.pop() == (*both, EDITS[0])


def test_the_number_of_edits_is_bounded() -> None:
    combined = Combinations(single)
    before = combined.best()
    combined.learn(Progress(tuple(EDITS[:MOST]), frozenset("abcd"), frozenset()))
    assert combined.best() == before
