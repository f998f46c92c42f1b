"""Votes over samples, plain or weighed by confidence, and a backend that ends a trace as its confidence falls."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal, Protocol, runtime_checkable

from groundwire.agents.width._sampling import (
    REVISED,
    Asking,
    Draft,
    Question,
    Sampler,
    drawn,
    in_order,
    named,
    ranked,
)
from groundwire.agents.width._voting import (
    TOP_K,
    RunningGroup,
    Score,
    VoteResult,
    majority,
    percentile,
    score,
    shortest_majority,
    token_confidence,
    weighted,
)
from groundwire.core._candidates import Candidate
from groundwire.core._contexts import ActorContext
from groundwire.core._errors import ConfigError
from groundwire.core._models import Backend, Completion, Request, SwitchPenalty
from groundwire.core._traits import BackendTraits
from groundwire.models._chat import all_of
from groundwire.models._openai_compatible import KILLED, GoesOn

# A backend that ends a trace as soon as its confidence falls, so that the engine's slot is free at once.


@runtime_checkable
class StreamsProbabilities(Protocol):
    """A backend that shows its tokens' probabilities while it writes, and stops when told to."""

    async def stream_while(self, request: Request, watch: Callable[[], GoesOn]) -> Completion:
        """As `Backend.complete` for one sample.

        Args:
            request: asks for `top_logprobs` and for one sample.
            watch: makes, for each attempt, what is told of each token's likeliest log probabilities, highest first.
                Where that says False the connection is closed, and the completion holds what has come, with the finish
                reason `killed`.
        """
        ...


class KillBelow:
    """Ends a trace when the mean confidence of its last `window` tokens is below `threshold`.

    Args:
        backend: what completes; one that can't show probabilities as it writes lets every trace end by itself.
        threshold: of a group's confidence.
        window: tokens of a group.
    """

    def __init__(self, backend: Backend, threshold: float, window: int) -> None:
        self._backend = backend
        self._threshold = threshold
        self._window = window

    @property
    def model(self) -> str:
        """See `Backend`."""
        return self._backend.model

    @property
    def traits(self) -> BackendTraits:
        """Those of the backend that it asks."""
        return BackendTraits.of(self._backend)

    async def complete(self, request: Request) -> Completion:
        """See `Backend`."""
        if not isinstance(self._backend, StreamsProbabilities):
            return await self._backend.complete(request)
        return await self._backend.stream_while(request, self._watch)

    def _watch(self) -> GoesOn:
        group = RunningGroup(self._window)

        def goes_on(top: Sequence[float]) -> bool:
            mean = group.add(token_confidence(top))
            return mean is None or mean >= self._threshold

        return goes_on

    async def complete_many(self, requests: Sequence[Request]) -> Sequence[Completion]:
        """See `Backend`."""
        return await all_of([self.complete(request) for request in requests])

    def price(self, request: Request) -> float | None:
        """See `Backend`."""
        return self._backend.price(request)


# Votes over samples: plurality, short groups first, or weighed by the confidence of their tokens (DeepConf).

Mode = Literal["majority", "shortest", "offline", "online"]
"""- `majority`: self-consistency (arXiv 2203.11171).
- `shortest`: large and short groups first (arXiv 2502.12215).
- `offline`: all samples are written; the most confident share of them votes, weighed by confidence (arXiv 2508.15260).
- `online`: after a warm-up, a trace ends when its confidence falls below what the warm-up says, and sampling ends when
  the winner's share is large enough.
"""
PHASES = 16


class ConfidentVote:
    """Samples, then votes. Nothing is rewritten: confidence drops a trace or weighs it.

    Traces without an answer are no part of it: of the others `keep` percent vote. Where none of these is confident (all
    were ended early, or their tokens have no probabilities to tell them apart), the majority of all answers decides.

    Args:
        model: a model id or a backend; `offline` and `online` need one that returns `top_logprobs`, and traces end
            early where it can show them as it writes (`killing.StreamsProbabilities`).
        asking: how one answer is asked for and read.
        samples: of one proposal at most (the budget B).
        mode: how the vote is taken.
        keep: η, the percent of traces that vote: 10 and 90 are published. Online it sets the threshold: the (100 − η)th
            percentile of the warm-up's lowest groups.
        by: the score of a trace, `offline`; online it is the lowest group.
        window: tokens of a group; 2048 and 1024 are published.
        warm_up: traces that are written whole before the threshold is known.
        at_once: traces of one batch after that.
        consensus: τ, the share of the vote at which sampling ends.
        temperature: of samples; 0.6 is published.
        max_tokens: of each.
        switch_penalty: see `LLMActor`; with a vote it was published too.

    Raises:
        ConfigError: an argument is out of range.
    """

    traits = REVISED

    def __init__(
        self,
        model: str | Backend,
        asking: Asking,
        *,
        samples: int = 16,
        mode: Mode = "majority",
        keep: float = 90,
        by: Score = "lowest",
        window: int = 2048,
        warm_up: int = 16,
        at_once: int = 16,
        consensus: float = 0.95,
        temperature: float = 0.6,
        max_tokens: int = 4096,
        switch_penalty: SwitchPenalty | None = None,
    ) -> None:
        if min(samples, window, warm_up, at_once) < 1 or not 0 < keep <= 100 or not 0 < consensus <= 1:
            raise ConfigError(
                "ConfidentVote got an argument out of range.",
                do="Numbers of samples and tokens are at least 1; 0 < keep ≤ 100; 0 < consensus ≤ 1.",
            )
        batches = math.ceil(max(0, samples - warm_up) / at_once)
        if mode == "online" and batches >= PHASES:
            raise ConfigError(f"{batches} batches are more than {PHASES - 1}.", do="Raise at_once.")
        self._sampler = Sampler(model, temperature=temperature, max_tokens=max_tokens, switch_penalty=switch_penalty)
        self._asking = asking
        self._samples = samples
        self._mode: Mode = mode
        self._keep = keep
        self._by: Score = by
        self._window = window
        self._warm_up = min(warm_up, samples)
        self._at_once = at_once
        self._consensus = consensus
        self._top = TOP_K if mode in ("offline", "online") else 0

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        """See `Actor`: the winner, then the others by their votes.

        Raises:
            ConfigError: the model returns no probabilities, and the mode needs them.
            ModelError, BudgetExceeded: from `context.call`.
            TaskError: the task asks for nothing that `asking` can make.
        """
        question = self._asking.question(context)
        samples = drawn(self._samples, context, n)
        if self._mode == "online":
            drafts, vote = await self._online(context, question, samples)
        else:
            drafts = await self._drafts(context, question, samples, phase=0)
            vote = self._vote(drafts)
        fell_back = not vote.share
        vote = majority([draft.key for draft in drafts]) if fell_back else vote
        killed = sum(_is_killed(draft) for draft in drafts)
        mode: Mode = "majority" if fell_back else self._mode
        note = f"{mode} vote: {vote}; {len(drafts)} traces{f', {killed} ended early' if killed else ''}"
        answers = in_order(drafts, vote.ranking)
        return ranked([named(a, f"vote.{mode}", note) for a in answers], context, n, self._asking, drafts)

    def _vote(self, drafts: Sequence[Draft]) -> VoteResult:
        keys = [draft.key for draft in drafts]
        match self._mode:
            case "shortest":
                return shortest_majority(keys, [max(1, draft.tokens) for draft in drafts])
            case "offline":
                answered = [draft for draft in drafts if draft.key is not None]
                if not answered:
                    return majority(keys)
                scores = [score(_confidences(draft), self._by, self._window) for draft in answered]
                bar = sorted(scores, reverse=True)[math.ceil(len(scores) * self._keep / 100) - 1]
                return weighted([d.key if s >= bar else None for d, s in zip(answered, scores, strict=True)], scores)
            case _:
                return majority(keys)

    async def _online(self, context: ActorContext, question: Question, samples: int) -> tuple[list[Draft], VoteResult]:
        drafts = await self._drafts(context, question, self._warm_up, phase=0)
        lowest = [self._lowest(draft) for draft in drafts if draft.key is not None]
        # without any answer nothing says how confident a trace should be, and none is ended
        threshold = percentile(lowest, 100 - self._keep) if lowest else 0.0
        killing = Sampler(
            KillBelow(self._sampler.backend, threshold, self._window),
            temperature=self._sampler.temperature,
            max_tokens=self._sampler.max_tokens,
            switch_penalty=self._sampler.switch_penalty,
        )
        for phase in range(1, PHASES):
            vote = self._of_confident(drafts, threshold)
            wanted = min(self._at_once, samples - len(drafts))
            if wanted < 1 or vote.share >= self._consensus:
                break
            drafts += await self._drafts(context, question, wanted, phase=phase, sampler=killing)
        return drafts, self._of_confident(drafts, threshold)

    def _of_confident(self, drafts: Sequence[Draft], threshold: float) -> VoteResult:
        """The vote of traces that were not ended and would not have been, each by its lowest group."""
        lowest = [self._lowest(draft) for draft in drafts]
        keys = [
            draft.key if value >= threshold and not _is_killed(draft) else None
            for draft, value in zip(drafts, lowest, strict=True)
        ]
        return weighted(keys, lowest)

    def _lowest(self, draft: Draft) -> float:
        return score(_confidences(draft), "lowest", self._window)

    async def _drafts(
        self, context: ActorContext, question: Question, n: int, *, phase: int, sampler: Sampler | None = None
    ) -> list[Draft]:
        asked = sampler or self._sampler
        return await asked.drafts(context, self._asking, question, n, phase=phase, top_logprobs=self._top)


def _is_killed(draft: Draft) -> bool:
    return KILLED in draft.completion.finish_reasons


def _confidences(draft: Draft) -> list[float]:
    """Of each token.

    Raises:
        ConfigError: the model returned none, though it wrote something.
    """
    given = draft.completion.top_logprobs
    if not given:
        if not draft.text:
            return []
        raise ConfigError(
            f"{draft.completion.model or 'The model'} returned no probabilities of tokens, which this vote rests on.",
            do="Use a server that returns top_logprobs, such as vLLM, or mode='majority'.",
        )
    return [token_confidence(top) for top in given[0]]
