"""The tool that acts in an environment, each world on a thread of its own: only what the environment says is a verdict.

`won` is a PASS. `lost`, and a trial that a rule finds to lead nowhere, is a FAIL. `running` is the fresh observation
that opens `advance`. A world that breaks, hangs, contradicts itself or ends without a word gives no verdict.
"""

from __future__ import annotations

import asyncio
import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from weakref import finalize

from groundwire.core._candidates import Candidate
from groundwire.core._contexts import ToolContext
from groundwire.core._environments import (
    WON,
    Environment,
    EnvironmentStep,
    Move,
    actions_in,
    judges_by_key,
    scene_as_text,
    standstill_of_steps,
    start_of,
)
from groundwire.core._errors import ConfigError, UserError
from groundwire.core._scene import Scene, Status, tidied
from groundwire.core._signals import CaseOutcome, CaseResult, Evidence, NoVerdict, Observation, Origin, Verdict
from groundwire.core._tasks import Task
from groundwire.tools._summaries import shorten

# One world on a thread of its own: it may block or hang, and nobody waits for it longer than was agreed.

Work = tuple[Callable[[Environment], Scene | None], asyncio.AbstractEventLoop, "asyncio.Future[Scene | None]"]


class WorldBroke(Exception):
    """What a world raised, in words. It is put into words on the world's own thread, where that can do no harm."""


class Session:
    """A world and what was done in it.

    The thread is a daemon, so that one which hangs keeps no program from ending; it can't be killed, and is left behind
    with its world.

    Args:
        make: makes the world; called on its thread, which is the only one that ever touches it.
        timeout_s: wall seconds for one action.
    """

    def __init__(self, make: Callable[[], Environment], timeout_s: float) -> None:
        self.moves: list[Move] = []
        self.oracle = False
        self._timeout_s = timeout_s
        self._queue: SimpleQueue[Work | None] = SimpleQueue()
        threading.Thread(target=_serve, args=(make, self._queue), name="environment", daemon=True).start()

    async def reset(self, seed: int) -> Scene:
        """Begins the world.

        Raises:
            TimeoutError: it took too long.
            WorldBroke: it raised something.
        """

        def begin(world: Environment) -> Scene:
            scene = tidied(world.reset(seed))
            self.oracle = judges_by_key(world)
            return scene

        return await self._ask(begin)

    async def act(self, action: str) -> Scene:
        """Does one thing. Raises as `reset` does."""
        scene = await self._ask(lambda world: tidied(world.act(action)))
        self.moves.append(Move(action, scene))
        return scene

    def close(self) -> None:
        """Has the world closed as soon as its thread is free; waits for nothing."""
        self._queue.put(None)

    async def _ask(self, work: Callable[[Environment], Scene | None]) -> Scene:
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Scene | None] = loop.create_future()
        self._queue.put((work, loop, answer))
        async with asyncio.timeout(self._timeout_s):
            scene = await answer
        assert scene is not None
        return scene


def _serve(make: Callable[[], Environment], queue: SimpleQueue[Work | None]) -> None:
    world: Environment | None = None
    while (item := queue.get()) is not None:
        work, loop, answer = item
        result: Scene | WorldBroke | None
        try:
            if world is None:
                world = make()
            result = work(world)
        except BaseException as error:  # whatever a world raises is its answer
            result = WorldBroke(_in_words(error))
        with suppress(RuntimeError):  # the loop is gone, and with it whoever asked
            loop.call_soon_threadsafe(_settle, answer, result)
    if world is not None:
        with suppress(BaseException):
            world.close()


def _in_words(error: BaseException) -> str:
    name = type(error).__name__
    try:
        said = str(error)
    except BaseException:  # a stranger's exception, which may break when it is asked what it is
        return name
    return f"{name}: {said}" if said else name


def _settle(answer: asyncio.Future[Scene | None], result: Scene | WorldBroke | None) -> None:
    if answer.done():
        return
    if isinstance(result, WorldBroke):
        answer.set_exception(result)
    else:
        answer.set_result(result)


# The tool that acts in an environment: only what the environment says becomes a verdict.

IDLE = 64
"""Worlds kept open between two steps, of all episodes together; those that wait longest are closed first."""
REMEMBERED = 10_000
MESSAGE_CHARS = 600
UNSAID = (
    "The environment ended and did not say whether it was won. An Env of Gymnasium: give a rule (won_if=reward>=1, "
    'won_if=return>=475, won_if=info.NAME or won_if=terminated), or let it give info["is_success"] at the end. '
    "Another: let it end with Status.WON or Status.LOST."
)
GETS_ON = "gets_on"
"""The case that fails where a rule ends a trial that the world would have gone on with."""

SessionKey = tuple[str, bytes]
"""A task's tree, and the digest of the actions so far, the trial's number among them."""


class EnvironmentTool:
    """Takes the last action of a candidate in its world, or all of them where that world is not at hand.

    A trial's world stays open between its steps. Where it is gone (another process goes on with the episode, or a
    second candidate branches off), a new one is begun with the task's seed and the actions are taken again; if it does
    not answer as before, the environment is not deterministic and there is no verdict.

    Args:
        make: makes one world; each trial has one of its own.
        repeats: how often in a row the same action may get the same response; the next time the trial is stuck, which
            is a FAIL (Reflexion, arXiv 2303.11366: more than 3). None: as often as it likes.
        actions: actions of one trial; with the next one it is inefficient, which is a FAIL (there: more than 30).
        timeout_s: wall seconds for one action.

    Raises:
        ConfigError: an argument is out of range.
    """

    def __init__(
        self,
        make: Callable[[], Environment],
        *,
        repeats: int | None = 3,
        actions: int | None = 30,
        timeout_s: float = 60.0,
    ) -> None:
        if min(repeats or 1, actions or 1) < 1 or repeats == 0 or actions == 0 or not timeout_s > 0:
            raise ConfigError(
                "EnvironmentTool got an argument out of range.", do="Use 1 or more, None for no limit, seconds above 0."
            )
        self._make = make
        self._repeats = repeats
        self._actions = actions
        self._timeout_s = timeout_s
        self._idle: OrderedDict[SessionKey, Session] = OrderedDict()
        self._seen: OrderedDict[SessionKey, Scene] = OrderedDict()
        finalize(self, _close_all, self._idle)

    async def judge(self, candidate: Candidate, task: Task, context: ToolContext) -> Observation:
        """See `groundwire.core._contexts.Tool`."""
        try:
            actions = actions_in(candidate)
            start = start_of(task)
        except UserError as error:
            return _nothing(NoVerdict.USAGE, error.what)
        if candidate.base_digest != task.tree.digest:
            return _nothing(NoVerdict.USAGE, "The candidate was made in another world than the task's.")
        places = _places(candidate, len(actions))
        session, taken = self._at_hand(places)
        try:
            if session is None:
                session = Session(self._make, self._timeout_s)
                if await session.reset(start.seed) != start.scene:
                    return self._contradicted(session, "it does not begin as the task says")
            for place, action in zip(places[taken + 1 :], actions[taken:], strict=True):
                scene = await session.act(action)
                if self._remember(place, scene) != scene:
                    return self._contradicted(session, "the same actions led somewhere else before")
                context.report(f"step {len(session.moves)}: {' '.join(action.split())[:80]}")
                if scene.status is not Status.RUNNING:
                    break
        except TimeoutError:
            return self._broken(session, NoVerdict.LIMIT_HIT, f"it gave no answer in {self._timeout_s:g} s")
        except WorldBroke as error:
            return self._broken(session, NoVerdict.RUNNER_CRASHED, f"it broke: {shorten(str(error), MESSAGE_CHARS)}")
        except BaseException:  # cancelled: nobody comes back for this world
            if session is not None:
                session.close()
            raise
        return self._seen_in(session, places[-1], start.scene)

    def _at_hand(self, places: list[SessionKey]) -> tuple[Session | None, int]:
        """The open world that has come furthest on this very way, and how far; taken out while it is used."""
        for taken in range(len(places) - 1, 0, -1):
            session = self._idle.pop(places[taken], None)
            if session is not None:
                return session, taken
        return None, 0

    def _remember(self, place: SessionKey, scene: Scene) -> Scene:
        """What was seen first at a place."""
        first = self._seen.setdefault(place, scene)
        if len(self._seen) > REMEMBERED:
            self._seen.popitem(last=False)
        return first

    def _seen_in(self, session: Session, place: SessionKey, first: Scene) -> Observation:
        moves = session.moves
        scene = moves[-1].scene if moves else first
        stuck = self._stuck(moves) if scene.status is Status.RUNNING else ""
        if scene.status is Status.RUNNING and not stuck:
            self._idle[place] = session
            if len(self._idle) > IDLE:
                self._idle.popitem(last=False)[1].close()
            return _running(scene)
        session.close()
        if scene.status is Status.ENDED:
            return _nothing(NoVerdict.REPORT_MISSING, UNSAID)
        return _over(scene, stuck, len(moves), oracle=session.oracle)

    def _stuck(self, moves: list[Move]) -> str:
        steps = [EnvironmentStep(move.action, move.scene.shown) for move in moves[-(self._repeats or 0) - 1 :]]
        return standstill_of_steps(steps, len(moves), repeats=self._repeats, actions=self._actions)

    def _contradicted(self, session: Session, why: str) -> Observation:
        return self._broken(session, NoVerdict.FLAKY, f"it is not deterministic under its seed: {why}")

    def _broken(self, session: Session | None, reason: NoVerdict, why: str) -> Observation:
        if session is not None:
            session.close()
        return _nothing(reason, f"The environment gives no verdict: {why}.")


def _places(candidate: Candidate, count: int) -> list[SessionKey]:
    """Where a candidate has been after 0, 1, … actions."""
    lines = b"".join(content or b"" for content in candidate.changes.values()).split(b"\n")
    way, places = hashlib.sha256(), list[SessionKey]()
    for line in lines[: count + 1]:
        way.update(line + b"\n")
        places.append((candidate.base_digest, way.digest()))
    return places


def _running(scene: Scene) -> Observation:
    return Observation(
        verdict=Verdict.NONE,
        reason=NoVerdict.GO_ON,
        origin=Origin.ENVIRONMENT,
        evidence=Evidence(stdout=scene_as_text(scene)),
    )


def _over(scene: Scene, stuck: str, steps: int, *, oracle: bool) -> Observation:
    won = scene.status is Status.WON
    how = f"stuck: {stuck}" if stuck else str(scene.status)
    case = CaseOutcome(
        id=GETS_ON if stuck else WON,
        result=CaseResult.PASSED if won else CaseResult.FAILED,
        message="" if won else shorten(f"{how}\n{scene.shown}".strip(), MESSAGE_CHARS),
    )
    return Observation(
        verdict=Verdict.PASS if won else Verdict.FAIL,
        origin=Origin.ENVIRONMENT,
        evidence=Evidence(
            cases=(case,),
            collected=1,
            stdout=scene_as_text(scene),
            detail=f"{how} after {steps} action{'s' * (steps != 1)}",
        ),
        oracle=oracle,
    )


def _nothing(reason: NoVerdict, detail: str) -> Observation:
    return Observation(verdict=Verdict.NONE, reason=reason, origin=Origin.ENVIRONMENT, evidence=Evidence(detail=detail))


def _close_all(idle: OrderedDict[SessionKey, Session]) -> None:
    for session in idle.values():
        session.close()
