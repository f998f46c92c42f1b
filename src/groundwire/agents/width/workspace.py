"""What one round hands to the next: a workspace of bounded size, made anew each time."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Literal

from groundwire.agents.templates import load_prompt
from groundwire.agents.text import inert
from groundwire.agents.width.asking import Asking, Extra, extra
from groundwire.agents.width.sampling import Draft, Sampler
from groundwire.agents.width.texts import bounded
from groundwire.agents.width.voting import majority
from groundwire.contexts import ActorContext
from groundwire.thinking import without_thinking

__all__ = ["Workspace", "candidates_as_data", "chosen", "summarised"]

Workspace = Literal["candidates", "summary", "top_k", "sample_top_k", "random_k"]
"""What a workspace is made of.

- `summary`: the model distils all drafts into one text.
- `top_k`: the drafts whose answers most others share; the same for all samples of the next round.
- `sample_top_k`: the same, chosen for each sample anew out of a half of the drafts.
- `random_k`: drawn for each sample.
- `candidates`: all of them, their final parts only, shuffled for each sample (GSR, arXiv 2509.00084).

The first four are of PDR (arXiv 2510.01123); by what its authors rank is not known to us, and shared answers are what
ranks without a model's opinion of itself.
"""
WORDS_PER_TOKEN = 0.7


def chosen(drafts: Sequence[Draft], kind: Workspace, k: int, seed: int) -> list[Draft]:
    """The drafts of one sample's workspace, in the order in which it shows them."""
    rng = random.Random(seed)
    match kind:
        case "random_k":
            return rng.sample(drafts, min(k, len(drafts)))
        case "top_k":
            return _most_shared(drafts)[:k]
        case "sample_top_k":
            half = rng.sample(drafts, max(min(k, len(drafts)), (len(drafts) + 1) // 2))
            return _most_shared(half)[:k]
        case _:
            return rng.sample(drafts, len(drafts))


def candidates_as_data(drafts: Sequence[Draft], asking: Asking, tokens: int) -> str:
    """Drafts as labelled data, at most `tokens` long together; neither their thinking nor their order of birth."""
    if not drafts:
        return ""
    each = tokens // len(drafts) - 1  # the line ends between them
    shown = [bounded("candidate", asking.shown(d.text), each, number=i) for i, d in enumerate(drafts, 1)]
    return "\n\n".join(shown)


async def summarised(
    sampler: Sampler, context: ActorContext, asking: Asking, drafts: Sequence[Draft], tokens: int, *, stage: int
) -> Extra:
    """One model's summary of all drafts, cut to `tokens` whatever the model made of the request."""
    prompt = load_prompt("distil_workspace_v1")
    each = max(tokens, sampler.max_tokens)
    shown = "\n\n".join(bounded("draft", asking.shown(d.text), each, number=i) for i, d in enumerate(drafts, 1))
    messages = prompt.messages(
        task=asking.statement(context), drafts=shown, words=str(max(1, int(tokens * WORDS_PER_TOKEN)))
    )
    (text,) = await sampler.texts(context, [messages], prompt.name, "summarise", stage=stage, max_tokens=tokens)
    return extra("from_workspace_v1", workspace=bounded("workspace", inert(without_thinking(text)), tokens))


def _most_shared(drafts: Sequence[Draft]) -> list[Draft]:
    ranking = majority([d.key for d in drafts]).ranking
    place = {key: at for at, key in enumerate(ranking)}
    readable = sorted((d for d in drafts if d.key is not None), key=lambda d: place[d.key or ""])
    return readable or list(drafts)
