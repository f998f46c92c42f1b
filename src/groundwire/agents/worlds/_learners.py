"""Learners that act in an environment and need no model, all of them by name, and their critic."""

from __future__ import annotations

import math
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from groundwire.agents.patching._evidence import may_be_shown
from groundwire.agents.worlds._acting import moves_of_trial
from groundwire.agents.worlds._knowledge import KnownWorld, Moment, Plan, end_or_place
from groundwire.core._candidates import Candidate
from groundwire.core._contexts import Actor, ActorContext, Critic, CriticContext, Needs, Reflection
from groundwire.core._environments import Move, start_of
from groundwire.core._errors import ConfigError
from groundwire.core._experience import Experience, Known, place_of
from groundwire.core._prompt_text import plain
from groundwire.core._scenes import Scene, Status

# An actor that takes each place for a bandit with an arm for each action, and learns only how trials ended.


class BanditActor:
    """UCB1 (Auer, Cesa-Bianchi & Fischer 2002) at each place: the share of trials that were won after an action there,
    and more for what was seldom done. It knows nothing of where an action leads.

    What was done in this very task counts; at a place that no trial of it has seen, what was done there in the family.
    Within a trial, each use of an action counts as one that has not won yet, so that it does not walk in a circle.

    Args:
        explore: how much it prefers what it knows little of; the square root of 2 in the paper, for rewards of 0 to 1.

    Raises:
        ConfigError: an argument is out of range.
    """

    needs = Needs(lessons=0, experience=True)
    patient = True

    def __init__(self, explore: float = 0.5) -> None:
        if not explore >= 0:
            raise ConfigError("BanditActor got an argument out of range.", do="explore is at least 0.")
        self._explore = explore

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        """See `Actor`. One candidate: what was done in this trial, and one more action.

        Raises:
            CandidateError: the scene does not say what can be done.
        """
        here = Moment.of(context)
        place = place_of(here.scene)
        scenes = [here.start, *(move.scene for move in here.moves)]
        used = Counter(move.action for scene, move in zip(scenes, here.moves, strict=False) if scene == here.scene)
        experience = context.experience
        arms = _arms(experience.task if place in experience.task else experience.family, place)
        pulls = {action: arms.get(action, (0, 0))[0] + used[action] for action in here.scene.actions}
        total = sum(pulls.values())
        chance = here.chance()

        def worth(action: str) -> tuple[float, float]:
            count = pulls[action]
            if not count:
                return math.inf, chance.random()
            won = arms.get(action, (0, 0))[1]
            return won / count + self._explore * math.sqrt(math.log(total) / count), chance.random()

        return [here.then(max(here.scene.actions, key=worth))]


def _arms(known: Known, place: str) -> dict[str, tuple[int, int]]:
    """By action: trials that did it there, and how many of these were won."""
    there = known.get(place, {})
    return {a: (sum(f.trials for f in followed), sum(f.won for f in followed)) for a, followed in there.items()}


# An actor without memory that goes where it has not been: the least that exploring with a plan is worth.


class HeuristicActor:
    """Goes to the place that it has been in least often in this trial, and prefers what it has not tried there.

    It is node counting (Koenig & Szymanski, Value-update rules for real-time search, AAAI 1999), for worlds whose map
    it does not know: an action that it has not tried is thought to lead to a place where it has not been. It forgets
    everything with the trial.
    """

    needs = Needs(lessons=0)
    patient = True

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        """See `Actor`. One candidate: what was done in this trial, and one more action.

        Raises:
            CandidateError: the scene does not say what can be done.
        """
        here = Moment.of(context)
        scenes = [here.start, *(move.scene for move in here.moves)]
        been = Counter(scene.text for scene in scenes)
        led = {(s.text, move.action): move.scene.text for s, move in zip(scenes, here.moves, strict=False)}
        chance = here.chance()

        def worn(action: str) -> tuple[int, float]:
            to = led.get((here.scene.text, action))
            return (been[to] if to is not None else 0), chance.random()

        return [here.then(min(here.scene.actions, key=worn))]


# The actor that knows nothing and learns nothing: what every other must beat.


class RandomActor:
    """Does one of the things that the scene says can be done, each as likely as another."""

    needs = Needs(lessons=0)
    patient = True

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        """See `Actor`. One candidate: what was done in this trial, and one more action.

        Raises:
            CandidateError: the scene does not say what can be done.
        """
        here = Moment.of(context)
        return [here.then(here.chance().choice(here.scene.actions))]


# A critic without a model: it writes on file what failed, where, and what came of it.

CHARS = 160


class PlaceCritic:
    """Names the place and the action by which a trial was lost; of one that led nowhere, the place it came back to.

    It says nothing of the way there, so that what is lost at one place in one way is one lesson, however often.
    """

    async def reflect(self, context: CriticContext) -> Reflection:
        """See `Critic`; the same steps always give the same text."""
        signal, moves = context.failing.signal, moves_of_trial(context)
        if not moves or not may_be_shown(signal):
            return Reflection("not won", by="rule")
        scenes = [start_of(context.task).scene, *(move.scene for move in moves)]
        if moves[-1].scene.status is Status.LOST:
            return Reflection(_lost(scenes[-2], moves[-1]), by="rule")
        return Reflection(f"{_reason(signal.evidence.failed()[0].message)}. {_most_seen(scenes)}", by="rule")


def _lost(before: Scene, last: Move) -> str:
    return (
        f"Lost by “{_short(last.action)}” where one sees: {_short(before.text)}. It led to: {_short(last.scene.shown)}"
    )


def _reason(message: str) -> str:
    """The rule that ended it; what was seen then follows it in the message."""
    return _short(message.partition("\n")[0]).removesuffix(".")


def _most_seen(scenes: Sequence[Scene]) -> str:
    (text, times), *_ = Counter(scene.text for scene in scenes).most_common(1)
    return f"Of {len(scenes)} scenes, {times} showed: {_short(text)}"


def _short(text: str) -> str:
    return plain(text, CHARS)


# An actor that learns how a world works, and plans in what it has learned.

AT_ONCE = 64
"""Trials whose plans are kept between two steps; of a trial that waits longer, the plan is made again, and is the
same."""
EQUAL = 1e-9


class TabularActor:
    """Model-based: counts where actions led, and does what is worth the most by these counts.

    It is R-MAX (Brafman & Tennenholtz 2002): what was never tried is thought to be nearly as good as a win, so that it
    goes and looks, and plans by value iteration in the world that it knows by then. It works from what memory gave and
    from what it has seen in this trial. Its choices follow from these and the seed alone.
    """

    needs = Needs(lessons=0, experience=True)
    patient = True

    def __init__(self) -> None:
        self._minds: OrderedDict[tuple[str, int, int], _Mind] = OrderedDict()

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        """See `Actor`. One candidate: what was done in this trial, and one more action.

        Raises:
            CandidateError: the scene does not say what can be done.
        """
        here = Moment.of(context)
        plan = self._mind(here).plan_after(here.moves)
        place = place_of(here.scene)
        worth = [plan.worth(place, action) for action in here.scene.actions]
        best = [a for a, value in zip(here.scene.actions, worth, strict=True) if value >= max(worth) - EQUAL]
        return [here.then(here.chance().choice(best))]

    def _mind(self, here: Moment) -> _Mind:
        context = here.context
        key = (context.task.tree.digest, context.trial, context.seed)
        mind = self._minds.pop(key, None)
        if mind is None or not mind.is_of(context.experience, here.moves):
            mind = _Mind(context.experience, here)
        self._minds[key] = mind
        if len(self._minds) > AT_ONCE:
            self._minds.popitem(last=False)
        return mind


class _Mind:
    """What one trial knows, and its plan."""

    def __init__(self, experience: Experience, here: Moment) -> None:
        self._experience = experience
        self._start = here.start
        self._world = KnownWorld(experience, here.start)
        self._moves: list[Move] = []
        self._planned_from: str = place_of(here.start)
        self._plan: Plan | None = None

    def is_of(self, experience: Experience, moves: Sequence[Move]) -> bool:
        """True if it is of the trial that has made these moves."""
        return experience is self._experience and list(moves[: len(self._moves)]) == self._moves

    def plan_after(self, moves: Sequence[Move]) -> Plan:
        """The plan after these moves: made anew where the last of them showed something that was not known."""
        for move in moves[len(self._moves) :]:
            before = self._moves[-1].scene if self._moves else self._start
            if self._world.see(before, move):
                self._planned_from = end_or_place(move.scene)
                self._plan = None
            self._moves.append(move)
        if self._plan is None:
            self._plan = Plan(self._world.places, self._planned_from, has_chance=self._world.has_chance)
        return self._plan


# All learners that need no model, by name.


@dataclass(frozen=True)
class Learner:
    """What acts, and what says afterwards why it failed.

    Args:
        actor: proposes one action at a time.
        critic: writes the reason of each failure on file.
    """

    actor: Actor
    critic: Critic


LEARNERS: Mapping[str, Callable[[], Actor]] = {
    "random": RandomActor,
    "heuristic": HeuristicActor,
    "bandit": BanditActor,
    "tabular": TabularActor,
}
"""What makes each one's actor."""


def learner_named(name: str) -> Learner:
    """A fresh learner of that name.

    Args:
        name: one of `LEARNERS`.

    Raises:
        ConfigError: there is none of that name.
    """
    make = LEARNERS.get(name)
    if make is None:
        known = ", ".join(LEARNERS)
        raise ConfigError(f"There is no learner called {name!r:.80}.", do=f"Use one of {known}, or name a model.")
    return Learner(make(), PlaceCritic())
