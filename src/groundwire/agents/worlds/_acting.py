"""Acting in an environment by a language model, one action after the other, and looking back on a trial."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from groundwire.agents.patching._evidence import (
    failing_evidence,
    lessons_as_data,
    lessons_to_show,
    may_be_shown,
    reflection_as_data,
)
from groundwire.agents.patching._llm_critic import reflection_by
from groundwire.agents.prompting._templates import check_range, instructed, load_prompt, risen
from groundwire.core._answers import bare_answer
from groundwire.core._candidates import Candidate
from groundwire.core._contexts import ActorContext, CriticContext, Reflection
from groundwire.core._environments import Move, actions_in, attempt, moves_of, moves_so_far, start_of
from groundwire.core._errors import ConfigError, ModelReplyInvalid
from groundwire.core._ids import seed_in
from groundwire.core._models import Backend, Request
from groundwire.core._prompt_text import data, head_tail, plain, printable, tagged
from groundwire.core._reasoning_text import without_reasoning
from groundwire.core._reply_parts import labelled
from groundwire.core._scene import Scene
from groundwire.core._signals import Verdict
from groundwire.core._traits import ActorTraits, Needs
from groundwire.models._choice import backend_for

# Moves and scenes as labelled data for a prompt.

SCENE_CHARS = 3000
RESPONSE_CHARS = 800
STEPS_SHOWN = 20


def moves_as_data(moves: Sequence[Move]) -> str:
    """The last moves, each in its own element, after a line that says how many are left out."""
    left_out = len(moves) - STEPS_SHOWN
    parts = [tagged("left_out", "", steps=left_out)] if left_out > 0 else []
    shown = moves[-STEPS_SHOWN:]
    first = len(moves) - len(shown) + 1
    parts += [
        data("step", head_tail(move.scene.shown, RESPONSE_CHARS), number=number, action=move.action)
        for number, move in enumerate(shown, first)
    ]
    return "\n".join(parts)


def scene_as_data(scene: Scene, *, is_first: bool) -> str:
    """What is seen now; empty where the last step shows all of it."""
    if not is_first and len(scene.shown) <= RESPONSE_CHARS:
        return ""
    return data("scene", head_tail(scene.shown, SCENE_CHARS))


def hints_as_data(scene: Scene) -> str:
    """What can be done now; empty where nothing is said about it."""
    return data("can_do", "\n".join(" ".join(hint.split()) for hint in scene.actions)) if scene.actions else ""


# An actor that asks a language model for one action after the other, as in ReAct (arXiv 2210.03629).

Remembers = Literal["nothing", "last_attempt", "reflections", "both"]
EMPTY_ANSWERS = 3
"""Calls for one action, where answers hold none; each is warmer."""
ACTION_CHARS = 300

_REASONED = re.compile(r"(?P<action>.{1,300}?)(?:[.,;:(–—]|[ ](?:because|since|so|as|to see)\b|[ ]-[ ])", re.IGNORECASE)
"""A hint, and why it is taken."""
_TYPED = re.compile(r"^[ \t]*>[ \t]*(?P<action>\S.*)$", re.MULTILINE)


class ReActActor:
    """One thought and one action a step. It sees the goal, its lessons, the steps of this trial and the scene.

    Args:
        model: a LiteLLM id, `scripted:FILE`, or a backend.
        instructions: what the model is told first, before what it is told of its work here; empty: nothing more.
        remembers: what a new trial is told of earlier ones: `reflections` (what memory recalls, and the critic's text),
            `last_attempt` (its steps), `both` or `nothing` (the baselines of Reflexion, arXiv 2303.11366).
        lessons: the most that memory recalls for one trial, Ω; 3 there.
        temperature: of a call, raised by 0.15 for each escalation and each empty answer, up to 1.5.
        max_tokens: tokens of each answer.

    Raises:
        ConfigError: an argument is out of range, or the model's form is not known.
    """

    def __init__(
        self,
        model: str | Backend,
        *,
        instructions: str = "",
        remembers: Remembers = "reflections",
        lessons: int = 3,
        temperature: float = 0.0,
        max_tokens: int = 256,
    ) -> None:
        if max_tokens < 1 or lessons < 0 or temperature < 0:
            raise ConfigError(
                "ReActActor got an argument out of range.",
                do="max_tokens is at least 1; lessons and temperature at least 0.",
            )
        self._reflects = remembers in ("reflections", "both")
        self._replays = remembers in ("last_attempt", "both")
        self.traits = ActorTraits(needs=Needs(lessons=lessons if self._reflects else 0), revision=3)
        self._backend = backend_for(model)
        self._instructions = instructions.strip()
        self._temperature = temperature
        self._max_tokens = max_tokens

    @property
    def backend(self) -> Backend:
        """The model it asks."""
        return self._backend

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        """See `Actor`. One candidate: what was done in this trial, and one more action.

        Raises:
            ModelReplyInvalid: no answer held an action.
            ModelError, BudgetExceeded: from `context.call`.
        """
        moves = moves_so_far(context.judged, context.failing)
        scene = moves[-1].scene if moves else start_of(context.task).scene
        done = [move.action for move in moves]
        problem = ""
        for call in range(EMPTY_ANSWERS):
            try:
                completion = await context.call(self._backend, self._request(context, scene, len(done), call))
            except ModelReplyInvalid as error:
                problem = f" {error.what}"
                continue
            action = next((found for text in completion.texts if (found := read_action(text, scene))), "")
            if action:
                return (attempt(context.task, context.trial, [*done, action]),)
        raise ModelReplyInvalid(
            f"{self._backend.model} named no action in {EMPTY_ANSWERS} calls.{problem}", do="Use a stronger model."
        )

    def _request(self, context: ActorContext, scene: Scene, step: int, call: int) -> Request:
        prompt = load_prompt("act_v1")
        task = context.task
        messages = prompt.messages(
            task=data("task", task.prompt, id=task.id),
            lessons=lessons_as_data(lessons_to_show(context)) if self._reflects else "",
            attempt=_last_attempt(context) if self._replays else "",
            reflection=reflection_as_data(context) if self._reflects else "",
            steps=moves_as_data(moves_so_far(context.judged, context.failing)),
            scene=scene_as_data(scene, is_first=step == 0),
            can_do=hints_as_data(scene),
            stuck=tagged("stuck", "", times=context.escalation) if context.escalation else "",
        )
        messages, digest = instructed(messages, prompt.digest, self._instructions)
        return Request(
            messages=messages,
            temperature=risen(self._temperature, context.escalation + call),
            max_tokens=self._max_tokens,
            seed=seed_in(context, "propose", call=step, sample=call),
            purpose="propose",
            prompt_digest=digest,
        )


def _last_attempt(context: ActorContext) -> str:
    """The steps of the trial that failed; nothing while one goes on, whose own steps are shown."""
    failing = context.failing
    if failing is None or failing.signal.verdict is not Verdict.FAIL or not actions_in(failing.candidate):
        return ""
    return tagged("attempt", moves_as_data(moves_of(context.judged, failing.candidate)))


def read_action(text: str, scene: Scene) -> str:
    """The action that an answer names, as one printable line; empty where it names none.

    It stands after the last `Action:` (see `labelled`), else after the last `>`; thinking and markup are left out.
    Where the world gives hints and there is no such line, it is the hint that is mentioned last. A hint is returned as
    the world spells it.
    """
    said = printable(without_reasoning(text))
    named = labelled(said, "action") or [found["action"] for found in _TYPED.finditer(said)]
    if named or not scene.actions:
        lines = [line for line in said.splitlines() if line.strip(" \t`~")]
        return action_in((named or lines)[-1], scene) if named or lines else ""
    said = said.casefold()
    mentioned = [(said.rfind(hint.casefold()), len(hint), hint) for hint in scene.actions if hint.casefold() in said]
    return max(mentioned)[2] if mentioned else ""


def action_in(said: str, scene: Scene) -> str:
    """The action of a line, as the world spells it where it gives hints. Words before it are left out only where a hint
    is left, since an action may be any text."""
    whole = plain(said, ACTION_CHARS).strip("`*\"' ")
    bare = plain(bare_answer(said), ACTION_CHARS).strip("`*\"' ")
    hints = {hint.casefold(): hint for hint in scene.actions}
    for action in (whole, bare):
        if action.casefold() in hints:
            return hints[action.casefold()]
    reasoned = _REASONED.match(bare)
    if reasoned and reasoned["action"].strip("`*\"' ").casefold() in hints:
        return hints[reasoned["action"].strip("`*\"' ").casefold()]
    is_worded = whole[:1].isalnum() and whole.rstrip(".").endswith(bare)
    return whole if is_worded else bare


# Critics of trials in an environment: one asks a model, one goes by rule.

SHOWN = 8
CHARS = 120


class EpisodeCritic:
    """Has a model look back on the steps of a trial that an environment ended as lost, or a rule as stuck.

    Args:
        model: a LiteLLM id, `scripted:FILE`, or a backend.
        temperature: of the call.
        max_tokens: tokens of the reflection.

    Raises:
        ConfigError: an argument is out of range, or the model's form is not known.
    """

    def __init__(self, model: str | Backend, *, temperature: float = 0.2, max_tokens: int = 512) -> None:
        check_range("EpisodeCritic", temperature=temperature, max_tokens=max_tokens)
        self._backend = backend_for(model)
        self._temperature = temperature
        self._max_tokens = max_tokens

    @property
    def backend(self) -> Backend:
        """The model it asks."""
        return self._backend

    async def reflect(self, context: CriticContext) -> Reflection:
        """See `Critic`.

        Raises:
            ModelReplyInvalid: there was nothing in the answer.
            ModelError, BudgetExceeded: from `context.call`.
        """
        prompt = load_prompt("reflect_on_steps_v1")
        request = Request(
            messages=prompt.messages(
                task=data("task", context.task.prompt, id=context.task.id),
                lessons=lessons_as_data(context.lessons),
                steps=moves_as_data(moves_of_trial(context)),
                evidence=failing_evidence(context.failing.signal),
            ),
            temperature=self._temperature,
            max_tokens=self._max_tokens,
            seed=seed_in(context, "reflect"),
            purpose="reflect",
            prompt_digest=prompt.digest,
        )
        return await reflection_by(self._backend, request, context)


class StepsCritic:
    """Says by rule how a trial ended and what had been done last. It needs no model."""

    async def reflect(self, context: CriticContext) -> Reflection:
        """See `Critic`; the same steps always give the same text."""
        signal, moves = context.failing.signal, moves_of_trial(context)
        shown = [plain(move.action, CHARS) for move in moves[-SHOWN:]]
        way = " → ".join(["…"] * (len(moves) > SHOWN) + shown)
        how = plain(signal.evidence.detail, CHARS) if may_be_shown(signal) else "not won"
        last = plain(moves[-1].scene.shown, CHARS) if moves and may_be_shown(signal) else ""
        seen = f" The last thing seen: {last}" if last else ""
        return Reflection(f"{how}: {way}.{seen}", by="rule")


def moves_of_trial(context: CriticContext) -> tuple[Move, ...]:
    """The moves of the trial that failed, each with what was really seen."""
    own = [j for j in context.judged if j.signal.trial == context.failing.signal.trial]
    return moves_of(own, context.failing.candidate)
