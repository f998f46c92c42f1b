"""What a row says of where it comes from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from groundwire.core._models import ToolCall
from groundwire.training._schema import ChatFunction, ChatMessage, ChatToolCall, Options, Part, Provenance
from groundwire.training._trajectories import Attempt, Author, Flaw, Message, ModelRevision, Trajectory, Turn

NOBODY = ModelRevision(name="", revision="")

Source = tuple[Trajectory, Sequence[Attempt]]
"""An episode, and those of its attempts whose verdicts a row rests on."""


def chat(messages: Iterable[Message]) -> tuple[ChatMessage, ...]:
    """Messages as chat templates take them."""
    return tuple(
        ChatMessage(
            role=message.role,
            content=message.content,
            tool_calls=chat_calls(message.tool_calls),
            tool_call_id=message.answers or None,
        )
        for message in messages
    )


def chat_calls(calls: Sequence[ToolCall]) -> tuple[ChatToolCall, ...] | None:
    """Tool calls as chat templates take them; None where there is none."""
    return (
        tuple(ChatToolCall(id=c.id, function=ChatFunction(name=c.name, arguments=c.arguments)) for c in calls) or None
    )


def parts_of_prompt(messages: Sequence[Message], column: str = "prompt") -> Iterator[Part]:
    """Who wrote which part of a prompt."""
    for index, message in enumerate(messages):
        for span in message.spans:
            yield Part(part=f"{column}[{index}]", start=span.start, end=span.end, origin=span.author, what=span.what)


def written_by(author: Author, column: str, text: str, what: str = "") -> Part:
    """One author wrote a whole column, or one message of it."""
    return Part(part=column, end=len(text), origin=author, what=what)


def provenance_of(
    sources: Sequence[Source],
    parts: Iterable[Part],
    options: Options,
    *,
    turns: Sequence[Turn] = (),
    learned: Author = Author.MODEL,
) -> Provenance:
    """The provenance of one row.

    Args:
        sources: the episodes, each with the attempts whose verdicts the row rests on.
        parts: who wrote what of it.
        options: with the model that is to be trained.
        turns: the answers that are learned from.
        learned: who wrote what is learned.
    """
    origins = tuple(parts)
    attempts = [attempt for _, attempts in sources for attempt in attempts]
    by = {signal_id for attempt in attempts for signal_id in attempt.rewarded_by}
    signals = [signal for attempt in attempts for signal in attempt.signals if signal.id in by]
    trajectories = [trajectory for trajectory, _ in sources]
    models = list(dict.fromkeys(turn.model for turn in turns)) or [NOBODY]
    target = options.target_model or None
    flaws = {flaw for trajectory in trajectories for flaw in trajectory.flaws}
    return Provenance(
        runs=_each(t.run for t in trajectories),
        episodes=_each(t.episode for t in trajectories),
        task=trajectories[0].task,
        trials=tuple(sorted({*(a.trial for a in attempts), *(turn.trial for turn in turns)})),
        candidates=_each(attempt.digest for attempt in attempts),
        turns=_each(turn.id for turn in turns),
        signals=tuple(signal.id for signal in signals),
        signal_origins=tuple(dict.fromkeys(signal.origin for signal in signals)),
        seals="unverified" if Flaw.UNVERIFIED in flaws else "verified",
        origin=learned if learned is Author.HUMAN else Author.ENV if signals else Author.MODEL,
        origins=origins,
        not_evidence=_each(part.part for part in origins if part.origin is Author.MODEL),
        model=", ".join(_each(model.name for model in models)),
        model_revision=", ".join(_each(model.revision for model in models)),
        target_model=target,
        off_policy=_off_policy(models, target),
        oracle=any(t.oracle for t in trajectories),
        hidden=any(signal.hidden for signal in signals),
        grounded=all(t.grounded for t in trajectories),
        imported=_each(t.imported for t in trajectories if t.imported),
        flaws=tuple(sorted(flaws)),
    )


def _off_policy(models: Sequence[ModelRevision], target: str | None) -> bool | None:
    if target is None or models == [NOBODY]:
        return None
    return any(target not in (model.name, model.revision) for model in models)


def _each(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(values))
