"""Environments: worlds that an actor acts in, one step at a time, and that alone know whether it has won.

    task = environment_task(Maze(), id="maze-7", seed=7)      what it shows first is part of the task
    candidate = attempt(task, trial, ("north", "east"))       all actions of one trial; its digest binds them

A candidate is the whole sequence of actions of one trial. It binds the world as well: the task's tree holds the seed
and what the world shows first, and a candidate's digest covers the tree's.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol, runtime_checkable

from groundwire.core._candidates import Candidate, Tree
from groundwire.core._contexts import Judged
from groundwire.core._errors import CandidateError, ConfigError, TaskError
from groundwire.core._scene import ACTION_CHARS, Scene, Status, cleaned, tidied
from groundwire.core._signals import Signal, Verdict, canonical
from groundwire.core._tasks import Task

ACTIONS = "actions.jsonl"
"""The file of a candidate: its trial, then one action a line, as JSON."""
START = "environment.json"
"""The file of a task: the seed, and the scene that the world begins with."""
WON = "won"
"""The case that a world passes or fails."""
SCENES_KEPT = 2048
"""Scenes that need not be read again from a signal: the way so far is looked at in every step of it."""
_HINTS = "\nactions: "
_EVENT = "\nevent: "


class Environment(Protocol):
    """A world. One instance plays one trial at a time, on one thread; the same seed gives the same world, also where
    chance is at work in it: the same actions are answered in the same way.

    There is nothing to observe with: each answer is what is seen then. Where looking is something one does, it is an
    action like any other, so that it is counted, judged and in the ledger.

    One that knows the answer key says so: see `JudgesByKey`.
    """

    def reset(self, seed: int) -> Scene:
        """Begins anew and returns the first scene."""
        ...

    def act(self, action: str) -> Scene:
        """Does one thing. What can't be done is told in the scene; it is no exception.

        Raises:
            Exception: the world broke: no verdict, and nothing is learned from it.
        """
        ...

    def close(self) -> None:
        """Frees what it holds; called once, also after a crash."""
        ...


@runtime_checkable
class JudgesByKey(Protocol):
    """An environment that has an attribute `oracle`."""

    @property
    def oracle(self) -> bool:
        """True where it knows whether it is won from an answer key that an actor in the field would not have; every
        verdict of it is then marked."""
        ...


def judges_by_key(world: Environment) -> bool:
    """True where an environment says so of itself.

    Raises:
        ConfigError: its `oracle` is something else than True or False.
    """
    return isinstance(world, JudgesByKey) and _true_or_false(world, world.oracle)


def _true_or_false(world: Environment, oracle: object) -> bool:
    if isinstance(oracle, bool):
        return oracle
    what = f"{type(world).__name__}: oracle is {oracle!r:.80}, of type {type(oracle).__name__}."
    raise ConfigError(what, do="Give True or False.")


@dataclass(frozen=True)
class Move:
    """An action and the scene that it led to."""

    action: str
    scene: Scene


@dataclass(frozen=True)
class Start:
    """Where a task begins: the world's seed and its first scene."""

    seed: int
    scene: Scene


def environment_task(
    environment: Environment, *, id: str, seed: int = 0, prompt: str = "Reach the goal.", family: str = ""
) -> Task:
    """The task of winning in one world.

    Args:
        environment: a world, which is reset once, to see what it shows first; it is not closed.
        id: the task's name; lessons of the same id are recalled first.
        seed: which world.
        prompt: what is asked for.
        family: tasks that share lessons.

    Raises:
        TaskError: the world can't be begun, or is over before it has begun.
        ConfigError: as `judges_by_key`.
    """
    judges_by_key(environment)
    try:
        scene = tidied(environment.reset(seed))
    except Exception as error:
        what = f"The environment of {id} can't be begun with seed {seed}: {type(error).__name__}: {error}"
        raise TaskError(what, do="Repair the environment, or choose another seed.") from error
    if scene.status is not Status.RUNNING:
        raise TaskError(f"The environment of {id} is {scene.status} before anything is done.", do="Choose another.")
    shown: dict[str, Any] = {"seed": seed, "scene": scene.text, "actions": list(scene.actions)}
    if scene.event:
        shown["event"] = scene.event
    tree = Tree({START: canonical(shown).encode(), ACTIONS: b""})
    return Task(id=id, prompt=prompt, tree=tree, family=family, editable=(ACTIONS,))


def start_of(task: Task) -> Start:
    """Where a task begins.

    Raises:
        TaskError: it is not a task of an environment.
    """
    start = start_in(task.tree)
    if start is None:
        raise TaskError(f"Task {task.id} is not a task of an environment.", do="Make it by environment_task(…).")
    return start


def start_in(tree: Tree) -> Start | None:
    """Where a tree says that a task begins; None where it is no environment's."""
    try:
        held = json.loads(tree.files[START])
        actions, event = tuple(map(str, held["actions"])), str(held.get("event", ""))
        return Start(int(held["seed"]), Scene(str(held["scene"]), actions=actions, event=event))
    except (KeyError, ValueError, TypeError):
        return None


def attempt(task: Task, trial: int, actions: Sequence[str]) -> Candidate:
    """The candidate that does these things in that trial.

    Raises:
        CandidateError: there is no action, or one is longer than 500 characters.
    """
    if not actions or any(len(action) > ACTION_CHARS for action in actions):
        raise CandidateError(f"An attempt has 1 action or more, each of at most {ACTION_CHARS} characters.")
    lines = [canonical({"trial": trial}), *map(canonical, actions)]
    body = "".join(f"{line}\n" for line in lines).encode()
    return Candidate(task.tree.digest, {ACTIONS: body}, note=" ".join(cleaned(actions[-1]).split()))


def actions_in(candidate: Candidate) -> tuple[str, ...]:
    """What a candidate does, in order; nothing for the task as it stands.

    Raises:
        CandidateError: it holds something else than actions.
    """
    if candidate.is_base:
        return ()
    try:
        lines = (candidate.changes[ACTIONS] or b"").decode().removesuffix("\n").split("\n")[1:]
        # all at once, since an actor reads the way again at every step of it; no text can reach over a line's end
        values: list[Any] = json.loads("[" + ",\n".join(lines) + "]")
        is_one_a_line = len(values) == len(lines) and all(isinstance(value, str) for value in values)
        if set(candidate.changes) == {ACTIONS} and values and is_one_a_line:
            return tuple(values)
    except (KeyError, ValueError):
        pass
    raise CandidateError(f"This is no sequence of actions: {candidate.digest[:12]}…", do="Make it by attempt(…).")


def scene_as_text(scene: Scene) -> str:
    """The scene as a signal's evidence holds it. What follows the last `actions:` line is always ours: JSON has no line
    end in it, so that no text can pass for hints or for an event."""
    event = f"{_EVENT}{json.dumps(scene.event, ensure_ascii=False)}" if scene.event else ""
    return f"{scene.text}{_HINTS}{json.dumps(scene.actions, ensure_ascii=False)}{event}"


def scene_of(signal: Signal) -> Scene:
    """What an environment showed, read back from its signal."""
    is_lost = any(case.id == WON for case in signal.evidence.failed())
    status = Status.WON if signal.verdict is Verdict.PASS else Status.LOST if is_lost else Status.RUNNING
    return _scene_in(signal.evidence.stdout, status)


def shown_in(evidence: str) -> str:
    """What was seen, of what a signal's evidence holds: a scene without the hints, which stand behind its last such
    line; anything else as it is."""
    return evidence.rpartition(_HINTS)[0] if _HINTS in evidence else evidence


@lru_cache(maxsize=SCENES_KEPT)
def _scene_in(shown: str, status: Status) -> Scene:
    text, _, ours = shown.rpartition(_HINTS)
    hints, _, event = ours.partition(_EVENT)
    try:
        return Scene(text, status, tuple(map(str, json.loads(hints))), str(json.loads(event)) if event else "")
    except ValueError:
        return Scene(shown, status)


def moves_of(judged: Sequence[Judged], candidate: Candidate) -> tuple[Move, ...]:
    """The moves that led to a candidate, each with what was really seen.

    Args:
        judged: what a trial judged.
        candidate: one of these.
    """
    # each is a beginning of the candidate, so its number of lines says which actions it has: a long trial asks this at
    # every step, and reading them all anew would make its last steps the slower the more there were
    way = {_count(j.candidate): j for j in judged if not j.candidate.is_base and candidate.extends(j.candidate)}
    actions = actions_in(candidate)
    return tuple(Move(actions[count - 1], scene_of(way[count].signal)) for count in sorted(way))


def _count(candidate: Candidate) -> int:
    """Of its actions; the first line holds the trial."""
    return _body(candidate).count(b"\n") - 1


def _body(candidate: Candidate) -> bytes:
    return candidate.changes[ACTIONS] or b""


def moves_so_far(judged: Sequence[Judged], current: Judged | None) -> tuple[Move, ...]:
    """The moves of the trial that goes on; none where a new one begins.

    Args:
        judged: `ActorContext.judged`.
        current: `ActorContext.failing`.
    """
    if current is None or current.signal.verdict is not Verdict.NONE:
        return ()
    return moves_of(judged, current.candidate)


@dataclass(frozen=True)
class Transition:
    """What an action really led to.

    Args:
        before: the scene it was done in.
        done: the actions before it, from the trial's beginning.
        action: the action.
        after: the scene that followed.
    """

    before: Scene
    done: tuple[str, ...]
    action: str
    after: Scene


def transitions(judged: Sequence[Judged], start: Scene) -> list[Transition]:
    """Every step that a world has answered, in order.

    Args:
        judged: what it judged, of one trial or several.
        start: the scene that every trial begins with.
    """
    seen: dict[bytes, Scene] = {}
    found: list[Transition] = []
    for item in judged:
        if actions := actions_in(item.candidate):
            body = _body(item.candidate)
            seen[body] = scene_of(item.signal)
            before = start if len(actions) == 1 else seen.get(body[: body.rindex(b"\n", 0, -1) + 1])
            if before is not None:
                found.append(Transition(before, actions[:-1], actions[-1], seen[body]))
    return found


# Steps in an environment, and the two rules by which a run of them gets nowhere (Reflexion, arXiv 2303.11366).


@dataclass(frozen=True)
class EnvironmentStep:
    """One step in an environment: what was done, and what came back."""

    action: str
    response: str


def standstill_of_steps(
    steps: Sequence[EnvironmentStep], taken: int, *, repeats: int | None, actions: int | None
) -> str:
    """Why an actor in an environment gets nowhere; empty where it does.

    Args:
        steps: the last ones of a trial, in order.
        taken: how many it has taken in all.
        repeats: how often in a row the same step may get the same response; None: as often as it likes. Responses that
            say nothing are not the same.
        actions: how many steps there may be; None: any number.
    """
    if repeats is not None and len(steps) > repeats:
        last = steps[-1]
        if last.response and set(steps[-repeats - 1 :]) == {last}:
            return f"same_step: the same action got the same response more than {repeats} times in a row"
    if actions is not None and taken > actions:
        return f"inefficient: more than {actions} actions in one trial"
    return ""
