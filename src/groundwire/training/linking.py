"""Which answer a candidate was made of. The ledger does not say it, so it is told by their order and their texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from groundwire.completions import ToolCall
from groundwire.training.trajectories import Attempt, Turn

__all__ = ["linked"]

SHORTEST_LINE = 3
"""Characters; shorter lines say nothing."""


def linked(turns: Sequence[Turn], attempts: Sequence[Attempt]) -> Mapping[str, tuple[str, ...]]:
    """Digest of each attempt of one trial to the ids of the turns that it was made of, where that can be told.

    The answers since the candidates before are those in question; answers that say the same make the same candidate. As
    many different ones as candidates: in their order. Else one candidate is the last answer's, and several are those of
    the answers whose text holds most of their lines.
    """
    found: dict[str, tuple[str, ...]] = {}
    spoken = [turn for turn in turns if turn.loss]
    since = -1
    for batch in _batches(spoken, attempts):
        asked = _together(turn for turn in spoken if since < turn.at < batch[0].at)
        since = batch[0].at
        last = [same for same in asked if asked[-1][-1].at == same[-1].at]
        made = next((answers for answers in (asked, last) if len(answers) == len(batch)), None)
        if made is not None:
            found |= {a.digest: tuple(turn.id for turn in same) for a, same in zip(batch, made, strict=True)}
        elif asked:
            found |= _by_text(asked, batch)
    return found


def _together(turns: Iterable[Turn]) -> list[list[Turn]]:
    """Answers that say the same, in the order in which each came first."""
    same: dict[tuple[str, tuple[ToolCall, ...]], list[Turn]] = {}
    for turn in turns:
        same.setdefault((turn.answer.strip(), turn.tool_calls), []).append(turn)
    return list(same.values())


def _batches(turns: Sequence[Turn], attempts: Sequence[Attempt]) -> list[list[Attempt]]:
    """Candidates that were proposed together: no answer came between them."""
    batches: list[list[Attempt]] = []
    for attempt in sorted((a for a in attempts if not a.base), key=lambda a: a.at):
        before = batches[-1][0].at if batches else -1
        if batches and not any(before < turn.at < attempt.at for turn in turns):
            batches[-1].append(attempt)
        else:
            batches.append([attempt])
    return batches


def _by_text(answers: Sequence[Sequence[Turn]], batch: Sequence[Attempt]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for attempt in batch:
        lines = {
            line.strip()
            for change in attempt.changes
            for line in (change.content or "").splitlines()
            if len(line.strip()) >= SHORTEST_LINE
        }
        shares = [sum(line in same[0].text for line in lines) for same in answers]
        best = max(shares)
        # two answers that fit as well can't be told apart
        if best and shares.count(best) == 1:
            found[attempt.digest] = tuple(turn.id for turn in answers[shares.index(best)])
    return found
