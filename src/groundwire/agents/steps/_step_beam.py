"""An actor that searches step by step and keeps the best beginnings: step-level beam search (AlphaMath, 2405.03553)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from groundwire.agents.patching._evidence import failing_evidence
from groundwire.agents.prompting._structured import answered
from groundwire.agents.prompting._templates import load_prompt
from groundwire.agents.steps._going_on import gone_on
from groundwire.core._candidates import Candidate
from groundwire.core._contexts import ActorContext, Judged
from groundwire.core._errors import ConfigError
from groundwire.core._ids import seed_in
from groundwire.core._models import Backend, Request
from groundwire.core._prompt_text import data, fenced, printable
from groundwire.core._signals import Verdict
from groundwire.core._traits import ActorTraits, Needs
from groundwire.models._choice import backend_for


class Extender(Protocol):
    """Writes next steps."""

    async def __call__(self, context: ActorContext, beam: Judged | None, n: int) -> Sequence[Candidate]:
        """Up to `n` candidates that are `beam` and one step more; nothing where it is finished.

        Args:
            context: the actor's.
            beam: a beginning, with what was judged of it; None: nothing is written yet.
            n: candidates wanted.
        """
        ...


def passed_share(judged: Judged) -> float:
    """The value of a beginning without a value model: the share of the cases that it passes already."""
    cases = judged.signal.evidence.cases
    return len(judged.signal.evidence.passed()) / len(cases) if cases else 0.0


class StepBeamActor:
    """Each trial is one step: every kept beginning is extended by some next steps, all are judged, the best are kept.

    A beginning was judged by a tool, so what is cut and what goes on is decided outside of the model.

    Args:
        extend: writes next steps.
        beams: beginnings that are kept, B1; 1 in the paper's default.
        samples: next steps for each of them, B2.
        value: what a judged beginning is worth; default: the share of the cases that it passes.

    Raises:
        ConfigError: a number is below 1.
    """

    traits = ActorTraits(needs=Needs(lessons=0), patient=True, revision=2)

    def __init__(
        self,
        extend: Extender,
        *,
        beams: int = 1,
        samples: int = 5,
        value: Callable[[Judged], float] = passed_share,
    ) -> None:
        if min(beams, samples) < 1:
            raise ConfigError("StepBeamActor got an argument out of range.", do="Use 1 or more beams and samples.")
        self.beams = beams
        self.samples = samples
        self._extend = extend
        self._value = value

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        """See `Actor`. Nothing where every beginning is finished: the search has failed."""
        if context.failing is None or not context.judged:
            return await self._extend(context, None, self.beams * self.samples)
        alive = {j.candidate.digest: j for j in context.judged if j.signal.verdict is Verdict.FAIL}
        kept = sorted(alive.values(), key=self._value, reverse=True)[: self.beams]
        found: dict[str, Candidate] = {}
        for beam in kept:
            for candidate in await self._extend(context, beam, self.samples):
                if candidate.digest not in context.tried:
                    found.setdefault(candidate.digest, candidate)
        return tuple(found.values())


class NextStep:
    """Has a model write the next step of a text: an `Extender`.

    Args:
        model: a LiteLLM id, `scripted:FILE`, or a backend.
        path: the file of the task that is written to.
        stop: what ends a step; it is put back behind it.
        temperature: of the calls; 0.6 in AlphaMath.
        max_tokens: tokens of one step.

    Raises:
        ConfigError: an argument is out of range, or the model's form is not known.
    """

    def __init__(
        self,
        model: str | Backend,
        path: str,
        *,
        stop: str = "\n\n",
        temperature: float = 0.6,
        max_tokens: int = 256,
    ) -> None:
        if max_tokens < 1 or temperature < 0 or not stop:
            raise ConfigError(
                "NextStep got an argument out of range.",
                do="Use max_tokens of 1 or more, temperature of 0 or more, and a stop.",
            )
        self._backend = backend_for(model)
        self._path = path
        self._stop = stop
        self._temperature = temperature
        self._max_tokens = max_tokens

    @property
    def backend(self) -> Backend:
        """The model it asks."""
        return self._backend

    async def __call__(self, context: ActorContext, beam: Judged | None, n: int) -> Sequence[Candidate]:
        """See `Extender`. Empty steps and equal ones are left out, and of each what announces, fences or repeats."""
        base = context.task.tree
        shown = beam.candidate.applied_to(base) if beam else base
        written = shown.files.get(self._path, b"").decode("utf-8", "replace")
        place = [j.candidate.digest for j in context.judged].index(beam.candidate.digest) if beam else 0
        prompt = load_prompt("next_step_v1")
        request = Request(
            messages=prompt.messages(
                task=data("task", context.task.prompt, id=context.task.id),
                written=fenced(written),
                evidence=failing_evidence(beam.signal) if beam else "",
            ),
            n=n,
            temperature=self._temperature,
            max_tokens=self._max_tokens,
            stop=(self._stop,),
            seed=seed_in(context, "propose", call=place),
            purpose="propose",
            prompt_digest=prompt.digest,
        )
        completion = await answered(context.call, self._backend, request)
        steps = dict.fromkeys(gone_on(written, printable(text)).strip("\n") for text in completion.texts)
        return [
            Candidate(base.digest, {self._path: f"{written}{step}{self._stop}".encode()}, ("write.step",), step[:80])
            for step in steps
            if step.strip()
        ]
