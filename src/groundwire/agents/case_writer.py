"""A language model that writes test cases for a task, before it is known what will be proposed."""

from __future__ import annotations

from groundwire.agents.backends.choice import backend_for
from groundwire.agents.corrections import answered
from groundwire.agents.project_view import view_project
from groundwire.agents.relevance import relevance_of
from groundwire.agents.templates import load_prompt
from groundwire.agents.text import data
from groundwire.agents.written_cases import read_cases
from groundwire.completions import Backend, Request
from groundwire.contexts import WriterContext, WrittenCases
from groundwire.errors import ConfigError
from groundwire.seeds import seed_in

__all__ = ["LLMCaseWriter"]


class LLMCaseWriter:
    """Asks for a few tests of what the task wants, as in Reflexion (arXiv 2303.11366).

    It sees the task and the project, nothing of hidden tests and no candidate. What it writes is checked before it may
    judge (`groundwire.tools.ModelTests`).

    Args:
        model: a LiteLLM id, `scripted:FILE`, or a backend.
        temperature: of the call.
        max_tokens: tokens of the answer.
        context_tokens: tokens that files may take in the prompt, at 3.5 characters a token.

    Raises:
        ConfigError: an argument is out of range, or the model's form is not known.
    """

    def __init__(
        self, model: str | Backend, *, temperature: float = 0.2, max_tokens: int = 2048, context_tokens: int = 6000
    ) -> None:
        if min(max_tokens, context_tokens) < 1 or temperature < 0:
            raise ConfigError(
                "LLMCaseWriter got an argument out of range.",
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

    async def write(self, context: WriterContext, n: int) -> WrittenCases:
        """See `groundwire.contexts.CaseWriter`."""
        task = context.task.public()
        view = view_project(task, task.tree, relevance_of(task.tree, None), self._context_tokens)
        prompt = load_prompt("write_cases_v1")
        messages = prompt.messages(
            task=data("task", task.prompt, id=task.id),
            tests=view.tests,
            sources=view.sources,
            not_shown=view.omitted,
            count=str(n),
        )
        request = Request(
            messages=messages,
            temperature=self._temperature,
            max_tokens=self._max_tokens,
            seed=seed_in(context, "write_tests", of_episode=True),
            purpose="write_tests",
            prompt_digest=prompt.digest,
        )
        completion = await answered(context.call, self._backend, request)
        return read_cases("\n".join(completion.texts[:1]), n, by=completion.model or self._backend.model)
