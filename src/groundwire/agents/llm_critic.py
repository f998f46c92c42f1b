"""A critic that asks a language model for a short reflection on one failure."""

from __future__ import annotations

from groundwire.agents.backends.choice import backend_for
from groundwire.agents.corrections import answered
from groundwire.agents.evidence import difference, failing_evidence, lessons_as_data
from groundwire.agents.project_view import view_project
from groundwire.agents.relevance import relevance_of
from groundwire.agents.templates import load_prompt
from groundwire.agents.text import data, printable
from groundwire.completions import Backend, Request
from groundwire.contexts import CriticContext, Reflection
from groundwire.errors import ConfigError, ModelReplyInvalid
from groundwire.seeds import seed_in

__all__ = ["LLMCritic", "reflection_by"]

REFLECTION_CHARS = 1500


class LLMCritic:
    """Reflects in the first person on what a failing signal shows, as in Reflexion (arXiv 2303.11366).

    It sees the task, the failing candidate and the evidence; nothing of hidden tests, and no evidence that was made
    with the answer key.

    Args:
        model: a LiteLLM id, `scripted:FILE`, or a backend.
        temperature: of the call.
        max_tokens: tokens of the reflection.
        context_tokens: tokens that files and tests may take in the prompt, at 3.5 characters a token.

    Raises:
        ConfigError: an argument is out of range, or the model's form is not known.
    """

    def __init__(
        self,
        model: str | Backend,
        *,
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
        prompt = load_prompt("reflect_v1")
        messages = prompt.messages(
            task=data("task", task.prompt, id=task.id),
            tests=view.tests,
            sources=view.sources,
            lessons=lessons_as_data(context.lessons),
            attempt=data("attempt", changes, applied="yes") if changes else "",
            evidence=failing_evidence(signal),
        )
        return Request(
            messages=messages,
            temperature=self._temperature,
            max_tokens=self._max_tokens,
            seed=seed_in(context, "reflect"),
            purpose="reflect",
            prompt_digest=prompt.digest,
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
