"""Lessons of the store that lives in memory: what `derive` and `recall` do for a database, over plain dictionaries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import islice

from groundwire.core._contexts import Lesson
from groundwire.core._records import LessonMark, Mark, ReflectionRecord
from groundwire.core._signals import Signal
from groundwire.memory._meaning import nearest
from groundwire.memory._policy import RECALL_SCAN, SAME_TASK_SCAN, Known, State, backs, fingerprint, lesson_of, place_of
from groundwire.memory._ranking import Chooser, RankedLesson, RecallQuery, rank_family, rank_texts
from groundwire.memory._usefulness import NO_TRIALS, PassRate, Standing, expected_rate

CAN_BE_ACTIVE = (State.ACTIVE, State.QUARANTINED)
"""What never was, or is another one's repeat, never comes back, and is not looked through."""


@dataclass(eq=False)
class _Entry:
    """A reflection with what is concluded about it; see `derived_tables.LessonRow`."""

    number: int
    reflection: ReflectionRecord
    state: State
    root: str
    fresh: int
    standing: Standing = field(default_factory=Standing)
    vector: bytes = b""

    def known(self) -> Known:
        return Known(self.reflection.id, self.root, self.reflection.text)

    def candidate(self) -> RankedLesson:
        reflection = self.reflection
        return RankedLesson(
            self.number,
            reflection.id,
            self.root,
            reflection.task_id,
            reflection.text,
            self.fresh,
            reflection.frames,
            self.standing,
        )


class LessonBook:
    """All lessons of one store."""

    def __init__(self) -> None:
        self._entries: dict[str, _Entry] = {}
        # of those that can be active
        self._by_task: dict[str, list[_Entry]] = {}
        self._by_family: dict[str, list[_Entry]] = {}
        self._firsts: dict[tuple[str, str], _Entry] = {}
        """By family (or task, where it has none) and words: the first lesson that says this."""
        self._rates: dict[tuple[str, str], PassRate] = {}
        self._by_number: dict[int, _Entry] = {}

    def learn(self, number: int, reflection: ReflectionRecord, signal: Signal | None, given: Sequence[str]) -> None:
        """Makes a lesson of a reflection.

        Args:
            number: its place in the ledger.
            reflection: what was written.
            signal: what stands behind it, if that is known.
            given: ids of lessons that its episode was given, newest first.
        """
        state, root = State.UNBACKED, reflection.id
        if signal is not None and backs(signal.verdict, signal.origin):
            recalled = [self._entries[i].known() for i in given if i in self._entries]
            own = [e.known() for e in islice(_active(self._by_task.get(reflection.task_id, ())), SAME_TASK_SCAN)]
            twin = self._firsts.get(_words_key(reflection))
            first = (twin.root, twin.state) if twin else None
            state, root = place_of(reflection, given=recalled, own=own, twin=first)
            if state is State.REPEAT and root in self._entries:
                self._entries[root].fresh = number
        entry = self._entries[reflection.id] = _Entry(number, reflection, state, root, number)
        self._by_number[number] = entry
        if state in CAN_BE_ACTIVE:
            self._by_task.setdefault(reflection.task_id, []).append(entry)
            self._by_family.setdefault(reflection.family, []).append(entry)
        if root == reflection.id:
            self._firsts.setdefault(_words_key(reflection), entry)

    def settle(self, number: int, episode: tuple[str, str], given: Iterable[str], *, passed: bool) -> list[LessonMark]:
        """Links a trial's outcome to what it was given; see `derive.settle`.

        Args:
            number: the outcome's place in the ledger.
            episode: the task's id and family.
            given: ids of the lessons that the trial was given.
            passed: what it came to.
        """
        circles = [("task", episode[0]), ("family", episode[1]), ("all", "")]
        rates = [self._rates.get(circle, NO_TRIALS) for circle in circles]
        expected = expected_rate(*rates)
        marks: list[LessonMark] = []
        for root in sorted({self._entries[i].root for i in given if i in self._entries}):
            entry = self._entries.get(root)
            if entry is None:
                continue
            was = entry.standing
            entry.standing = Standing(was.trials + 1, was.passed + passed, was.expected + expected)
            entry.fresh = number if passed else entry.fresh
            if entry.state is State.ACTIVE and entry.standing.lowers_success:
                reason = str(entry.standing)
                marks.append(LessonMark(lesson_id=root, mark=Mark.QUARANTINED, reason=reason, by="rule"))
        for circle, rate in zip(circles, rates, strict=True):
            self._rates[circle] = PassRate(rate.trials + 1, rate.passed + passed)
        return marks

    def decide(self, mark: LessonMark) -> None:
        """Carries out a decision."""
        named = self._entries.get(mark.lesson_id)
        root = named.root if named else mark.lesson_id
        same = [e for e in self._entries.values() if e.root == root]
        match mark.mark:
            case Mark.QUARANTINED:
                _move(same, State.ACTIVE, State.QUARANTINED)
            case Mark.RELEASED:
                _move(same, State.QUARANTINED, State.ACTIVE)
                for entry in same:
                    entry.standing = Standing()
            case Mark.FORGOTTEN:
                if named is not None:
                    self._drop(named)

    def lessons(self, ids: Sequence[str]) -> list[Lesson]:
        """The lessons of these ids, as far as they are there."""
        return [lesson_of(self._entries[i].reflection) for i in ids if i in self._entries]

    def recall(self, question: RecallQuery, asked: bytes = b"") -> list[Lesson]:
        """See `groundwire.core._records.Store.recall`.

        Args:
            question: what is asked.
            asked: its vector; empty: words alone are compared.
        """
        chooser = Chooser(question)
        signature = question.signature
        own = _candidates(_newest(self._by_task.get(question.task_id, ())))
        if signature:
            chooser.offer((c for c in own if self._signature(c) == signature), lambda _: "signature+task")
            _offer_family(chooser, self._alike(question), question, asked, "signature+family")
        chooser.offer(own, lambda _: "task")
        _offer_family(chooser, self._related(question), question, asked, "family")
        return [lesson_of(self._entries[c.id].reflection, c.why) for c in chooser.chosen]

    def without_vector(self, wanted: RecallQuery | AbstractSet[str]) -> dict[int, str]:
        """Texts by number of lessons that have no vector: of those a question looks at, or of these ids."""
        if isinstance(wanted, RecallQuery):
            looked_at = [*self._alike(wanted), *self._related(wanted)]
        else:
            looked_at = _active(e for i in wanted if (e := self._entries.get(i)) and e.reflection.family)
        return {e.number: e.reflection.text for e in looked_at if not e.vector}

    def keep_vectors(self, vectors: Mapping[int, bytes]) -> None:
        """Has them with their lessons, as far as these are still there."""
        for number, vector in vectors.items():
            if number in self._by_number:
                self._by_number[number].vector = vector

    def _alike(self, question: RecallQuery) -> list[_Entry]:
        """The newest of its family that failed in the same way."""
        return _newest(e for e in self._of_family(question) if e.reflection.signature == question.signature != "")

    def _related(self, question: RecallQuery) -> list[_Entry]:
        """The newest of its family."""
        return _newest(self._of_family(question))

    def _of_family(self, question: RecallQuery) -> Iterable[_Entry]:
        entries = self._by_family.get(question.family, ()) if question.family else ()
        return (entry for entry in entries if entry.reflection.task_id != question.task_id)

    def _signature(self, candidate: RankedLesson) -> str:
        return self._entries[candidate.id].reflection.signature

    def _drop(self, entry: _Entry) -> None:
        reflection = self._entries.pop(entry.reflection.id).reflection
        del self._by_number[entry.number]
        for listed in (self._by_task.get(reflection.task_id), self._by_family.get(reflection.family)):
            if listed is not None and entry in listed:
                listed.remove(entry)
        if self._firsts.get(_words_key(reflection)) is entry:
            del self._firsts[_words_key(reflection)]


def _words_key(reflection: ReflectionRecord) -> tuple[str, str]:
    circle = f"family {reflection.family}" if reflection.family else f"task {reflection.task_id}"
    return circle, fingerprint(reflection.text)


def _active(entries: Iterable[_Entry]) -> list[_Entry]:
    return sorted((e for e in entries if e.state is State.ACTIVE), key=lambda e: -e.fresh)


def _newest(entries: Iterable[_Entry]) -> list[_Entry]:
    return _active(entries)[:RECALL_SCAN]


def _candidates(entries: Iterable[_Entry]) -> list[RankedLesson]:
    return [entry.candidate() for entry in entries]


def _offer_family(chooser: Chooser, pool: Sequence[_Entry], question: RecallQuery, asked: bytes, tier: str) -> None:
    if chooser.full or not pool:
        return
    by_words = rank_texts({e.number: e.reflection.text for e in pool}, question.terms)
    by_meaning = nearest(((e.number, e.vector) for e in pool), asked) if asked else ()
    ordered, why = rank_family(_candidates(pool), question, by_words, by_meaning)
    chooser.offer(ordered, lambda candidate: f"{tier}: {why(candidate)}")


def _move(entries: Iterable[_Entry], before: State, after: State) -> None:
    for entry in entries:
        if entry.state is before:
            entry.state = after
