"""Where an episode's time and tokens went: what took them, in order, and blocks of a flame view. An hour, or ten
thousand judgings, are as wide as a second: what is too narrow to be seen is put together, and nothing is left out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from groundwire.core._records import ModelCall, ProgramRun, Record
from groundwire.core._signals import Signal

WIDTH = 1000.0
"""Of a whole flame view; blocks are measured in it."""
NARROW = 2.0
"""Blocks below this width are put together with those alike beside them."""
MOST_ROWS = 6
"""Rows for what went on at the same time."""


@dataclass(frozen=True)
class TimeSpan:
    """What took time or tokens.

    Args:
        label: what it was.
        kind: `model`, `judge` or `program`.
        trial: its trial.
        start_s: seconds from the episode's beginning.
        duration_s: wall seconds.
        tokens: of a model call.
        id: of the model call or the signal; empty for a program.
    """

    label: str
    kind: str
    trial: int
    start_s: float
    duration_s: float
    tokens: int
    id: str = ""


@dataclass(frozen=True)
class FlameBlock:
    """A block of a flame view.

    Args:
        kind: `trial`, `model`, `judge` or `program`.
        label: what it was.
        trial: its trial.
        row: 0 for trials, below that what each was made of.
        x: where it begins, of 1,000.
        width: of 1,000.
        amount: seconds or tokens.
        count: how many it stands for.
        id: of the model call or the signal, where it stands for one.
    """

    kind: str
    label: str
    trial: int
    row: int
    x: float
    width: float
    amount: float
    count: int = 1
    id: str = ""


def spans_of(records: Iterable[Record], began: str) -> Iterator[TimeSpan]:
    """What took time or tokens, in the order of writing.

    Args:
        records: an episode's.
        began: when it began.
    """
    start = seconds_at(began)
    for record in records:
        match record:
            case ModelCall() if record.duration_s or record.prompt_tokens or record.completion_tokens:
                label, kind, name = f"{record.purpose or 'model'} · {record.model}", "model", record.intent_id
                used = record.prompt_tokens + record.completion_tokens
            case Signal() if record.duration_s and not record.taken_from:
                label, kind, name, used = f"{record.issuer} · {record.verdict}", "judge", record.id, 0
            case ProgramRun():
                label, kind, name, used = " ".join(record.command), "program", "", 0
            case _:
                continue
        ended = seconds_at(record.created_at) - start
        began_s = max(0.0, ended - record.duration_s)
        yield TimeSpan(label, kind, record.trial, began_s, record.duration_s, used, name)


def seconds_at(moment: str) -> float:
    """A time of the ledger in seconds; 0 where it is none."""
    try:
        return datetime.fromisoformat(moment).timestamp()
    except ValueError:
        return 0.0


def flame_of_time(spans: Sequence[TimeSpan]) -> Sequence[FlameBlock]:
    """Trials over what each did, by wall time; what went on at the same time stands in rows of its own."""
    timed = sorted((span for span in spans if span.duration_s > 0), key=lambda span: span.start_s)
    whole = max((span.start_s + span.duration_s for span in timed), default=0.0)
    if not whole:
        return []
    scale = WIDTH / whole
    ends: list[float] = []
    parts: list[FlameBlock] = []
    for span in timed:
        # times are kept to the millisecond, so what follows may seem to begin a little before
        free = (number for number, end in enumerate(ends) if end <= span.start_s + 0.002)
        row = next(free, min(len(ends), MOST_ROWS - 1))
        ends[row : row + 1] = [max(span.start_s + span.duration_s, ends[row] if row < len(ends) else 0.0)]
        at, width = span.start_s * scale, span.duration_s * scale
        parts.append(FlameBlock(span.kind, span.label, span.trial, row + 1, at, width, span.duration_s, id=span.id))
    trials: dict[int, tuple[float, float]] = {}
    for span in timed:
        low, high = trials.get(span.trial, (span.start_s, 0.0))
        trials[span.trial] = min(low, span.start_s), max(high, span.start_s + span.duration_s)
    above = [
        FlameBlock("trial", _trial(number), number, 0, low * scale, (high - low) * scale, high - low)
        for number, (low, high) in trials.items()
    ]
    return [*_together(above), *_together(parts)]


def flame_of_tokens(spans: Sequence[TimeSpan]) -> Sequence[FlameBlock]:
    """Trials over their model calls, one after the other, each as wide as the tokens that it used."""
    calls = [span for span in spans if span.tokens]
    whole = sum(span.tokens for span in calls)
    if not whole:
        return []
    scale, at = WIDTH / whole, 0.0
    above: dict[int, FlameBlock] = {}
    parts: list[FlameBlock] = []
    for span in sorted(calls, key=lambda span: span.trial):
        width = span.tokens * scale
        parts.append(FlameBlock(span.kind, span.label, span.trial, 1, at, width, span.tokens, id=span.id))
        first = above.get(span.trial, FlameBlock("trial", _trial(span.trial), span.trial, 0, at, 0.0, 0))
        above[span.trial] = replace(first, width=first.width + width, amount=first.amount + span.tokens)
        at += width
    return [*_together(list(above.values())), *_together(parts)]


def _trial(number: int) -> str:
    return f"trial {number}" if number else "baseline"


def _together(blocks: Sequence[FlameBlock]) -> Iterator[FlameBlock]:
    """Narrow blocks of a row that stand beside ones alike become one."""
    last: dict[int, FlameBlock] = {}
    for block in blocks:
        before = last.get(block.row)
        if before and _alike(before, block):
            width = block.x + block.width - before.x
            amount, count = before.amount + block.amount, before.count + block.count
            last[block.row] = replace(before, width=width, amount=amount, count=count, id="")
            continue
        if before:
            yield before
        last[block.row] = block
    yield from last.values()


def _alike(before: FlameBlock, block: FlameBlock) -> bool:
    is_one = (before.kind, before.trial) == (block.kind, block.trial) or before.kind == block.kind == "trial"
    is_narrow = block.width < NARROW and (before.count > 1 or before.width < NARROW)
    # as one block it grows to a width that can be seen, no further
    return is_one and is_narrow and block.x - before.x < 2 * NARROW
