"""What a learner knows of a world: where it stands, what it has seen, and a plan in what is known in part."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from groundwire.core._candidates import Candidate
from groundwire.core._contexts import ActorContext
from groundwire.core._environments import Move, attempt, moves_so_far, start_of
from groundwire.core._errors import CandidateError
from groundwire.core._experience import Experience, Known, place_of
from groundwire.core._scenes import Scene, Status

# What is known of a world: of what memory gave, and of what was seen in the trial that goes on.

WON = Status.WON.value
LOST = Status.LOST.value
OTHERS = 5.0
"""As many answers of this task's own world weigh as much as all of the others of its family: its seed is its chance,
and what has failed in it would fail again."""
STEADY = 3
"""Actions that must have been repeated until a world may be taken to have no chance in it."""
CHANCE = 0.2
"""Of the actions that were repeated, those that led to several places, from which on chance is at work. Fewer are no
sign of it: what can't be seen from there had changed, such as a door that was opened from its other side."""

Ways = dict[str, dict[str, dict[str, float]]]
"""Place → action → where it led → how often."""


def end_or_place(scene: Scene) -> str:
    """Where one is, or how it ended: both have one kind of name in `Places`."""
    return place_of(scene) if scene.status is Status.RUNNING else scene.status.value


class Places:
    """For each place how many things can be done there, and for each of these how often it led where.

    An end is a place too, by the name of its status.
    """

    def __init__(self) -> None:
        self.choices: dict[str, int] = {}
        self.led: Ways = {}

    def add(self, place: str, action: str, to: str, times: float) -> None:
        """Counts `times` more."""
        ways = self.led.setdefault(place, {}).setdefault(action, {})
        ways[to] = ways.get(to, 0.0) + times

    def take(self, known: Known, *, but: Ways) -> None:
        """Counts what memory knows, but for what was done in the places of `but`."""
        for place, actions in known.items():
            for action, all_followed in actions.items():
                for followed in all_followed:
                    if followed.place:
                        self.choices[followed.place] = followed.choices
                    if action not in but.get(place, {}):
                        self.add(place, action, followed.place or followed.status.value, followed.times)

    @property
    def has_chance(self) -> bool:
        """True if chance decides where actions lead."""
        return _by_chance(*_counted(self.led))


class KnownWorld:
    """What one trial knows.

    The family's tasks are worlds of other seeds. What they have in common shows in all of them together, chance
    included. But where this task's own world has answered the same when it was asked the same, it is the one that
    counts, for all that was done in it.

    Args:
        experience: what memory gave.
        start: the scene that the trial began with.
    """

    def __init__(self, experience: Experience, start: Scene) -> None:
        self._experience = experience
        self._choices = {place_of(start): len(start.actions)}
        self._own = Places()
        self._own.take(experience.task, but={})
        self._repeated, self._open = _counted(self._own.led)
        self.places = self._together()

    def see(self, before: Scene, move: Move) -> bool:
        """Takes in what an action has just led to; True where that was not known.

        What only confirms what is known changes nothing: it counts from the next trial on, when memory has it.
        """
        was_alone = self._is_alone
        place, action, to = place_of(before), move.action, end_or_place(move.scene)
        if move.scene.status is Status.RUNNING:
            self._choices[to] = self.places.choices[to] = len(move.scene.actions)
        was_open = _is_open(self._own.led.get(place, {}).get(action, {}))
        self._own.add(place, action, to, 1.0)
        ways = self._own.led[place][action]
        self._repeated += sum(ways.values()) == 2
        self._open += _is_open(ways) and not was_open
        if self._is_alone is not was_alone:
            self.places = self._together()
            return True
        thought = self.places.led.setdefault(place, {}).setdefault(action, {})
        first = was_alone and sum(ways.values()) == 1  # until now, others of the family have told of it
        if to in thought and (len(thought) == 1 or not first):
            return False
        if first:
            thought.clear()
        self.places.add(place, action, to, _weight(thought))
        return True

    @property
    def has_chance(self) -> bool:
        """True if what an action leads to is a matter of chance: not where worlds of other seeds only look the same."""
        return not self._is_alone and self.places.has_chance

    @property
    def _is_alone(self) -> bool:
        return self._repeated >= STEADY and not _by_chance(self._repeated, self._open)

    def _together(self) -> Places:
        made = Places()
        made.take(self._experience.family or self._experience.task, but=self._own.led if self._is_alone else {})
        made.choices.update(self._choices)
        for place, actions in self._own.led.items():
            for action, ways in actions.items():
                weight = _weight(made.led.get(place, {}).get(action, {}))
                for to, times in ways.items():
                    made.add(place, action, to, times * weight)
        return made


def _counted(led: Ways) -> tuple[int, int]:
    """Of all that was done: what was repeated, and what led to several places."""
    done = [ways for actions in led.values() for ways in actions.values()]
    return sum(sum(ways.values()) > 1 for ways in done), sum(map(_is_open, done))


def _by_chance(repeated: int, opened: int) -> bool:
    return opened > CHANCE * repeated


def _is_open(ways: Mapping[str, float]) -> bool:
    """True if chance decided where an action led. A loss beside one place is no sign of it: time may have run out."""
    return sum(to not in (WON, LOST) for to in ways) > 1


def _weight(others: Mapping[str, float]) -> float:
    """What one answer of this task's own world counts, beside those of the family."""
    return max(1.0, sum(others.values()) / OTHERS)


# A plan in a world that is known in part: what each place is worth, if what is not known yet may be good.

DISCOUNT = 0.999
"""Of one action: small, so that a long way that surely wins is worth more than a near place that nobody knows."""
UNKNOWN = 0.9
"""What an action that was never tried is thought to be worth: nearly a win (R-MAX)."""
TRIES = 10
"""What is tried so often is known, in a world with chance in it; in one without, a single try is enough."""
LEAST = 1e-4
"""Changes of a value that are worth going after."""


class Plan:
    """The value of every place that can be reached from one, for the best that can be done (value iteration).

    Args:
        places: what is known.
        start: where one is.
        has_chance: True if an action may lead to several places from one.
    """

    def __init__(self, places: Places, start: str, *, has_chance: bool) -> None:
        self._places = places
        self._has_chance = has_chance
        self.values: dict[str, float] = {WON: 1.0, LOST: 0.0}
        self._into: dict[str, list[tuple[str, Mapping[str, float]]]] = {}
        for place in self._reached(start):
            self.values[place] = self._hope(place)
            for ways in places.led.get(place, {}).values():
                for to in ways:
                    self._into.setdefault(to, []).append((place, ways))
        self._raise()

    def _reached(self, start: str) -> Iterable[str]:
        found = {start: None}
        waiting = [start]
        while waiting:
            for ways in self._places.led.get(waiting.pop(), {}).values():
                for to in ways:
                    if to not in found and to not in (WON, LOST):
                        found[to] = None
                        waiting.append(to)
        return found

    def _hope(self, place: str) -> float:
        """What it is worth that something was never tried there."""
        untried = self._places.choices.get(place, 0) > len(self._places.led.get(place, {}))
        return DISCOUNT * UNKNOWN if untried else 0.0

    def _raise(self) -> None:
        """Values only ever grow, from what is sure on, the highest first: in a world without chance each place is
        reached once, as in Dijkstra's algorithm; with chance it is prioritized sweeping (Moore & Atkeson 1993)."""
        queue = [(-value, place) for place, value in self.values.items()]
        heapq.heapify(queue)
        while queue:
            low, place = heapq.heappop(queue)
            if -low < self.values[place]:
                continue
            for before, ways in self._into.get(place, ()):
                worth = self._worth(ways)
                if worth > self.values[before] + LEAST:
                    self.values[before] = worth
                    heapq.heappush(queue, (-worth, before))

    def _worth(self, ways: Mapping[str, float]) -> float:
        total = sum(ways.values())
        if self._has_chance and total < TRIES:
            return DISCOUNT * UNKNOWN
        if not self._has_chance and len(ways) > 1:
            # without chance, what leads somewhere does not lose as well: the trial's time had run out
            likeliest = max(ways, key=lambda to: (ways[to], to not in (WON, LOST)))
            return DISCOUNT * self.values[likeliest]
        return DISCOUNT * sum(self.values[to] * times for to, times in ways.items()) / total

    def worth(self, place: str, action: str) -> float:
        """What it is worth to do that there."""
        ways = self._places.led.get(place, {}).get(action)
        return self._worth(ways) if ways else DISCOUNT * UNKNOWN


# Where an actor without a model stands: what it did in this trial, and what it can do now.


@dataclass(frozen=True)
class Moment:
    """One place in one trial.

    Args:
        context: the actor's.
        start: the scene that the trial began with.
        moves: what was done in it.
        scene: what is seen now; it names at least one action.
    """

    context: ActorContext
    start: Scene
    moves: Sequence[Move]
    scene: Scene

    @classmethod
    def of(cls, context: ActorContext) -> Moment:
        """Where an actor stands.

        Raises:
            CandidateError: the scene does not say what can be done.
        """
        start, moves = start_of(context.task).scene, moves_so_far(context.judged, context.failing)
        scene = moves[-1].scene if moves else start
        if not scene.actions:
            raise CandidateError(
                "This world does not say what can be done.", do="Use an actor with a model, or a world that does."
            )
        return cls(context, start, moves, scene)

    def chance(self) -> Random:
        """The same for the same seed, trial and step, whoever asks."""
        return Random(f"{self.context.seed}/{self.context.trial}/{len(self.moves)}")

    def then(self, action: str) -> Candidate:
        """What was done in this trial, and one more action."""
        return attempt(self.context.task, self.context.trial, [*(move.action for move in self.moves), action])
