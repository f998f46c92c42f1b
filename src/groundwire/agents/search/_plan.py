"""What the search proposes next on one base tree: single edits best first, then several at once.

What a plan remembers are facts about the base tree and its edits (ranks, digests, which edit fixed which case), so it
may be thrown away at any time: it is made again from the context, and what was tried is skipped.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Set
from dataclasses import dataclass

from groundwire.agents.search._blame import Blame, blame
from groundwire.agents.search._candidates import Stream, factors
from groundwire.agents.search._examples import read_examples
from groundwire.agents.search._hints import hints, missing_names
from groundwire.agents.search._localise import LineCounts
from groundwire.agents.search._source import RankedEdit, apply, note, overlap
from groundwire.core._candidates import Candidate
from groundwire.core._contexts import ActorContext, Coverage, Judged
from groundwire.core._signals import Signal, Verdict

# Several edits at once: one more on top of those that fixed a part, and pairs of the most likely ones.

LIKELY = 250
"""Single edits, from the most likely on, that are paired with each other."""
PARTNERS = 2000
"""Single edits that are tried on top of those that made progress."""
MOST = 4
"""Edits in one candidate."""
CLEAN, MIXED, NONE = 0.5, 0.1, 0.02
"""Chance that an edit is a part of the repair: it fixed cases and broke none; it did both; it did neither."""


@dataclass(frozen=True)
class EditProgress:
    """What judged edits changed.

    Args:
        edits: the edits, made together.
        fixed: failing cases that pass with them.
        broken: passing cases that fail with them.
    """

    edits: tuple[RankedEdit, ...]
    fixed: frozenset[str]
    broken: frozenset[str]


@dataclass(frozen=True)
class _First:
    """What another edit is tried on top of."""

    edits: tuple[RankedEdit, ...]
    chance: float
    limit: int
    place: int
    progress: EditProgress | None = None


class Combinations:
    """Combinations of edits, best first.

    Args:
        single: the single edit at a place of their order, None after the last one.
        relevant: False where an edit can't help the cases that the first ones left failing.
    """

    def __init__(
        self,
        single: Callable[[int], RankedEdit | None],
        relevant: Callable[[EditProgress, RankedEdit], bool] = lambda _p, _e: True,
    ) -> None:
        self._single = single
        self._relevant = relevant
        self._heap: list[tuple[float, int, int]] = []
        self._firsts: list[_First] = []
        self._fixed: dict[tuple[RankedEdit, ...], int] = {}
        self._open_likely(0)

    def learn(self, progress: EditProgress) -> None:
        """Takes up edits that made progress, where the last one added something to what the others had fixed."""
        edits, fixed = progress.edits, len(progress.fixed)
        if edits in self._fixed or fixed <= self._fixed.get(edits[:-1], 0) or len(edits) >= MOST:
            return
        self._fixed[edits] = fixed
        chance = (MIXED if progress.broken else CLEAN) * min(1.0, 0.5 + 0.25 * fixed)
        self._open(_First(edits, chance, PARTNERS, -1, progress), 0)

    def best(self) -> float:
        """The score of the next combination, comparable with that of single edits; 0 where there is none."""
        return -self._heap[0][0] if self._heap else 0.0

    def pop(self) -> tuple[RankedEdit, ...] | None:
        """The next combination that can be made; None after the last one."""
        while self._heap:
            _, index, partner = heapq.heappop(self._heap)
            first, second = self._firsts[index], self._single(partner)
            self._push(index, partner + 1)
            if first.progress is None and partner == first.place + 1:
                self._open_likely(partner)
            if second is None or not all(_compatible(edit, second) for edit in first.edits):
                continue
            if first.progress is None or self._relevant(first.progress, second):
                return (*first.edits, second)
        return None

    def _open_likely(self, place: int) -> None:
        edit = self._single(place) if place < LIKELY else None
        if edit is not None:
            self._open(_First((edit,), NONE * edit.score, LIKELY, place), place + 1)

    def _open(self, first: _First, partner: int) -> None:
        self._firsts.append(first)
        self._push(len(self._firsts) - 1, partner)

    def _push(self, index: int, partner: int) -> None:
        first = self._firsts[index]
        second = self._single(partner) if partner < first.limit else None
        if second is not None:
            heapq.heappush(self._heap, (-first.chance * second.score, index, partner))


def _compatible(first: RankedEdit, second: RankedEdit) -> bool:
    return first.path != second.path or not overlap(first.proposal.splices, second.proposal.splices)


# The search on one base tree: what is proposed next, whatever was proposed before.

MAX_TEST_BYTES = 1024 * 1024
FEWEST = 12
"""Candidates that are worth being judged before more files are read."""
OPENED_AT_ONCE = 4
"""Groups of files that are read for one proposal, once it has so many; for the first one: a single group."""
COMBINE_FROM = 300
"""Single edits before the first combination; what they fixed decides which combinations are worth it."""


@dataclass(frozen=True, slots=True)
class _Item:
    """Edits that make a candidate, known by its digest."""

    edits: tuple[RankedEdit, ...]
    digest: str


class SearchPlan:
    """A search.

    Args:
        context: the first context it is asked for.
        baseline: the base tree's failure; None where it was not judged.
        formula: of the fault localisation.
        seed: orders edits of equal score.
    """

    def __init__(
        self, context: ActorContext, baseline: Signal | None, formula: Callable[[LineCounts], float], seed: int
    ) -> None:
        task = context.task
        self._tree = task.tree
        self._passed = baseline.evidence.passed() if baseline else frozenset[str]()
        self._failed = frozenset(c.id for c in baseline.evidence.failed()) if baseline else frozenset[str]()
        self._coverage = context.coverage
        where: Blame = blame(task, baseline, context.coverage, formula)
        tests = [content for path, content in sorted(task.tree.files.items()) if _is_test(path, content, context)]
        examples = read_examples(tests, (task.tree.files[path] for path in where.paths))
        learned, said = factors(context.edit_statistics), hints(baseline)
        likelier = {name: learned.get(name, 1.0) * said.get(name, 1.0) for name in (*learned, *said)}
        self._stream = Stream(task.tree, where, examples, likelier, seed, missing_names(baseline))
        self._combined: Combinations | None = None
        self._progress: list[EditProgress] = []
        self._learned: set[str] = set()
        self._next_single = 0
        self._items: list[_Item] = []
        self._by_digest: dict[str, _Item] = {}
        self._keys: set[str] = set()

    def learn(self, judged: Iterable[Judged]) -> None:
        """Takes up which edits fixed a part."""
        for one in judged:
            item = self._by_digest.get(one.candidate.digest)
            if item is None or item.digest in self._learned or one.signal.verdict is not Verdict.FAIL:
                continue
            self._learned.add(item.digest)
            passed = one.signal.evidence.passed()
            # a run that ended early says nothing of the cases behind that
            broken = {case.id for case in one.signal.evidence.failed()} if one.signal.partial else self._passed - passed
            progress = EditProgress(item.edits, self._failed & passed, self._passed & broken)
            if progress.fixed:
                self._progress.append(progress)
                if self._combined is not None:
                    self._combined.learn(progress)

    def propose(self, tried: Set[str], n: int) -> list[Candidate]:
        """The next candidates that are not among those tried, best first.

        Args:
            tried: digests of candidates.
            n: how many at most.
        """
        found: list[Candidate] = []
        room = self._stream.opened + OPENED_AT_ONCE if self._stream.opened else 1

        def is_enough() -> bool:
            """True where those that were found can be judged while it is seen to the rest."""
            return len(found) >= FEWEST and self._stream.opened >= room and not self._stream.is_ready(self._next_single)

        for item in self._all(is_enough):
            if len(found) >= n:
                break
            if item.digest not in tried:
                found.append(self._candidate(item.edits))
        return found

    def _all(self, is_enough: Callable[[], bool]) -> Iterator[_Item]:
        index = 0
        while True:
            while index >= len(self._items):
                if is_enough():
                    return
                edits = self._next()
                if edits is None:
                    return
                self._take(edits)
            yield self._items[index]
            index += 1

    def _next(self) -> tuple[RankedEdit, ...] | None:
        single = self._stream.at(self._next_single)
        if self._combined is None and (single is None or self._next_single >= COMBINE_FROM):
            self._combined = Combinations(self._stream.at, self._relevant)
            for progress in self._progress:
                self._combined.learn(progress)
        if single is not None and (self._combined is None or single.score >= self._combined.best()):
            self._next_single += 1
            return (single,)
        return self._combined.pop() if self._combined is not None else None

    def _take(self, edits: tuple[RankedEdit, ...]) -> None:
        key = self._stream.key(edits)
        if key is None or key in self._keys:
            return
        self._keys.add(key)
        item = _Item(edits, self._candidate(edits).digest)
        if item.digest not in self._by_digest:
            self._by_digest[item.digest] = item
            self._items.append(item)

    def _candidate(self, edits: tuple[RankedEdit, ...]) -> Candidate:
        ordered = sorted(edits, key=lambda e: (e.path, e.line))
        changes: dict[str, bytes | None] = {}
        notes: list[str] = []
        for path in sorted({e.path for e in edits}):
            parsed = self._stream.parsed(path)
            assert parsed is not None, "an edit comes from a parsed file"
            mine = [e for e in ordered if e.path == path]
            changes[path] = apply(parsed.source.original, (s for e in mine for s in e.proposal.splices))
            notes.append(note(parsed.source, mine))
        return Candidate(self._tree.digest, changes, tuple(e.name for e in ordered), "; ".join(notes))

    def _relevant(self, progress: EditProgress, edit: RankedEdit) -> bool:
        """False where none of the cases that are left failing ran the edit's line."""
        left = self._failed - progress.fixed
        return not self._coverage or not left or _runs(self._coverage, left, edit)


def _runs(coverage: Coverage, cases: frozenset[str], edit: RankedEdit) -> bool:
    known = [coverage[case] for case in cases if case in coverage]
    if not known:
        return True
    # what ran outside of all cases (imports) may matter to each of them
    known.append(coverage.get("", {}))
    return any(abs(line - edit.line) <= 1 for files in known for line in files.get(edit.path, ()))


def _is_test(path: str, content: bytes, context: ActorContext) -> bool:
    return path.endswith(".py") and len(content) <= MAX_TEST_BYTES and context.task.is_test(path)
