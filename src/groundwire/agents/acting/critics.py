"""Critics of trials in an environment: one asks a model, one goes by rule."""

from __future__ import annotations

from groundwire.agents.acting.showing import moves_as_data
from groundwire.agents.backends.choice import backend_for
from groundwire.agents.call_options import check_range
from groundwire.agents.evidence import failing_evidence, lessons_as_data, may_be_shown
from groundwire.agents.llm_critic import reflection_by
from groundwire.agents.templates import load_prompt
from groundwire.agents.text import data, plain
from groundwire.completions import Backend, Request
from groundwire.contexts import CriticContext, Reflection
from groundwire.environments import Move, moves_of
from groundwire.seeds import seed_in

__all__ = ["EpisodeCritic", "StepsCritic", "moves_of_trial"]

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
