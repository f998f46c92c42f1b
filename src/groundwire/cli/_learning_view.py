"""What `groundwire learn` shows: where it stands, and at the end curves, stretches and a verdict."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from groundwire.cli._tally import EndedEpisode, Tally
from groundwire.core._records import Record, StopReason
from groundwire.core._signals import Origin, Signal, Verdict
from groundwire.core._text import plain, plural

if TYPE_CHECKING:
    from groundwire.evaluation._comparing import Conclusion
    from groundwire.evaluation._learning import CarriedOver, Learning, PairedDifference
    from groundwire.evaluation._rates import Rate


# A small chart of shares in a terminal: a line a series, as wide as the terminal allows.

ROWS = 9
LEFT = 6
"""Columns of the y axis, with its labels."""
WIDEST = 78
NARROWEST = 20
MARKS, PLAIN_MARKS = "━┄", "#-"
"""Of the first series and the second; where they meet, the first is seen."""


def chart_lines(series: Mapping[str, Sequence[float]], *, x: str, width: int, plain: bool = False) -> list[str]:
    """The chart's lines; nothing of series without values.

    Args:
        series: by name, shares from 0 to 1, of one or two series of any length.
        x: what runs along the x axis.
        width: columns of the terminal.
        plain: True: ASCII only.
    """
    longest = max((len(values) for values in series.values()), default=0)
    if not longest:
        return []
    wide = max(NARROWEST, min(width, WIDEST) - LEFT)
    marks = PLAIN_MARKS if plain else MARKS
    grid = [[" "] * wide for _ in range(ROWS)]
    for mark, values in reversed(list(zip(marks, series.values(), strict=False))):
        for column in range(min(wide, wide * len(values) // longest)):
            share = min(1.0, max(0.0, values[min(len(values) - 1, column * longest // wide)]))
            grid[ROWS - 1 - round(share * (ROWS - 1))][column] = mark
    bar, corner, line = ("|", "+", "-") if plain else ("│", "└", "─")
    shown = [f"{_label(row):>{LEFT - 2}} {bar}{''.join(cells).rstrip()}" for row, cells in enumerate(grid)]
    last = f"{longest}"
    axis = f"{'':{LEFT - 1}}{corner}{line * wide}"
    scale = f"{'':{LEFT}}1{x:^{max(len(x), wide - 1 - len(last))}}{last}"
    legend = "   ".join(f"{mark * 2} {name}" for mark, name in zip(marks, series, strict=False))
    return [*shown, axis, scale, f"{'':{LEFT}}{legend}"]


def _label(row: int) -> str:
    """Every fourth row has one: 100 %, 50 %, 0 %."""
    return f"{100 * (ROWS - 1 - row) // (ROWS - 1)}%" if row % 4 == 0 else ""


# What `groundwire learn` shows: where it stands while it plays, and at the end curves, stretches and a verdict.

ARMS = {"with_memory": "with memory", "without_memory": "without memory"}
STYLES = {"helped": "bold green", "hurt": "bold red", "can't tell": "bold yellow"}
RECENT = 20
"""Episodes that the line which moves speaks of."""


class LearningTally(Tally):
    """Counts episodes; one line moves, and none is printed for each of what may be thousands.

    Args:
        arm, total, console, as_json: as `Tally`.
        watches: True: the line moves with each trial, not only with each episode.
    """

    worst_first = (6, 7, 5, 4, 3, 8, 1)
    """Not to win is what is learned from, so anything else is worse."""

    def __init__(self, arm: str, total: int, console: Console, *, as_json: bool, watches: bool) -> None:
        super().__init__(arm, total, console, as_json=as_json)
        self._recent: deque[bool] = deque(maxlen=RECENT)
        self._doing = ""
        self.observers = (self._watch,) if watches else ()

    def code(self, reason: StopReason) -> int:
        """See `Tally`; to have had all its trials is how an episode ends that was not won."""
        return 1 if reason is StopReason.BUDGET_TRIALS else super().code(reason)

    def ended(self, result: EndedEpisode, split: str, *, seed: int) -> None:
        """See `Tally`."""
        self._recent.append(result.stop_reason is StopReason.VERIFIED and result.trials == 1)
        super().ended(result, split, seed=seed)

    def counts(self) -> str:
        """`12 won · 3 not won · 1 no verdict`; while it plays, first trials and what happens now as well."""
        count = self.verdicts
        said = f"{count['verified']} won · {count['unsolved']} not won · {count['none']} no verdict"
        if self._recent and self.done < self.total:
            said += f" · first trials {100 * sum(self._recent) // len(self._recent)} % of the last {len(self._recent)}"
        return said + self._doing

    def _watch(self, record: Record) -> None:
        """One more trial is over."""
        if isinstance(record, Signal) and record.origin is Origin.ENVIRONMENT and record.verdict is not Verdict.NONE:
            self._doing = f" · trial {record.trial} {plain(record.evidence.detail, limit=40)}"
            self._move()

    def _line(self, result: EndedEpisode) -> None:
        """A trial without a verdict is worth a line: something broke."""
        if self.code(result.stop_reason) > 1:
            super()._line(result)


def show_learning(
    console: Console, arms: Mapping[str, Learning], differences: Sequence[PairedDifference], *, whole: bool
) -> None:
    """Prints what arms came to.

    Args:
        console: where to.
        arms: by their names (`ARMS`), the one with memory first.
        differences: between them.
        whole: False where an arm did not come to its end, which is then said.
    """
    width, ascii_only = console.width, console.options.ascii_only
    by_trial = {ARMS[name]: _values(arm.by_trial) for name, arm in arms.items()}
    first = {ARMS[name]: _values(arm.first_tries) for name, arm in arms.items()}
    some = next(iter(arms.values()))
    if some.trials > 1:
        _chart(console, "won by trial", chart_lines(by_trial, x="trial", width=width, plain=ascii_only))
    if some.episodes > 1:
        title = f"first trials won, mean of the last {some.window} episodes"
        _chart(console, title, chart_lines(first, x="episode", width=width, plain=ascii_only))
    for name, arm in arms.items():
        console.print(Text("\n".join(_table(ARMS[name], arm))), soft_wrap=True)
    for difference in differences:
        console.print(Text(difference_line(difference), style=STYLES[difference.answer]), soft_wrap=True)
    if not whole:
        console.print(Text("the run has not finished, so these numbers are not final", style="yellow"))


def difference_line(one: PairedDifference) -> str:
    """`memory helped (n = 60): first trials won 41.7 % against 5.0 %: +36.7 points (95 % interval …)`."""
    if one.difference is None:
        return f"can't tell if memory helped: {one.what}: no world was played both with and without it"
    share = one.what != "trials to success"
    said = _verdict(one.answer, one.pairs)
    scale, unit, digits = (100, " points", 1) if share else (1, "", 2)
    memory, control = (f"{scale * (value or 0.0):.{digits}f}{' %' * share}" for value in (one.memory, one.control))
    interval = "no interval of a single world"
    if one.low is not None and one.high is not None:
        interval = f"95 % interval {scale * one.low:+.{digits}f} to {scale * one.high:+.{digits}f}"
    return (
        f"{said}: {one.what} {memory} against {control}: {scale * one.difference:+.{digits}f}{unit}"
        f" ({interval}; {plural(one.better, 'world')} better, {one.worse} worse, exact p = {one.p:.2g})"
    )


def _verdict(answer: Conclusion, pairs: int) -> str:
    said = "can't tell if memory helped" if answer == "can't tell" else f"memory {answer}"
    return f"{said} (n = {pairs})"


def _values(rates: Sequence[Rate]) -> list[float]:
    return [rate.value or 0.0 for rate in rates]


def _chart(console: Console, title: str, lines: Sequence[str]) -> None:
    console.print(Text(title, style="bold"))
    console.print(Text("\n".join(lines)), soft_wrap=True)


def _table(name: str, arm: Learning) -> Iterator[str]:
    """What the charts can't say exactly."""
    won = arm.by_trial[-1]
    first = arm.by_trial[0]
    yield f"{name:<15} won {_rate(won)}   in the first trial {_rate(first)}"
    if arm.stretches:
        bounds = ((s, arm.episodes if s.until is None else s.until + 1) for s in arm.stretches)
        told = (f"{s.after + 1}-{last}: {s.mean:.1f} {_interval(s)}".rstrip() for s, last in bounds)
        yield f"{'':<15} trials to success in episodes {'  '.join(told)}"


def _interval(stretch: CarriedOver) -> str:
    return "" if stretch.low is None or stretch.high is None else f"[{stretch.low:.1f}, {stretch.high:.1f}]"


def _rate(rate: Rate) -> str:
    low, high = rate.interval
    return f"{rate.part} of {rate.whole} ({100 * (rate.value or 0.0):.0f} %, {100 * low:.0f} to {100 * high:.0f})"
