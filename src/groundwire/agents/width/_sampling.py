"""Several calls side by side for one proposal: how each is asked, its own seed, how its answer is read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from groundwire.agents.prompting._templates import load_prompt, risen
from groundwire.core._answers import NONE_SAID, stated_answer
from groundwire.core._candidates import Candidate
from groundwire.core._contexts import ActorContext
from groundwire.core._errors import CandidateError, ConfigError, ModelReplyInvalid
from groundwire.core._ids import PHASES_PER_PROPOSAL, seed_in
from groundwire.core._models import Backend, Completion, Message, Request, SwitchPenalty
from groundwire.core._traits import ActorTraits, BackendTraits, Needs
from groundwire.models._chat import all_of
from groundwire.models._choice import backend_for

REVISED = ActorTraits(needs=Needs(episode=True), revision=4)
"""Of methods that ask for answers: they know what the episode has judged, by what it says. The second revision since
answers are read in whatever form models give them, and compared by one normal form; the third since what judges and
moderators say is, too; the fourth since a short reply is an answer without a mark, and whole functions are read."""
CONTROL = replace(REVISED, grounded=False)
"""Of those that revise or judge themselves."""

# How a method that goes wide asks for one answer, reads it, and tells whether two answers say the same.


@dataclass(frozen=True)
class Extra:
    """What a method adds to the question: text of a prompt file of its own, filled.

    Args:
        text: put behind the question.
        digest: sha256 of the prompt file; empty where nothing is added.
    """

    text: str = ""
    digest: str = ""


NOTHING = Extra()


def extra(name: str, **values: str) -> Extra:
    """The user part of `agents/prompts/<name>.md`, filled; values are safe already."""
    prompt = load_prompt(name)
    return Extra(prompt.messages(**values)[-1].content, prompt.digest)


@dataclass(frozen=True)
class Question:
    """One request for one answer.

    Args:
        messages: the whole conversation; the last one may be an answer that is begun.
        prompt_digest: sha256 of the prompt file that says what is wanted: the method's own where there is one.
        stop: what begins after the answer's end.
    """

    messages: tuple[Message, ...]
    prompt_digest: str
    stop: tuple[str, ...] = ()

    def asked_of(self, backend: Backend) -> Question:
        """The same for a backend that may not go on with a begun answer (`BackendTraits.continues`): it would begin
        anew, and what a begun answer ends at, a fence, would cut it off there. So it is asked for a whole answer."""
        if self.messages[-1].role != "assistant" or BackendTraits.of(backend).continues:
            return self
        return replace(self, messages=self.messages[:-1], stop=())


@dataclass(frozen=True)
class SampledAnswer:
    """The answer read from a model's text.

    Args:
        text: the answer alone, without what was thought before it.
        key: equal for answers that say the same; what a vote counts.
        candidate: what will be judged.
    """

    text: str
    key: str
    candidate: Candidate


class Asking(Protocol):
    """Turns a task into a question for one answer, and a text into that answer."""

    def question(self, context: ActorContext, added: Extra = NOTHING, *, told: bool = True) -> Question:
        """The question.

        Args:
            context: what the actor works from.
            added: what the method has to say: earlier answers, a complaint.
            told: True to show what was judged last and what came of it; a control asks blindly.

        Raises:
            TaskError: the task asks for nothing that this can make.
        """
        ...

    def statement(self, context: ActorContext) -> str:
        """The task as labelled data, for prompts that ask for something else than an answer."""
        ...

    def read(self, text: str, context: ActorContext) -> SampledAnswer | None:
        """The answer in a model's text; None where there is none, or several that differ."""
        ...

    def key_of(self, candidate: Candidate, context: ActorContext) -> str:
        """The key of a candidate that was judged, equal to `SampledAnswer.key` of one that says the same."""
        ...

    def shown(self, text: str) -> str:
        """What later prompts may see of a model's text: its final part, without what it thought."""
        ...


# Several calls side by side for one proposal, each with its own seed, and what they came to.

EMPTY = Completion(texts=("",))


@dataclass(frozen=True)
class Draft:
    """One sample.

    Args:
        text: as the model wrote it.
        answer: what it came to; None where it holds no answer.
        completion: the whole call.
    """

    text: str
    answer: SampledAnswer | None
    completion: Completion

    @property
    def key(self) -> str | None:
        """What a vote counts."""
        return self.answer.key if self.answer else None

    @property
    def tokens(self) -> int:
        """Tokens that were written."""
        return self.completion.completion_tokens


class Sampler:
    """Asks one model for samples and for texts, through `context.call` only.

    Calls of one phase wait for none of each other: the ledger has the phase behind the purpose (`propose.2`), so that
    the critical path can be told from the total (`graphs.run.history.TokensWritten`).

    Args:
        model: a model id or a backend.
        temperature: of samples; 0.15 more with each escalation, up to 1.5.
        max_tokens: of each text.
        switch_penalty: of samples; see `LLMActor`.

    Raises:
        ConfigError: an argument is out of range, or the model can't be had.
    """

    def __init__(
        self,
        model: str | Backend,
        *,
        temperature: float = 0.8,
        max_tokens: int = 2048,
        switch_penalty: SwitchPenalty | None = None,
    ) -> None:
        if max_tokens < 1 or temperature < 0:
            raise ConfigError(
                "A sampler got an argument out of range.", do="max_tokens is at least 1, the temperature at least 0."
            )
        self.backend = backend_for(model)
        self.temperature = temperature
        self.max_tokens = max_tokens
        self.switch_penalty = switch_penalty

    async def drafts(
        self,
        context: ActorContext,
        asking: Asking,
        question: Question | Sequence[Question],
        n: int = 1,
        *,
        phase: int,
        top_logprobs: int = 0,
        first: int = 0,
    ) -> list[Draft]:
        """`n` samples of each question, side by side.

        Args:
            context: what the actor works from.
            asking: reads the answers.
            question: one, or several.
            n: samples of each.
            phase: see `Sampler`.
            top_logprobs: of each token, how many likeliest log probabilities are wanted.
            first: the first sample's number in its phase; other samplers of one phase need other numbers.
        """
        questions = [question] if isinstance(question, Question) else question
        asked = [one for one in questions for _ in range(n)]
        requests = [
            self._request(context, one.asked_of(self.backend), phase, i, top_logprobs)
            for i, one in enumerate(asked, first)
        ]
        calls = [self._call(context, request) for request in requests]
        return [_draft(completion, asking, context) for completion in await all_of(calls)]

    async def texts(
        self,
        context: ActorContext,
        prompts: Sequence[tuple[Message, ...]],
        name: str,
        purpose: str,
        *,
        phase: int,
        temperature: float = 0.0,
        max_tokens: int | None = None,
    ) -> list[str]:
        """One text for each conversation, side by side; empty where the model gave none.

        Args:
            context: what the actor works from.
            prompts: the conversations.
            name: of the prompt file behind them.
            purpose: as the ledger keeps it.
            phase: see `Sampler`.
            temperature: of these.
            max_tokens: of each; default: the sampler's.
        """
        digest = load_prompt(name).digest
        calls = [
            self._call(
                context,
                Request(
                    messages=messages,
                    temperature=temperature,
                    max_tokens=max_tokens or self.max_tokens,
                    seed=seed_in(context, "width", call=phase, sample=i),
                    purpose=_in_phase(purpose, context, phase),
                    prompt_digest=digest,
                ),
            )
            for i, messages in enumerate(prompts)
        ]
        return [completion.texts[0] if completion.texts else "" for completion in await all_of(calls)]

    def _request(self, context: ActorContext, question: Question, phase: int, index: int, top: int) -> Request:
        return Request(
            messages=question.messages,
            temperature=risen(self.temperature, context.escalation),
            max_tokens=self.max_tokens,
            stop=question.stop,
            switch_penalty=self.switch_penalty,
            seed=seed_in(context, "width", call=phase, sample=index),
            purpose=_in_phase("propose", context, phase),
            prompt_digest=question.prompt_digest,
            logprobs=top > 0,
            top_logprobs=top,
        )

    async def _call(self, context: ActorContext, request: Request) -> Completion:
        try:
            return await context.call(self.backend, request)
        except ModelReplyInvalid:
            return EMPTY  # an empty answer; the others may hold one


def in_order(drafts: Sequence[Draft], keys: Sequence[str]) -> list[SampledAnswer]:
    """The first answer of each key, in the keys' order."""
    first: dict[str, SampledAnswer] = {}
    for draft in drafts:
        if draft.answer:
            first.setdefault(draft.answer.key, draft.answer)
    return [first[key] for key in keys if key in first]


def named(answer: SampledAnswer, edit: str, note: str = "") -> Candidate:
    """The answer's candidate, with what made it."""
    return replace(answer.candidate, edits=(edit,), note=note)


def ranked(
    candidates: Sequence[Candidate], context: ActorContext, n: int, asking: Asking, drafts: Sequence[Draft]
) -> Sequence[Candidate]:
    """Up to `n` whose answers differ, in their order. One that says what was judged before, in whatever spelling, is
    left out; where nothing else is left it is that which was judged, so that the loop knows that it is stuck.

    Args:
        candidates: best first.
        context: what the actor works from.
        n: the most.
        asking: knows what says the same.
        drafts: what they were read from.

    Raises:
        CandidateError: there is no candidate; it says what was the matter with each text.
    """
    if not candidates:
        raise CandidateError(_why_nothing(drafts), do="Use a stronger model, or a task that asks for one answer.")
    judged: dict[str, Candidate] = {}
    for one in context.judged:
        judged.setdefault(asking.key_of(one.candidate, context), one.candidate)
    fresh: dict[str, Candidate] = {}
    for candidate in candidates:
        key = asking.key_of(candidate, context)
        if key not in judged and candidate.digest not in context.tried:
            fresh.setdefault(key, candidate)
    if fresh:
        return list(fresh.values())[:n]
    return [judged.get(asking.key_of(candidates[0], context), candidates[0])]


def drawn(samples: int, context: ActorContext, n: int) -> int:
    """Samples to draw: as many as are usual, and once the loop was found stuck as many as are asked for, up to 25
    (Feedback Friction, arXiv 2506.11930)."""
    return max(samples, n) if context.escalation else samples


def _why_nothing(drafts: Sequence[Draft]) -> str:
    problems = Counter("what can't be read" if d.answer else stated_answer(d.text).problem or NONE_SAID for d in drafts)
    told = ", ".join(
        f"{count} × {problem}" if len(problems) > 1 else problem for problem, count in problems.most_common()
    )
    return f"No answer to judge; in {len(drafts)} text{'s' * (len(drafts) != 1)} of the model: {told or 'nothing'}."


def _draft(completion: Completion, asking: Asking, context: ActorContext) -> Draft:
    text = completion.texts[0] if completion.texts else ""
    return Draft(text, asking.read(text, context), completion)


def _in_phase(purpose: str, context: ActorContext, phase: int) -> str:
    """Phases count on where an escalated actor is asked again in the same trial."""
    return f"{purpose}.{phase + PHASES_PER_PROPOSAL * context.escalation}"
