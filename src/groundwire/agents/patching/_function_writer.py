"""An actor for models too small to follow instructions: they go on writing a function that is begun for them."""

from __future__ import annotations

from collections.abc import Sequence

from groundwire.agents.patching._stubs import Stub, find_stub
from groundwire.agents.prompting._templates import load_prompt
from groundwire.core._candidates import Candidate
from groundwire.core._contexts import ActorContext
from groundwire.core._errors import ConfigError, ModelReplyInvalid
from groundwire.core._ids import seed_in
from groundwire.core._models import Backend, Completion, Message, Request
from groundwire.core._prompt_text import inert, printable, unfence
from groundwire.core._traits import ActorTraits
from groundwire.models._choice import backend_for

GREEDY = "write.greedy"
SAMPLED = "write.sampled"
"""Names of the edits, by which a candidate says how it was made."""

STOPS = ("```", "\ndef ", "\nclass ", "\nprint", "\n#", "\nif ", "\nassert")
"""What begins after the function's end."""
CALLS = 3
"""Calls for one proposal, where answers hold no body or were judged before."""


class FunctionWriter:
    """Writes the body of a function that has a signature and a docstring: first the likeliest answer, then samples.

    The answer is begun for the model (a fence and the signature), so that all it can do is to go on. The first trial
    is one answer at temperature 0. When a signal from outside has said that it fails, each further trial takes
    `samples` answers at `temperature`. What failed is not told: at the size this is for (SmolLM2, 135 million
    parameters) telling it is not expected to help more than another sample does; no bench of ours has measured it.

    Args:
        model: `local`, another model id, or a backend. It must go on with an answer that is begun.
        samples: answers of a trial after the first; fewer where the graph wants fewer.
        temperature: of these.
        max_tokens: tokens of each answer.

    Raises:
        ConfigError: an argument is out of range, or the model can't be had.
    """

    traits = ActorTraits(revision=3)

    def __init__(
        self, model: str | Backend, *, samples: int = 4, temperature: float = 0.8, max_tokens: int = 128
    ) -> None:
        if min(samples, max_tokens) < 1 or temperature < 0:
            raise ConfigError(
                "FunctionWriter got an argument out of range.",
                do="samples and max_tokens are at least 1, the temperature at least 0.",
            )
        self._backend = backend_for(model)
        self._samples = samples
        self._temperature = temperature
        self._max_tokens = max_tokens

    @property
    def backend(self) -> Backend:
        """The model it asks."""
        return self._backend

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        """See `Actor`. Empty: no answer held a body that was not judged before.

        Raises:
            TaskError: the task has no function without a body.
            ModelError, BudgetExceeded: from `context.call`.
        """
        stub = find_stub(context.task)
        messages, digest = begun_answer(stub)
        for call in range(CALLS):
            greedy = context.trial <= 1 and not context.escalation and call == 0
            request = Request(
                messages=messages,
                n=1 if greedy else min(n, self._samples),
                temperature=0.0 if greedy else self._temperature,
                max_tokens=self._max_tokens,
                stop=STOPS,
                seed=seed_in(context, "function", call=call),
                purpose="propose",
                prompt_digest=digest,
            )
            new = _new(await self._texts(context, request), stub, context, GREEDY if greedy else SAMPLED)
            if new:
                return new
        return ()

    async def _texts(self, context: ActorContext, request: Request) -> Sequence[str]:
        try:
            completion: Completion = await context.call(self._backend, request)
        except ModelReplyInvalid:
            return ()  # nothing but empty answers: small models give them, and the next sample may hold one
        return completion.texts


def begun_answer(stub: Stub) -> tuple[tuple[Message, ...], str]:
    """The messages that ask for a stub's body, the last of them begun for the model, and the prompt's digest."""
    prompt = load_prompt("write_function_v1")
    examples = " ".join(f"For example, `{inert(call)}` gives `{inert(value)}`." for call, value in stub.examples())
    signature = inert(stub.signature)
    asked = prompt.messages(
        signature=signature.removeprefix("def ").removesuffix(":"),
        description=inert(stub.description()),
        examples=examples,
    )
    # without a line end: models take line end and indentation as one token, and stop where it is given away
    return (*asked, Message(role="assistant", content=f"```python\n{signature}")), prompt.digest


def _new(texts: Sequence[str], stub: Stub, context: ActorContext, how: str) -> Sequence[Candidate]:
    found: dict[str, Candidate] = {}
    base = context.task.tree
    for text in texts:
        content = stub.filled(unfence(printable(text)))
        if content is None:
            continue
        candidate = Candidate(base.digest, {stub.path: content.encode()}, (how,), how.replace(".", " "))
        if candidate.digest not in context.tried:
            found.setdefault(candidate.digest, candidate)
    return tuple(found.values())
