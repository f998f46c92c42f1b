"""The figures of published logs: what is counted, and the tables that say so."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from published_judging import Journal, Program

from groundwire.core import Verdict
from groundwire.evaluation import Comparison, Confusion, Rate, TrialRow, Trials, compare, confusion

__all__ = ["Log", "Logs", "Pair", "Row", "executors", "internal", "ldb", "pairs", "said", "solved"]


@dataclass(frozen=True)
class Row:
    """One task of one log.

    Args:
        task_id: the task.
        logged: the log's verdict on the final program.
        final: the final program.
        first: the first program; None where the log does not hold it.
        internal: True if the final program passed what steered it, by the log; None: nothing steered.
        test: source that judges, for the shared executor.
    """

    task_id: str
    logged: bool
    final: Program
    first: Program | None = None
    internal: bool | None = None
    test: str = ""


@dataclass(frozen=True)
class Log:
    """A log with what was found.

    Args:
        name: the file's.
        rows: in the file's order.
        journal: our judgings.
        source: programs that pass in a fresh process, as SOURCE.md of the data has it; None of a part of the rows.
        together: our verdicts with all programs in one `globals()`; None: not asked.
    """

    name: str
    rows: Sequence[Row]
    journal: Journal
    source: int | None
    together: Sequence[bool] | None = None

    def here(self, program: Program | None) -> bool:
        """True if the program passes the hidden tests in a fresh process."""
        return program is not None and self.journal.known[program.key].hidden == "pass"

    def seen(self, program: Program) -> bool:
        """True if it passes the visible ones."""
        return self.journal.known[program.key].visible == "pass"


Logs = Mapping[str, Log]
Pair = tuple[Sequence[str], str]
"""Simple runs, and the run with reflection."""


def _verdict(passed: bool) -> Verdict:
    return Verdict.PASS if passed else Verdict.FAIL


def _trials(rows: Iterable[tuple[str, bool, bool | None]], *, seed: int = 0) -> list[TrialRow]:
    """From (task, hidden, internal)."""
    return [
        TrialRow(
            episode=f"{task} {seed}",
            task=task,
            seed=seed,
            hidden=_verdict(hidden),
            visible=Verdict.NONE if inside is None else _verdict(inside),
        )
        for task, hidden, inside in rows
    ]


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return [*lines, *("| " + " | ".join(map(str, row)) + " |" for row in rows)]


def _points(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:+.1f}".replace("-", "−")


def _net(c: Comparison) -> str:
    return f"{_points(c.difference)} ({_points(c.low)} to {_points(c.high)}), p {c.p:.2g}"


def _tasks(names: Sequence[str]) -> str:
    numbers = [name.removeprefix("mbpp_").rpartition("/")[2].partition("_")[0] for name in names]
    return ", ".join(numbers) or "none"


def solved(logs: Logs) -> list[str]:
    """Each file: what the log says, and what our judging says."""
    rows: list[Sequence[object]] = []
    for log in logs.values():
        here = [log.here(row.final) for row in log.rows]
        differ = [row.task_id for row, passed in zip(log.rows, here, strict=True) if row.logged != passed]
        source = "" if log.source is None else log.source
        rows.append((log.name, len(rows_ := log.rows), sum(r.logged for r in rows_), sum(here), source, _tasks(differ)))
    return _table(("file", "rows", "solved, log", "solved, here", "SOURCE", "verdicts that differ"), rows)


def pairs(logs: Logs, which: Sequence[Pair]) -> list[str]:
    """Reflexion beside simple runs of the same model, on the tasks that all of them hold.

    Several simple runs: a task counts by the mean of them.
    """
    rows: list[Sequence[object]] = []
    for simple, reflexion in which:
        for source, of in VERDICTS:
            c, before, after = paired(logs, simple, reflexion, of)
            name = f"{' and '.join(n.partition('/')[2] for n in simple)} → {reflexion.partition('/')[2]}"
            rows.append((name, source, before, after, c.better, c.worse, c.better - c.worse, _net(c), c.answer))
    return _table(
        ("pair", "verdicts", "simple", "reflexion", "fixed", "broken", "net", "points (95 %)", "reflection"), rows
    )


def paired(
    logs: Logs, simple: Sequence[str], reflexion: str, of: Callable[[Log, Row], bool]
) -> tuple[Comparison, str, str]:
    """The comparison, and how many are solved of how many on either side."""
    names = (*simple, reflexion)
    shared = set[str].intersection(*({row.task_id for row in logs[name].rows} for name in names))
    verdicts = [[(r.task_id, of(logs[n], r), None) for r in logs[n].rows if r.task_id in shared] for n in names]
    runs = range(len(simple))
    before = [row for run in runs for row in _trials(verdicts[run], seed=run)]
    after = [row for run in runs for row in _trials(verdicts[-1], seed=run)]
    counts = [f"{sum(hidden for _, hidden, _ in side)} of {len(side)}" for side in verdicts]
    return compare(Trials.of(after), Trials.of(before)), " and ".join(counts[:-1]), counts[-1]


def said(logs: Logs, which: Sequence[Pair]) -> list[str]:
    """What a reader is told first, by our verdicts."""
    lines: list[str] = []
    for simple, reflexion in which:
        c, _, _ = paired(logs, simple, reflexion, _here)
        told = c.sentence().replace(f"; {c.spent}", "")
        lines.append(f"{reflexion} against {' and '.join(simple)}: {told}")
        log = logs[reflexion]
        passed = [row for row in log.rows if row.internal]
        wrong = _wrong(sum(not log.here(row.final) for row in passed), len(passed))
        right = {row.task_id for name in simple for row in logs[name].rows if logs[name].here(row.final)}
        broken = [row for row in log.rows if row.task_id in right and not log.here(row.final)]
        fooled = sum(bool(row.internal) for row in broken)
        lines.append(
            f"  tests that it wrote for itself passed wrong programs: {wrong[0]}; {fooled} of the {len(broken)} that"
            " it broke ended there"
        )
    return lines


def _logged(_log: Log, row: Row) -> bool:
    return row.logged


def _here(log: Log, row: Row) -> bool:
    return log.here(row.final)


VERDICTS = (("log", _logged), ("here", _here))


def internal(logs: Logs, which: Sequence[str]) -> list[str]:
    """What tests that a model wrote for itself are worth, held against the hidden ones."""
    rows: list[Sequence[object]] = []
    for name in which:
        for source, of in VERDICTS:
            log = logs[name]
            c: Confusion = confusion(Trials.of(_trials((r.task_id, of(log, r), r.internal) for r in log.rows)))
            rows.append((name, source, c.tp, c.fn, c.fp, c.tn, *_wrong(c.fp, c.tp + c.fp)))
    return _table(("file", "verdicts", "TP", "FN", "FP", "TN", "wrong of what passed", "95 %"), rows)


def _wrong(part: int, whole: int) -> tuple[str, str]:
    rate = Rate(part, whole)
    low, high = rate.interval
    return f"{part} of {whole}, {100 * (rate.value or 0):.1f} %", f"{100 * low:.1f} to {100 * high:.1f} %"


def ldb(logs: Logs) -> list[str]:
    """LDB: from the first program to the final one, and what passed the visible tests wrongly."""
    rows: list[Sequence[object]] = []
    for log in (log for log in logs.values() if log.name.startswith("ldb/")):
        sides: list[list[tuple[str, bool, bool | None]]] = [
            [(r.task_id, log.here(pick(r)), None) for r in log.rows] for pick in (_final, _first)
        ]
        c = compare(Trials.of(_trials(sides[0])), Trials.of(_trials(sides[1])))
        counts = [sum(hidden for _, hidden, _ in side) for side in sides]
        passed = [row for row in log.rows if log.seen(row.final)]
        wrong = sum(not log.here(row.final) for row in passed)
        logged = sum(row.logged for row in log.rows)
        rows.append(
            (
                log.name,
                len(log.rows),
                counts[1],
                counts[0],
                logged,
                c.better,
                c.worse,
                _net(c),
                *_wrong(wrong, len(passed)),
            )
        )
    return _table(
        ("file", "rows", "first", "final", "final, log", "fixed", "broken", "points (95 %)", "false passes", "95 %"),
        rows,
    )


def _first(row: Row) -> Program | None:
    return row.first


def _final(row: Row) -> Program | None:
    return row.final


def executors(logs: Logs) -> list[str]:
    """One `globals()` for all programs beside a fresh process for each."""
    rows: list[Sequence[object]] = []
    for log in (log for log in logs.values() if log.together is not None):
        together = list(log.together or ())
        fresh = [log.here(row.final) for row in log.rows]
        ids = [row.task_id for row in log.rows]
        like_log = sum(row.logged == passed for row, passed in zip(log.rows, together, strict=True))
        lost = _where(ids, together, fresh, lambda one, other: other and not one)
        won = _where(ids, together, fresh, lambda one, other: one and not other)
        rows.append(
            (log.name, len(ids), sum(together), f"{like_log} of {len(ids)}", sum(fresh), _tasks(lost), _tasks(won))
        )
    return _table(
        (
            "file",
            "rows",
            "solved together",
            "as logged",
            "solved fresh",
            "right, failed together",
            "wrong, passed together",
        ),
        rows,
    )


def _where(
    ids: Sequence[str], one: Sequence[bool], other: Sequence[bool], differs: Callable[[bool, bool], bool]
) -> list[str]:
    return [name for name, a, b in zip(ids, one, other, strict=True) if differs(a, b)]
