"""Critics that ask a language model: a reflection on one failure, or a sentence out of a person's correction."""

from __future__ import annotations

from dataclasses import replace

from groundwire.agents.patching._evidence import difference, failing_evidence, lessons_as_data
from groundwire.agents.patching._project_view import relevance_of, view_project
from groundwire.agents.patching._reply_format import DO_THE_TASK
from groundwire.agents.prompting._structured import answered
from groundwire.agents.prompting._templates import digest_with, load_prompt
from groundwire.core._contexts import CriticContext, Reflection
from groundwire.core._errors import ConfigError, ModelReplyInvalid
from groundwire.core._ids import seed_in
from groundwire.core._models import Backend, Request
from groundwire.core._prompt_text import data, printable
from groundwire.core._traits import CriticTraits
from groundwire.models._choice import backend_for

# A critic that asks a language model for a short reflection on one failure.

REFLECTION_CHARS = 1500


class LLMCritic:
    """Reflects in the first person on what a failing signal shows, as in Reflexion (arXiv 2303.11366).

    It sees the task, the failing candidate and the evidence; nothing of hidden tests, and no evidence that was made
    with the answer key.

    Args:
        model: a LiteLLM id, `scripted:FILE`, or a backend.
        instructions: who the model is and what matters; empty: what the task's kind says, the programmer whose change
            failed (`Task.from_folder`) or whoever answered (`Task.of`).
        temperature: of the call.
        max_tokens: tokens of the reflection.
        context_tokens: tokens that files and tests may take in the prompt, at 3.5 characters a token.

    Raises:
        ConfigError: an argument is out of range, or the model's form is not known.
    """

    traits = CriticTraits(calls_only=True)

    def __init__(
        self,
        model: str | Backend,
        *,
        instructions: str = "",
        temperature: float = 0.2,
        max_tokens: int = 1024,
        context_tokens: int = 6000,
    ) -> None:
        if min(max_tokens, context_tokens) < 1 or temperature < 0:
            raise ConfigError(
                "LLMCritic got an argument out of range.",
                do="max_tokens and context_tokens are at least 1, temperature at least 0.",
            )
        self._backend = backend_for(model)
        self._instructions = instructions.strip()
        self._temperature = temperature
        self._max_tokens = max_tokens
        self._context_tokens = context_tokens

    @property
    def backend(self) -> Backend:
        """The model it asks."""
        return self._backend

    async def reflect(self, context: CriticContext) -> Reflection:
        """See `Critic`. The text is at most 1,500 characters.

        Raises:
            ModelReplyInvalid: there was nothing in the answer.
            ModelError, BudgetExceeded: from `context.call`.
        """
        return await reflection_by(self._backend, self._request(context), context)

    def _request(self, context: CriticContext) -> Request:
        task = context.task.public()
        signal, candidate = context.failing.signal, context.failing.candidate
        relevance = relevance_of(context.tree, signal, None, sorted(candidate.changes))
        view = view_project(task, context.tree, relevance, self._context_tokens, last=candidate.changes.keys())
        changes = difference(context.failing, task.tree, task.tree)
        writes = bool(self._instructions) or task.kind == "write"
        prompt = load_prompt("reflect_on_answer_v1" if writes else "reflect_v1")
        messages = prompt.messages(
            task=data("task", task.prompt, id=task.id),
            tests=view.tests,
            sources=view.sources,
            lessons=lessons_as_data(context.lessons),
            attempt=data("attempt", changes, applied="yes") if changes else "",
            evidence=failing_evidence(signal),
            **({"instructions": self._instructions or DO_THE_TASK} if writes else {}),
        )
        return Request(
            messages=messages,
            temperature=self._temperature,
            max_tokens=self._max_tokens,
            seed=seed_in(context, "reflect"),
            purpose="reflect",
            prompt_digest=digest_with(prompt.digest, self._instructions),
        )


async def reflection_by(backend: Backend, request: Request, context: CriticContext) -> Reflection:
    """A model's answer as a reflection of at most 1,500 characters.

    Raises:
        ModelReplyInvalid: there was nothing in the answer.
        ModelError, BudgetExceeded: from `context.call`.
    """
    completion = await answered(context.call, backend, request)
    text = next((tidy for text in completion.texts if (tidy := _tidy(text))), "")
    if not text:
        raise ModelReplyInvalid(f"{backend.model} wrote no reflection.", do="Try another model, or the rule critic.")
    return Reflection(text, by=backend.model)


def _tidy(text: str) -> str:
    clean = printable(text).strip()
    if len(clean) <= REFLECTION_CHARS:
        return clean
    cut = clean[: REFLECTION_CHARS - 1]
    end = max(cut.rfind(mark) for mark in (". ", ".\n", "! ", "? "))
    return cut[: end + 1] if end > REFLECTION_CHARS // 2 else f"{cut}…"


# A critic that turns a person's correction into a sentence that can be used again (DROC, arXiv 2311.10678).


class Distiller:
    """Keeps a person's words verbatim (`raw`), and beside them what is to be remembered.

    Args:
        model: a LiteLLM id, `scripted:FILE`, or a backend, which distils a sentence from the words; None: the words
            themselves are remembered.
        max_tokens: tokens of that sentence.
    """

    def __init__(self, model: str | Backend | None = None, *, max_tokens: int = 200) -> None:
        self._backend = None if model is None else backend_for(model)
        self._max_tokens = max_tokens

    @property
    def backend(self) -> Backend | None:
        """The model it asks, if any."""
        return self._backend

    async def reflect(self, context: CriticContext) -> Reflection:
        """See `Critic`.

        Raises:
            ModelReplyInvalid: there was nothing in the model's answer.
            ModelError, BudgetExceeded: from `context.call`.
        """
        words = context.failing.signal.evidence.stdout
        if self._backend is None:
            return Reflection(words, by="person", raw=words)
        task, prompt = context.task, load_prompt("distil_v1")
        request = Request(
            messages=prompt.messages(
                task=data("task", task.prompt, id=task.id),
                attempt=data("attempt", difference(context.failing, task.tree, task.tree)),
                correction=data("correction", words),
            ),
            max_tokens=self._max_tokens,
            seed=seed_in(context, "reflect"),
            purpose="reflect",
            prompt_digest=prompt.digest,
        )
        return replace(await reflection_by(self._backend, request, context), raw=words)
