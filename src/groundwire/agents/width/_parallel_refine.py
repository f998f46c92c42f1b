"""Drafts side by side, distilled into a bounded workspace, drafted again from there: PDR, and GSR as a form of it."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Literal

from groundwire.agents.prompting._templates import load_prompt
from groundwire.agents.width._answers import bounded
from groundwire.agents.width._sampling import (
    REVISED,
    Asking,
    Draft,
    Extra,
    Question,
    Sampler,
    drawn,
    extra,
    in_order,
    named,
    ranked,
)
from groundwire.agents.width._voting import VoteResult, majority
from groundwire.core._candidates import Candidate
from groundwire.core._contexts import ActorContext
from groundwire.core._errors import ConfigError
from groundwire.core._ids import seed_in
from groundwire.core._models import Backend
from groundwire.core._prompt_text import inert
from groundwire.core._reasoning_text import without_reasoning

# What one round hands to the next: a workspace of bounded size, made anew each time.

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
    sampler: Sampler, context: ActorContext, asking: Asking, drafts: Sequence[Draft], tokens: int, *, phase: int
) -> Extra:
    """One model's summary of all drafts, cut to `tokens` whatever the model made of the request."""
    prompt = load_prompt("distil_workspace_v1")
    each = max(tokens, sampler.max_tokens)
    shown = "\n\n".join(bounded("draft", asking.shown(d.text), each, number=i) for i, d in enumerate(drafts, 1))
    messages = prompt.messages(
        task=asking.statement(context), drafts=shown, words=str(max(1, int(tokens * WORDS_PER_TOKEN)))
    )
    (text,) = await sampler.texts(context, [messages], prompt.name, "summarise", phase=phase, max_tokens=tokens)
    return extra("from_workspace_v1", workspace=bounded("workspace", inert(without_reasoning(text)), tokens))


def _most_shared(drafts: Sequence[Draft]) -> list[Draft]:
    ranking = majority([d.key for d in drafts]).ranking
    place = {key: at for at, key in enumerate(ranking)}
    readable = sorted((d for d in drafts if d.key is not None), key=lambda d: place[d.key or ""])
    return readable or list(drafts)


# Drafts side by side, distilled into a bounded workspace, drafted again from there: PDR, and GSR as a form of it.

SYNTHESIS, NEW, VOTE = "write.synthesis", "write.synthesis_new", "write.vote"
"""Names of the edits: a synthesis says what some draft said too, or what none did; a vote chose among the drafts. A
`synthesis_new` that passes is what synthesis gains where every draft was wrong."""
MOST_CANDIDATES = 10
"""More in one prompt hurt (GSR, arXiv 2509.00084)."""
VOTE_ABOVE = 0.9
"""Where one draft is right so often, choosing is as good as synthesis (GSR)."""
PHASES = 7


class ParallelRefine:
    """Samples drafts, hands a workspace of at most κ tokens to the next round, and gives what the last round wrote.

    Each round sees the task and the workspace, which is made anew and not appended to; so no prompt grows with the
    rounds. Where more than 90 % of the drafts can be expected to be right, the vote is taken instead.

    Args:
        model: a model id or a backend.
        asking: how one answer is asked for and read.
        rounds: drafts of each round; (8, 4, 1) is PDR's example, (5, 1) with `workspace="candidates"` is GSR,
            (1, 1, 1) is sequential refinement.
        workspace: what the workspace is made of, see `workspace.Workspace`.
        workspace_tokens: κ, at 3.5 characters a token; PDR's own value is not known to us.
        keep: drafts in a workspace of `top_k`, `sample_top_k` or `random_k`.
        pass_at_1: share of single answers that are right on such tasks, where it is known; else the share of all
            drafts that agree with the winner stands for it, those without an answer among the others.
        prompt: what the drafts are shown with, where the workspace holds drafts.
        temperature: of drafts.
        max_tokens: of each draft.

    Raises:
        ConfigError: an argument is out of range: no rounds, or more than 10 candidates in one prompt.
    """

    traits = REVISED

    def __init__(
        self,
        model: str | Backend,
        asking: Asking,
        *,
        rounds: Sequence[int] = (8, 4, 1),
        workspace: Workspace = "summary",
        workspace_tokens: int = 2000,
        keep: int = 4,
        pass_at_1: float | None = None,
        prompt: Literal["synthesise_v1", "fuse_v1"] = "synthesise_v1",
        temperature: float = 1.0,
        max_tokens: int = 2048,
    ) -> None:
        if not 2 <= len(rounds) <= PHASES or min(*rounds, keep) < 1 or workspace_tokens < 100:
            raise ConfigError(
                f"ParallelRefine can't go through rounds of {tuple(rounds)} with {workspace_tokens} tokens.",
                do=f"Use 2 to {PHASES} rounds of at least one draft; at least 100 tokens and one kept draft.",
            )
        shown = max(rounds[:-1]) if workspace == "candidates" else keep
        if workspace != "summary" and shown > MOST_CANDIDATES:
            raise ConfigError(
                f"{shown} candidates in one prompt hurt: at most {MOST_CANDIDATES} are shown.",
                do="Draw 4 to 6, or use workspace='summary'.",
            )
        self._sampler = Sampler(model, temperature=temperature, max_tokens=max_tokens)
        self._asking = asking
        self._rounds = tuple(rounds)
        self._workspace: Workspace = workspace
        self._tokens = workspace_tokens
        self._keep = keep
        self._pass_at_1 = pass_at_1
        self._prompt = prompt

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        """See `Actor`: the last round's answers, then those that the drafts voted for.

        Raises:
            ModelError, BudgetExceeded: from `context.call`.
            TaskError: the task asks for nothing that `asking` can make.
        """
        asking = self._asking
        first = drawn(self._rounds[0], context, n)
        first = min(first, MOST_CANDIDATES) if self._workspace == "candidates" else first
        drafts = await self._sampler.drafts(context, asking, asking.question(context), first, phase=0)
        seen, vote = list(drafts), majority([d.key for d in drafts])
        if self._is_sure(vote, len(drafts)):
            return ranked(self._votes(seen, vote), context, n, asking, seen)
        for number, wanted in enumerate(self._rounds[1:], 1):
            questions = await self._questions(context, drafts, wanted, phase=number)
            if number > 1:
                seen += drafts
            drafts = await self._sampler.drafts(context, asking, questions, phase=2 * number)
        written = self._written(drafts, seen)
        votes = self._votes(seen, majority([d.key for d in seen]))
        return ranked([*written, *votes], context, n, asking, [*seen, *drafts])

    def _is_sure(self, vote: VoteResult, drafts: int) -> bool:
        expected = vote.share * vote.counted / drafts if self._pass_at_1 is None else self._pass_at_1
        return bool(vote.ranking) and vote.counted > 1 and expected > VOTE_ABOVE

    async def _questions(
        self, context: ActorContext, drafts: Sequence[Draft], wanted: int, *, phase: int
    ) -> list[Question]:
        given = [draft for draft in drafts if draft.text.strip()]
        if not given:
            return [self._asking.question(context)] * wanted
        if self._workspace == "summary":
            made = await summarised(self._sampler, context, self._asking, given, self._tokens, phase=2 * phase - 1)
            return [self._asking.question(context, made)] * wanted
        seed = seed_in(context, "shuffle", call=phase)
        return [self._asking.question(context, self._shown(given, seed + sample)) for sample in range(wanted)]

    def _shown(self, drafts: Sequence[Draft], seed: int) -> Extra:
        picked = drafts if self._prompt == "fuse_v1" else chosen(drafts, self._workspace, self._keep, seed)
        return extra(self._prompt, candidates=candidates_as_data(picked, self._asking, self._tokens))

    def _written(self, last: Sequence[Draft], seen: Sequence[Draft]) -> list[Candidate]:
        known = {draft.key for draft in seen}
        vote = majority([d.key for d in last])
        return [
            named(
                answer,
                SYNTHESIS if answer.key in known else NEW,
                f"synthesis of {len(seen)} drafts{'' if answer.key in known else ', which none of them says'}",
            )
            for answer in in_order(last, vote.ranking)
        ]

    def _votes(self, drafts: Sequence[Draft], vote: VoteResult) -> list[Candidate]:
        return [named(answer, VOTE, f"vote: {vote}") for answer in in_order(drafts, vote.ranking)]
