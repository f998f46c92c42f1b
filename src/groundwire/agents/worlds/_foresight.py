"""Models of a world: what an action would lead to, before it is done. A guess is never a signal."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from groundwire.agents.patching._evidence import lessons_as_data
from groundwire.agents.prompting._structured import answered
from groundwire.agents.prompting._templates import check_range, load_prompt
from groundwire.agents.worlds._acting import action_in, hints_as_data, moves_as_data, scene_as_data
from groundwire.core._contexts import ActorContext
from groundwire.core._environments import Environment, Move, moves_so_far, start_of
from groundwire.core._errors import CandidateError
from groundwire.core._ids import seed_in
from groundwire.core._models import Backend, Request
from groundwire.core._prompt_text import data, plain
from groundwire.core._reply_parts import labelled
from groundwire.core._scene import Scene, Status, tidied
from groundwire.models._choice import backend_for

LINE_CHARS = 500
_STATED = re.compile(
    r"value[*_`\"' \t]{0,6}[:=：>][*_`\"' \t\n]{0,6}(?P<number>\d{1,6}(?:\.\d{1,6})?|\.\d{1,6})[*_` \t]{0,4}"
    r"(?:(?P<percent>%)|(?:/|out[ ]of)[ \t]{0,3}(?P<of>\d{1,4}))?",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Imagined:
    """What an action is thought to lead to.

    Args:
        scene: what would be seen.
        value: 0 to 1, how good that would be; None where the model says nothing about it.
    """

    scene: Scene
    value: float | None = None


class WorldModel(Protocol):
    """Predicts what one action leads to."""

    async def imagine(self, context: ActorContext, moves: Sequence[Move], action: str) -> Imagined:
        """What `action` would lead to after `moves`, of which the first ones are real and the others imagined."""
        ...


@runtime_checkable
class ValuesPlaces(Protocol):
    """A model of a world that also values places which it did not foresee: those that were really seen."""

    async def value(self, context: ActorContext, moves: Sequence[Move]) -> float | None:
        """0 to 1, how good it is to be where `moves` lead; None where it says nothing."""
        ...


class Proposer(Protocol):
    """Says what is worth looking into."""

    async def __call__(self, context: ActorContext, moves: Sequence[Move], n: int) -> Sequence[str]:
        """At most `n` actions, the most promising first."""
        ...


def scene_after(context: ActorContext, moves: Sequence[Move]) -> Scene:
    """The scene that the moves lead to."""
    return moves[-1].scene if moves else start_of(context.task).scene


async def hinted(context: ActorContext, moves: Sequence[Move], n: int) -> Sequence[str]:
    """The world's own hints: a `Proposer` that asks nobody."""
    return scene_after(context, moves).actions[:n]


class Simulator:
    """Foresees by trying it out in a copy of the world, begun with the task's seed.

    Use it where a simulator is what one has. The copy is reset for each question, and never touches the world that
    judges.

    Args:
        make: makes the copy, at the first question.
    """

    def __init__(self, make: Callable[[], Environment]) -> None:
        self._make = make
        self._world: Environment | None = None

    async def imagine(self, context: ActorContext, moves: Sequence[Move], action: str) -> Imagined:
        """See `WorldModel`.

        Raises:
            CandidateError: the copy broke; the episode ends, and this is why.
        """
        try:
            if self._world is None:
                self._world = self._make()
            scene = self._world.reset(start_of(context.task).seed)
            for done in (*(move.action for move in moves), action):
                scene = self._world.act(done)
            return Imagined(tidied(scene))
        except Exception as error:
            said = plain(f"{type(error).__name__}: {error}", LINE_CHARS)
            raise CandidateError(f"The copy of the world, in which the plan is made, broke: {said}") from error

    def close(self) -> None:
        """Frees what the copy holds; the next question makes a new one."""
        if self._world is not None:
            self._world.close()
            self._world = None


class LLMForesight:
    """A language model that proposes actions, foresees their outcome and says how good that would be, as in RAFA
    (arXiv 2309.17382). It is a `WorldModel`, it values places that were really seen (`ValuesPlaces`), and its `propose`
    is a `Proposer`. Each is told what memory recalls.

    Args:
        model: a LiteLLM id, `scripted:FILE`, or a backend.
        temperature: of the calls.
        max_tokens: tokens of each answer.

    Raises:
        ConfigError: an argument is out of range, or the model's form is not known.
    """

    def __init__(self, model: str | Backend, *, temperature: float = 0.0, max_tokens: int = 256) -> None:
        check_range("LLMForesight", temperature=temperature, max_tokens=max_tokens)
        self._backend = backend_for(model)
        self._temperature = temperature
        self._max_tokens = max_tokens

    @property
    def backend(self) -> Backend:
        """The model it asks."""
        return self._backend

    async def propose(self, context: ActorContext, moves: Sequence[Move], n: int) -> Sequence[str]:
        """See `Proposer`. Where the world gives hints, only these count, as it spells them."""
        scene = scene_after(context, moves)
        text = await self._ask(
            context,
            "propose_actions_v1",
            moves,
            scene,
            can_do=hints_as_data(scene),
            count=str(n),
        )
        lines = [re.sub(r"^\W*\d*[.)]?\s+", "", f" {line}") for line in text.splitlines() if line.strip(" \t`~")]
        known = {hint.casefold() for hint in scene.actions}
        named = [action_in(line, scene) for line in lines]
        named = [action for action in named if not known or action.casefold() in known]
        return list(dict.fromkeys(action for action in named if action))[:n] or list(scene.actions[:n])

    async def imagine(self, context: ActorContext, moves: Sequence[Move], action: str) -> Imagined:
        """See `WorldModel`. What can't be read counts as running, and as nothing said about its value."""
        scene = scene_after(context, moves)
        text = await self._ask(
            context,
            "imagine_v2",
            moves,
            scene,
            action=data("action", action),
        )
        said = {name: next(reversed(labelled(text, name)), "") for name in ("scene", "status")}
        status = next(iter(re.findall(r"[a-z]+", said["status"].casefold())), "")
        return Imagined(
            Scene(
                plain(said["scene"] or text, LINE_CHARS),
                Status(status) if status in (Status.WON, Status.LOST) else Status.RUNNING,
                scene.actions,
            ),
            stated_value(text),
        )

    async def value(self, context: ActorContext, moves: Sequence[Move]) -> float | None:
        """See `ValuesPlaces`."""
        return stated_value(await self._ask(context, "value_place_v1", moves, scene_after(context, moves)))

    async def _ask(self, context: ActorContext, name: str, moves: Sequence[Move], scene: Scene, **values: str) -> str:
        prompt = load_prompt(name)
        request = Request(
            messages=prompt.messages(
                task=data("task", context.task.prompt, id=context.task.id),
                lessons=lessons_as_data(context.lessons),
                steps=moves_as_data(moves),
                scene=scene_as_data(scene, is_first=not moves),
                **values,
            ),
            temperature=self._temperature,
            max_tokens=self._max_tokens,
            # what one plan asks is asked again by the next; a seed of its own keeps them apart in the ledger
            seed=seed_in(context, "plan", call=len(moves_so_far(context.judged, context.failing))),
            purpose="plan",
            prompt_digest=prompt.digest,
        )
        completion = await answered(context.call, self._backend, request)
        return completion.texts[0] if completion.texts else ""


def stated_value(text: str) -> float | None:
    """The last `Value: …` of a text, of ten unless it says of how many (`8/10`, `80%`, `4 out of 5`); None: there is
    none."""
    stated = list(_STATED.finditer(text))
    if not stated:
        return None
    scale = 100.0 if stated[-1]["percent"] else float(stated[-1]["of"] or 10) or 1.0
    return min(1.0, float(stated[-1]["number"]) / scale)
