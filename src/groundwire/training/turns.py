"""Turns out of model calls: each sample with its prompt as sent, who wrote which part, and how sure its tokens were."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from groundwire.core.models import Completion, Request
from groundwire.core.models import Message as Sent
from groundwire.core.records import Intent, ModelCall
from groundwire.core.signals import canonical
from groundwire.core.thinking import thinking_spans
from groundwire.training.spans import Known, spans_by_known_texts, spans_by_tags
from groundwire.training.trajectories import Author, Message, ModelRevision, Span, Turn

__all__ = ["digest_of", "part_of", "split_reasoning", "token_entropies", "token_entropy", "turns_of"]

# Entropies of a model's tokens out of the log probabilities that a ledger keeps.


def token_entropy(top_logprobs: Sequence[float]) -> float:
    """Entropy of one token's distribution, in nats, from its likeliest tokens.

    What these leave over counts as one more outcome, so that the value is exact where nothing is left over and a lower
    bound of the true entropy where something is.

    Args:
        top_logprobs: natural log probabilities of different tokens.
    """
    probabilities = [math.exp(value) for value in top_logprobs]
    # rounded log probabilities may add up to a little more than one
    probabilities.append(max(0.0, 1.0 - math.fsum(probabilities)))
    return math.fsum(-p * math.log(p) for p in probabilities if p > 0.0)


def token_entropies(top_logprobs: Sequence[Sequence[float]] | None) -> tuple[float, ...] | None:
    """The same for each token of an answer; None where none are stored, or a token has none."""
    if not top_logprobs or not all(top_logprobs):
        return None
    return tuple(map(token_entropy, top_logprobs))


# Turns out of model calls: each sample with the prompt as it was sent, and who wrote which part of that.

Part = Literal["actor", "critic", "tool"]
PARTS: dict[str, Part] = {"reflect": "critic", "write_tests": "tool", "review": "tool"}
"""By purpose; whatever else is asked for, an actor asks."""
RULED_OUT = -9999.0


def part_of(purpose: str) -> Part:
    """Which part of a graph asked."""
    return PARTS.get(purpose.partition(".")[0], "actor")


def split_reasoning(text: str) -> tuple[str, str]:
    """What was thought, with its marks, and the answer behind it; together they are the text, letter for letter.

    A thought may begin in the prompt, so that only its end stands in the text, or be cut off, so that it has no end.
    """
    spans = thinking_spans(text)
    end = spans[-1][1] if spans else 0
    end += len(text[end:]) - len(text[end:].lstrip()) if spans else 0
    return text[:end], text[end:]


def digest_of(messages: Sequence[Message] | Sequence[Sent]) -> str:
    """sha256 of a conversation."""
    return hashlib.sha256(canonical([[m.role, m.content] for m in messages]).encode()).hexdigest()


def turns_of(
    call: ModelCall, intent: Intent, at: int, *, known: Sequence[Known], files: Author, revision: str
) -> Iterator[Turn]:
    """The samples of one call; one turn with the error where it failed.

    Args:
        call: its result.
        intent: it holds the request.
        at: the place of the result among the episode's records.
        known: texts of the ledger from before the call.
        files: who wrote the project's files by then.
        revision: of the model, where the run's config names it.
    """
    request = Request.model_validate_json(intent.body)
    answered = bool(call.completion) and not call.error
    completion = Completion.model_validate_json(call.completion) if answered else Completion(texts=("",))
    part = part_of(call.purpose or request.purpose)
    prompt = tuple(_messages(request, known, files))
    # whoever made the call may have been told of it in a fallback's name
    model = ModelRevision(name=completion.asked or call.model, revision=revision or call.model)
    for sample in range(len(completion.texts)):
        reasoning, answer = _reasoned(completion, sample)
        logprobs, top = completion.logprobs, completion.top_logprobs
        likeliest = tuple(map(_finite, top[sample])) if top and sample < len(top) else None
        yield Turn(
            id=f"{call.intent_id}#{sample}",
            at=at,
            trial=call.trial,
            purpose=call.purpose or request.purpose,
            part=part,
            prompt=prompt,
            prompt_digest=digest_of(prompt),
            template_digest=request.prompt_digest,
            reasoning=reasoning,
            answer=answer,
            tool_calls=completion.tool_calls[sample] if sample < len(completion.tool_calls) else (),
            model=model,
            error=call.error,
            reused=bool(call.reused),
            finish_reason=completion.finish_reasons[sample] if sample < len(completion.finish_reasons) else "",
            temperature=request.temperature,
            samples=len(completion.texts),
            completion_tokens=call.completion_tokens,
            logprobs=_finite(logprobs[sample]) if logprobs and sample < len(logprobs) else None,
            top_logprobs=likeliest,
            entropies=token_entropies(likeliest),
            loss=part == "actor" and answered,
            visible=part == "actor",
        )


def _reasoned(completion: Completion, sample: int) -> tuple[str, str]:
    """What one sample thought, between marks, and its answer; older records hold the two in one text."""
    if sample >= len(completion.thinking):
        return split_reasoning(completion.texts[sample])
    thought = completion.thinking[sample]
    return f"<think>{thought}</think>" if thought else "", completion.texts[sample]


def _finite(logprobs: Iterable[float]) -> tuple[float, ...]:
    """Without minus infinity, which is no number in JSON; a token that was ruled out has a probability of 0 all the
    same."""
    return tuple(max(value, RULED_OUT) for value in logprobs)


def _messages(request: Request, known: Sequence[Known], files: Author) -> Iterator[Message]:
    for place, sent in enumerate(request.messages, 1):
        begun = place == len(request.messages) and sent.role == "assistant"
        yield Message(
            role=sent.role,
            content=sent.content,
            # an answer that was begun for the model is ours, as far as no model is known to have written it
            spans=spans_by_known_texts(sent.content, known) if begun else _spans(sent, known, files, request),
            tool_calls=sent.tool_calls,
            answers=sent.answers,
        )


def _spans(sent: Sent, known: Iterable[Known], files: Author, request: Request) -> tuple[Span, ...]:
    whole = {"system": Author.HUMAN, "assistant": Author.MODEL, "tool": Author.ENV}.get(sent.role)
    if whole is not None:
        what = "prompt" if sent.role == "system" else sent.role
        return (Span(start=0, end=len(sent.content), author=whole, what=what),) if sent.content else ()
    if request.prompt_digest:
        return spans_by_tags(sent.content, files=files)
    return spans_by_known_texts(sent.content, known)
