"""What memory concludes from a trial in a world: where each action led, and how the trial ended that took it.

Both kinds of store count by the rules that are here, so that they answer alike.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from groundwire.core._candidates import Candidate
from groundwire.core._environments import ACTIONS, actions_in, scene_of
from groundwire.core._errors import CandidateError
from groundwire.core._experience import MOST, Experience, Followed, Known, known, place_of
from groundwire.core._scene import Scene, Status
from groundwire.core._signals import Signal, Verdict

WHY_CHARS = 160
NAME_CHARS = 16


@dataclass(frozen=True)
class StepKey:
    """Where a step is kept: these four are its key."""

    place: str
    move: str
    """Digest of the action, which may be too long for an index."""
    to: str
    """Where it led, or how it ended there."""


@dataclass(frozen=True)
class Step:
    """An action of one trial with all that it led to, each way counted for itself."""

    way: StepKey
    action: str
    followed: Followed


def steps_of(
    start: Scene | None, signals: Sequence[Signal], body_of: Callable[[str], bytes | None], *, won: bool
) -> list[Step]:
    """What one trial adds to experience, in the order of `StepKey`, the same whoever counts.

    A place and an action are credited with the trial once: where it led the last time. What ended the trial without a
    win says why.

    Args:
        start: what the world showed first; None where that is not known.
        signals: what the world said in the trial, in order.
        body_of: a candidate's body by its digest; None where it is gone.
        won: how the trial ended.
    """
    answers = {signal.candidate_digest: signal for signal in signals}
    counted: dict[StepKey, Step] = {}
    last: dict[tuple[str, str], StepKey] = {}
    for before, action, signal in _in_order(answers, body_of):
        scene = start if before is None else scene_of(answers[before])
        if scene is not None:
            step = _step(scene, action, signal)
            known_step = counted.get(step.way, step)
            times = known_step.followed.times + (step.way in counted)
            why = known_step.followed.why or step.followed.why
            counted[step.way] = replace(known_step, followed=replace(known_step.followed, times=times, why=why))
            last[step.way.place, step.way.move] = step.way
    for way in last.values():
        credited = replace(counted[way].followed, trials=1, won=int(won))
        counted[way] = replace(counted[way], followed=credited)
    return sorted(counted.values(), key=lambda step: (step.way.place, step.way.move, step.way.to))


def _in_order(
    answers: Mapping[str, Signal], body_of: Callable[[str], bytes | None]
) -> Iterator[tuple[str | None, str, Signal]]:
    """(the candidate before, None for the first; the action; what followed) of each step that can be told.

    One body holds all steps of its trial: those before it are known by the digests of what it began with, so that the
    longest is read alone, however long the trial was.
    """
    found: dict[str, tuple[int, str | None, str]] = {}
    for digest in reversed(list(answers)):
        body = None if digest in found else body_of(digest)
        if body is None:
            continue
        try:
            candidate = Candidate.from_bytes(body)
            actions = actions_in(candidate)
        except CandidateError:
            continue
        lines = (candidate.changes.get(ACTIONS) or b"").splitlines(keepends=True)
        before: str | None = None
        for count, action in enumerate(actions, 1):
            shorter = Candidate(candidate.base_digest, {ACTIONS: b"".join(lines[: count + 1])}).digest
            if shorter in answers and (count == 1 or before in answers):
                found.setdefault(shorter, (count, before, action))
            before = shorter
    for digest, (_, before, action) in sorted(found.items(), key=lambda item: (item[1][0], item[0])):
        yield before, action, answers[digest]


def _step(scene: Scene, action: str, signal: Signal) -> Step:
    after = scene_of(signal)
    is_over = after.status is not Status.RUNNING
    place = "" if is_over else place_of(after)
    move = hashlib.sha256(action.encode(errors="surrogatepass")).hexdigest()[:NAME_CHARS]
    followed = Followed(place, after.status, 0 if is_over else len(after.actions), times=1, why=_why(signal))
    return Step(StepKey(place_of(scene), move, place or after.status.value), action, followed)


def _why(signal: Signal) -> str:
    """How a trial ended that was not won; nothing where an answer key said so, which nobody may learn from."""
    if signal.verdict is not Verdict.FAIL or signal.oracle:
        return ""
    said = signal.evidence.failed()[0].message if signal.evidence.failed() else signal.evidence.detail
    return ": ".join(filter(None, (" ".join(line.split()) for line in said.splitlines())))[:WHY_CHARS]


class Experiences:
    """What the store that lives in memory counts: by circle."""

    def __init__(self) -> None:
        self._circles: dict[tuple[str, str], dict[StepKey, Step]] = {}

    def add(self, steps: Sequence[Step], task_id: str, family: str) -> None:
        """Counts one trial."""
        for circle in (("task", task_id), *([("family", family)] if family else [])):
            counts = self._circles.setdefault(circle, {})
            for step in steps:
                was = counts.pop(step.way, None)  # what was seen last stands last
                counts[step.way] = step if was is None else replace(was, followed=_both(was.followed, step.followed))

    def given(self, family: str, task_id: str) -> Experience:
        """What an actor is given."""
        return Experience(task=self._circle("task", task_id), family=self._circle("family", family))

    def _circle(self, scope: str, key: str) -> Known:
        steps = list(self._circles.get((scope, key), {}).values())
        return known((step.way.place, step.action, step.followed) for step in steps[-MOST:])


def _both(was: Followed, now: Followed) -> Followed:
    return replace(
        was,
        times=was.times + now.times,
        trials=was.trials + now.trials,
        won=was.won + now.won,
        why=was.why or now.why,
    )
