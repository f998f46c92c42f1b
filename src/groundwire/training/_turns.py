"""Turns out of model calls: each sample with its prompt as sent, who wrote which part, and how sure its tokens were."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import Literal, NamedTuple

from groundwire.core._models import Completion, Request
from groundwire.core._models import Message as Sent
from groundwire.core._reasoning_text import reasoning_spans
from groundwire.core._records import Intent, ModelCall
from groundwire.core._signals import canonical
from groundwire.training._trajectories import Author, Message, ModelRevision, Span, Turn

# Who wrote which part of a prompt.
#
# Our prompts show what others wrote between tags that the text inside can't close (`<`, `>` and `&` are escaped
# there), and files between fences. So each character has an author: the innermost tag says which. In prompts of
# somebody's own, texts that the ledger knows are looked for; what is left is the person's who wrote the prompt.

AUTHORS: Mapping[str, Author] = {
    **dict.fromkeys(("task", "policy", "not_shown", "stuck", "left_out"), Author.HUMAN),
    **dict.fromkeys(
        ("evidence", "case", "also_failed", "detail", "stdout", "stderr", "output", "scene", "can_do", "tool_error"),
        Author.ENV,
    ),
    "step": Author.ENV,
}
"""By tag; what stands in any other one is a model's, or may be."""
PROMPT = "prompt"
FILE = "file"
STEP = "step"
SHORTEST_KNOWN = 12
"""Characters; shorter texts turn up by chance."""

_TOKEN = re.compile(
    r"^(?P<fence>`{3,})[^\n`]*\n.*?^(?P=fence)`*[ \t]*$"  # CommonMark 0.31 section 4.5
    r"|<(?P<close>/?)(?P<tag>[a-z_]{2,40})(?: [^<>\n]{0,1200})?>",
    re.DOTALL | re.MULTILINE,
)


class LedgerText(NamedTuple):
    """A text of the ledger."""

    text: str
    author: Author
    what: str


def spans_by_tags(content: str, *, files: Author) -> tuple[Span, ...]:
    """The spans of a message that one of our prompt files made.

    Args:
        content: the message.
        files: who wrote the files that it shows; a model, once it may have changed them.
    """
    pieces: list[tuple[int, Author, str]] = []
    stack: list[tuple[str, Author]] = []
    done = 0
    for match in _TOKEN.finditer(content):
        author, what = (stack[-1][1], stack[-1][0]) if stack else (Author.HUMAN, PROMPT)
        pieces.append((match.start(), author, what))
        if match["fence"]:
            inside_author, inside_what = (author, what) if stack and what != FILE else (files, FILE)
            pieces.append((match.end(), inside_author, inside_what))
        elif match["close"]:
            # tags are ours, and so are those that nobody opened: they are named in the prompt's own words
            while stack and any(tag == match["tag"] for tag, _ in stack):
                if stack.pop()[0] == match["tag"]:
                    break
            pieces.append((match.end(), Author.HUMAN, PROMPT))
        elif content.find(f"</{match['tag']}>", match.end()) >= 0:
            tag = match["tag"]
            stack.append((tag, files if tag == FILE else AUTHORS.get(tag, Author.MODEL)))
            # what stands in a tag itself is named by whoever wrote what is in it; a step names the action
            opening_author, opening = (Author.MODEL, "action") if tag == STEP else (stack[-1][1], tag)
            pieces.append((match.end(), opening_author, opening))
        else:
            pieces.append((match.end(), author, what))
        done = match.end()
    author, what = (stack[-1][1], stack[-1][0]) if stack else (Author.HUMAN, PROMPT)
    if done < len(content):
        pieces.append((len(content), author, what))
    return tuple(_joined(pieces))


def spans_by_known_texts(content: str, known: Iterable[LedgerText], rest: Author = Author.HUMAN) -> tuple[Span, ...]:
    """The spans of any other message: each text of the ledger that stands in it, longest first, and the rest.

    Args:
        content: the message.
        known: texts of the ledger that were there before the message was written.
        rest: who wrote what is in none of them.
    """
    taken: list[tuple[int, int, LedgerText]] = []
    for one in sorted(known, key=lambda k: -len(k.text)):
        for form in dict.fromkeys((one.text, escape(one.text, quote=False))):
            if len(form.strip()) < SHORTEST_KNOWN and form != content:
                continue
            start = content.find(form) if form else -1
            while start >= 0:
                end = start + len(form)
                if all(end <= begun or start >= ended for begun, ended, _ in taken):
                    taken.append((start, end, one))
                start = content.find(form, end)
    pieces: list[tuple[int, Author, str]] = []
    for start, end, one in sorted(taken, key=lambda t: t[:2]):
        pieces += [(start, rest, PROMPT), (end, one.author, one.what)]
    pieces.append((len(content), rest, PROMPT))
    return tuple(_joined(pieces))


def _joined(pieces: Iterable[tuple[int, Author, str]]) -> Iterator[Span]:
    """Spans from places where one ends; neighbours that are alike become one."""
    start, end = 0, 0
    last: tuple[Author, str] | None = None
    for until, author, what in pieces:
        if until <= end:
            continue
        if last is not None and last != (author, what):
            yield Span(start=start, end=end, author=last[0], what=last[1])
            start = end
        last, end = (author, what), until
    if last is not None:
        yield Span(start=start, end=end, author=last[0], what=last[1])


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
PARTS: dict[str, Part] = {"reflect": "critic", "write_tests": "tool", "review": "tool", "judge_own": "tool"}
"""By purpose; whatever else is asked for, an actor asks."""
RULED_OUT = -9999.0


def part_of(purpose: str) -> Part:
    """Which part of a graph asked."""
    return PARTS.get(purpose.partition(".")[0], "actor")


def split_reasoning(text: str) -> tuple[str, str]:
    """What was thought, with its marks, and the answer behind it; together they are the text, letter for letter.

    A thought may begin in the prompt, so that only its end stands in the text, or be cut off, so that it has no end.
    """
    spans = reasoning_spans(text)
    end = spans[-1][1] if spans else 0
    end += len(text[end:]) - len(text[end:].lstrip()) if spans else 0
    return text[:end], text[end:]


def digest_of(messages: Sequence[Message] | Sequence[Sent]) -> str:
    """sha256 of a conversation."""
    return hashlib.sha256(canonical([[m.role, m.content] for m in messages]).encode()).hexdigest()


def turns_of(
    call: ModelCall, intent: Intent, at: int, *, known: Sequence[LedgerText], files: Author, revision: str
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
            prompt_tokens=call.prompt_tokens,
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


def _messages(request: Request, known: Sequence[LedgerText], files: Author) -> Iterator[Message]:
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


def _spans(sent: Sent, known: Iterable[LedgerText], files: Author, request: Request) -> tuple[Span, ...]:
    whole = {"system": Author.HUMAN, "assistant": Author.MODEL, "tool": Author.ENV}.get(sent.role)
    if whole is not None:
        what = "prompt" if sent.role == "system" else sent.role
        return (Span(start=0, end=len(sent.content), author=whole, what=what),) if sent.content else ()
    if request.prompt_digest:
        return spans_by_tags(sent.content, files=files)
    return spans_by_known_texts(sent.content, known)
