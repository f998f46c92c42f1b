"""Which answer a candidate was made of. The ledger does not say it, so it is told by their order and their texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from groundwire.training.trajectories import Attempt, Turn

__all__ = ["linked"]

SHORTEST_LINE = 3
"""Characters; shorter lines say nothing."""


def linked(turns: Sequence[Turn], attempts: Sequence[Attempt]) -> Mapping[str, str]:
    """Digest of each attempt of one trial to the id of the turn that it was made of, where that can be told.

    The answers since the candidates before are those in question. As many of them as candidates: in their order. Else
    one candidate is the last answer's, and several are those of the answers whose text holds most of their lines.
    """
    found: dict[str, str] = {}
    spoken = [turn for turn in turns if turn.loss]
    since = -1
    for batch in _batches(spoken, attempts):
        asked = [turn for turn in spoken if since < turn.at < batch[0].at]
        since = batch[0].at
        last = [turn for turn in asked if turn.at == asked[-1].at]
        for answers in (asked, last):
            if len(answers) == len(batch):
                found |= {attempt.digest: turn.id for attempt, turn in zip(batch, answers, strict=True)}
                break
        else:
            if len(last) == 1 and len(batch) == 1:
                found[batch[0].digest] = last[0].id
            elif asked:
                found |= _by_text(asked, batch)
    return found


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


def _by_text(turns: Sequence[Turn], batch: Sequence[Attempt]) -> dict[str, str]:
    found: dict[str, str] = {}
    for attempt in batch:
        lines = {
            line.strip()
            for change in attempt.changes
            for line in (change.content or "").splitlines()
            if len(line.strip()) >= SHORTEST_LINE
        }
        shares = sorted(((sum(line in turn.text for line in lines), turn.id) for turn in turns), reverse=True)
        # two answers that fit as well can't be told apart
        if shares[0][0] and (len(shares) == 1 or shares[0][0] > shares[1][0]):
            found[attempt.digest] = shares[0][1]
    return found
