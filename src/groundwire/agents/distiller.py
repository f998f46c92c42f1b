"""A critic that turns a person's correction into a sentence that can be used again (DROC, arXiv 2311.10678)."""

from __future__ import annotations

from dataclasses import replace

from groundwire.agents.backends.choice import backend_for
from groundwire.agents.evidence import difference
from groundwire.agents.llm_critic import reflection_by
from groundwire.agents.templates import load_prompt
from groundwire.agents.text import data
from groundwire.completions import Backend, Request
from groundwire.contexts import CriticContext, Reflection
from groundwire.seeds import seed_in

__all__ = ["Distiller"]


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
