"""What grows by one with each step, handed out as it is now: nothing is copied, and nobody's view of it changes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import islice
from typing import TypeVar, cast, overload

from groundwire.contexts import Judged

__all__ = ["FirstKeys", "JudgedSoFar", "Part"]

T = TypeVar("T")


class Part(Sequence[T]):
    """A part of a list that only ever grows at its end.

    Args:
        whole: the list.
        start: index of the first item.
        stop: index behind the last one.
    """

    __slots__ = ("_start", "_stop", "_whole")

    def __init__(self, whole: Sequence[T], start: int, stop: int) -> None:
        self._whole = whole
        self._start = start
        self._stop = stop

    def __len__(self) -> int:
        return self._stop - self._start

    @overload
    def __getitem__(self, index: int) -> T: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[T]: ...

    def __getitem__(self, index: int | slice) -> T | Sequence[T]:
        places = range(self._start, self._stop)[index]
        return self._whole[places] if isinstance(places, int) else tuple([self._whole[i] for i in places])

    def __iter__(self) -> Iterator[T]:
        return map(self._whole.__getitem__, range(self._start, self._stop))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(cast("Sequence[object]", other))

    def __repr__(self) -> str:
        return repr(tuple(self))

    __hash__ = None  # pyright: ignore[reportAssignmentType]  as a list: two that are equal may be told apart later


class FirstKeys(Set[str]):
    """The first keys of a mapping that only ever gets new ones.

    Args:
        numbers: each key's number, in the order in which they came.
        count: how many there are now.
    """

    __slots__ = ("_count", "_numbers")

    def __init__(self, numbers: Mapping[str, int], count: int) -> None:
        self._numbers = numbers
        self._count = count

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and self._numbers.get(key, self._count) < self._count

    def __iter__(self) -> Iterator[str]:
        return islice(self._numbers, self._count)

    def __len__(self) -> int:
        return self._count

    def __repr__(self) -> str:
        return repr(set(self))

    @classmethod
    def _from_iterable(cls, it: Iterable[str]) -> frozenset[str]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return frozenset(it)


class JudgedSoFar:
    """What was judged, in order, trial by trial; of several looks of one tool at one candidate the last counts."""

    def __init__(self) -> None:
        self._all: list[Judged] = []
        self._places: dict[tuple[int, str, str], int] = {}
        self._ends: dict[int, tuple[int, int]] = {}
        """By trial: where it begins and ends."""
        self._last = 0

    def add(self, judged: Judged) -> None:
        """One more signal with its candidate."""
        signal = judged.signal
        key = (signal.trial, signal.issuer, signal.candidate_digest)
        place = self._places.get(key)
        if place is not None:
            # those who hold a part keep what they were given
            self._all = [*self._all[:place], judged, *self._all[place + 1 :]]
            return
        if signal.trial < self._last:
            self._insert(judged)
            return
        begin, _ = self._ends.get(signal.trial, (len(self._all), 0))
        self._places[key] = len(self._all)
        self._all.append(judged)
        self._ends[signal.trial] = (begin, len(self._all))
        self._last = signal.trial

    def of(self, trial: int) -> Sequence[Judged]:
        """One trial's."""
        return Part(self._all, *self._ends.get(trial, (0, 0)))

    def until(self, trial: int) -> Sequence[Judged]:
        """Those of all trials up to and with that one."""
        if trial >= self._last:
            return Part(self._all, 0, len(self._all))
        return Part(self._all, 0, max((end for known, (_, end) in self._ends.items() if known <= trial), default=0))

    def _insert(self, judged: Judged) -> None:
        """A trial before the last one is judged once more, by a tool that has the last word."""
        everything = sorted([*self._all, judged], key=lambda j: j.signal.trial)
        self._all, self._places, self._ends, self._last = [], {}, {}, 0
        for each in everything:
            self.add(each)
