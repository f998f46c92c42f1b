"""What a row says is learned, as labels of tokens: trainers read those, and no column of ours.

TRL's SFTTrainer leaves a dataset alone that has `input_ids` and `labels`; so does transformers' Trainer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from groundwire.core._errors import ConfigError

IGNORED = -100
"""The label of a token that has no loss, as PyTorch and every trainer on it have it."""
ROLES = {"student": "assistant", "teacher": "user", "world": "user"}
"""Of the speakers of a dialogue (`rl2f`)."""


@dataclass(frozen=True)
class _Said:
    """A message, and from where to where of its content is learned."""

    message: Mapping[str, Any]
    learned: Sequence[tuple[int, int]] = ()


def with_labels(row: Mapping[str, Any], tokenizer: Any) -> dict[str, list[int]]:
    """A row as tokens with a label each: its own where it is learned, else -100.

    `messages` are learned as `loss_mask` says, `completion` as `segments` says, or else all of it, and the student's
    `turns` as their `loss` says. What ends a learned message for the model (a special token right behind it) is learned
    with it.

    Args:
        row: of an export, as JSON or `datasets` gives it: of a format with `messages`, or with `prompt` and
            `completion` or `turns`.
        tokenizer: of transformers, with a chat template; a fast one, since it tells which characters a token is of.

    Returns:
        `input_ids` and `labels`, for `Dataset.map`.

    Raises:
        ConfigError: the row holds no conversation, or the chat template changes or drops what is learned from.
    """
    said = list(_conversation(row))
    messages = [dict(one.message) for one in said]
    text: str = tokenizer.apply_chat_template(messages, tokenize=False)

    def begins(place: int) -> int:
        """Where that message's content can begin: behind its header, whose words it may hold itself."""
        if not place:
            return 0
        before = tokenizer.apply_chat_template(messages[:place], tokenize=False, add_generation_prompt=True)
        return len(before) if text.startswith(before) else 0

    spans = list(_places(text, said, begins))
    told = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
    ids, offsets = list(told["input_ids"]), told["offset_mapping"]
    special = set(tokenizer.all_special_ids)
    labels = [IGNORED] * len(ids)
    for start, end, whole in spans:
        for place, (first, last) in enumerate(offsets):
            # a token may begin with the space before it, which is nobody's
            inside = start <= first + _blank(text[first:last]) < end and last > first
            closes = whole and first == end and ids[place] in special
            if inside or closes:
                labels[place] = ids[place]
    return {"input_ids": ids, "labels": labels}


def _blank(token: str) -> int:
    """Characters of space that a token begins with, of a token that is not all space."""
    return len(token) - len(token.lstrip()) if token.strip() else 0


def _conversation(row: Mapping[str, Any]) -> Iterator[_Said]:
    if row.get("messages") is not None:
        for message, learned in zip(row["messages"], row["loss_mask"], strict=True):
            yield _Said(_plain(message), [(0, len(message["content"]))] if learned else [])
        return
    if not isinstance(row.get("prompt"), Sequence) or isinstance(row["prompt"], str):
        raise ConfigError(
            "This row holds no conversation to be learned.", do="Use a format with messages, or a prompt and an answer."
        )
    yield from (_Said(_plain(message)) for message in row["prompt"])
    if row.get("turns") is not None:
        yield from _dialogue(row["turns"])
        return
    if row.get("completion") is None:
        raise ConfigError("This row has no completion.", do="Read its own columns; see docs/training.md.")
    for message in row["completion"]:
        segments = row.get("segments") or [{"start": 0, "end": len(message["content"]), "loss": True}]
        yield _Said(_plain(message), [(one["start"], one["end"]) for one in segments if one["loss"]])


def _dialogue(turns: Sequence[Mapping[str, Any]]) -> Iterator[_Said]:
    """The turns, those of one role in a row as one message: chat templates want them to alternate."""
    role, content, learned = "", "", list[tuple[int, int]]()
    for turn in turns:
        if role and ROLES[turn["speaker"]] != role:
            yield _Said({"role": role, "content": content}, learned)
            content, learned = "", []
        role = ROLES[turn["speaker"]]
        content += "\n\n" if content else ""
        if turn["loss"]:
            learned.append((len(content), len(content) + len(turn["content"])))
        content += turn["content"]
    if role:
        yield _Said({"role": role, "content": content}, learned)


def _plain(message: Mapping[str, Any]) -> dict[str, Any]:
    # `datasets` fills what some rows have and others have not with nulls
    return {name: value for name, value in message.items() if value is not None}


def _places(text: str, said: Sequence[_Said], begins: Callable[[int], int]) -> Iterator[tuple[int, int, bool]]:
    """Where in the rendered conversation what is learned stands, and whether it reaches its message's end."""
    at = 0
    for place, one in enumerate(said):
        at = max(at, begins(place)) if one.learned else at
        content = str(one.message["content"])
        shown = content if text.find(content, at) >= 0 else content.strip()
        found = text.find(shown, at)
        if found < 0 and one.learned:
            raise ConfigError(
                "The tokenizer's chat template changes or drops a message that is learned.",
                do="Use a template that shows every message as it is, such as one that keeps reasoning.",
            )
        if found < 0:
            continue
        cut = content.find(shown)
        for start, end in one.learned:
            begin, stop = max(start - cut, 0), min(end - cut, len(shown))
            yield found + begin, found + stop, stop == len(shown)
        at = found + len(shown)
