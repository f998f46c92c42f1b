"""What a run of many tasks has come to so far: a bar that moves, a line an episode, and the last lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from types import TracebackType
from typing import Any, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.text import Text

from groundwire.cli._live import MARKS
from groundwire.cli._text import print_line, tokens
from groundwire.core._records import StopReason
from groundwire.core._signals import Isolation, Verdict
from groundwire.core._tasks import Task
from groundwire.core._text import plain, plural
from groundwire.graphs import EpisodeResult
from groundwire.graphs.run._episode import Observer
from groundwire.graphs.run._result import EXIT_CODES
from groundwire.graphs.run._strength import shapes_of

SOLVED = frozenset({StopReason.VERIFIED, StopReason.ALREADY_PASSING})


@dataclass(frozen=True)
class EndedEpisode:
    """What is counted and shown of an episode, wherever it was run; the fields as in `EpisodeResult`."""

    run_id: str
    episode_id: str
    task_id: str
    verdict: Verdict
    stop_reason: StopReason
    hidden: Verdict | None
    trials: int
    candidates: int
    reflections: int
    tokens: int
    usd: float
    seconds: float
    detail: str
    error: str | None
    """With what to do about it, on lines of its own."""
    isolation: Isolation | None = None
    """Where the assertions of the last PASS ran."""
    anti_patterns: tuple[str, ...] = ()
    """Shapes of a verified patch that pass its visible tests without solving anything."""

    @classmethod
    def of(cls, result: EpisodeResult, task: Task) -> Self:
        """What a result holds of it."""
        same = (one.name for one in fields(cls) if one.name not in ("hidden", "error", "anti_patterns"))
        verified = result.best if result.stop_reason is StopReason.VERIFIED else None
        return cls(
            **{name: getattr(result, name) for name in same},
            hidden=result.hidden.verdict if result.hidden else None,
            error=str(result.error) if result.error else None,
            anti_patterns=shapes_of(verified.candidate, task) if verified is not None else (),
        )

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        """From `as_data`."""
        read: dict[str, Any] = {
            **data,
            "verdict": Verdict(data["verdict"]),
            "stop_reason": StopReason(data["stop_reason"]),
            "hidden": Verdict(data["hidden"]) if data["hidden"] else None,
            "isolation": Isolation(data["isolation"]) if data.get("isolation") else None,
            "anti_patterns": tuple(data.get("anti_patterns", ())),
        }
        return cls(**read)

    def as_data(self) -> dict[str, Any]:
        """For scripts."""
        return {**asdict(self), "seconds": round(self.seconds, 3)}


class Tally:
    """Counts and shows episodes as they end.

    Args:
        arm: what is run, for people.
        total: episodes of the run.
        console: where to print.
        as_json: True: a JSON object a line to standard output.
    """

    worst_first = (6, 7, 5, 1, 8, 4, 3)
    """Exit codes of episodes: the first of these that any episode has is the run's."""

    def __init__(self, arm: str, total: int, console: Console, *, as_json: bool) -> None:
        self.arm = arm
        self.total = total
        self.reasons: Counter[StopReason] = Counter()
        self.verdicts: Counter[str] = Counter()
        self.tokens = 0
        self.usd = 0.0
        self._console = console
        self._as_json = as_json
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        self._bar = Progress(*columns, TextColumn("{task.fields[counts]}"), console=console, transient=True)
        self._task: TaskID | None = None
        self.observers: Sequence[Observer] = ()
        """Told of each record of its episodes."""

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._task = self._bar.add_task(self.arm, total=self.total, counts="")
            self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._task is not None:
            self._bar.stop()

    def known(self, reason: StopReason) -> None:
        """An episode that an earlier process had ended."""
        self._count(reason)

    def ended(self, result: EndedEpisode, split: str, *, seed: int) -> None:
        """One more episode."""
        self.tokens += result.tokens
        self.usd += result.usd
        if self._as_json:
            print_line({"type": "episode", "arm": self.arm, "split": split, "seed": seed, **result.as_data()})
        else:
            self._line(result)
        self._count(result.stop_reason)

    def takes_back(self, reason: StopReason) -> None:
        """An episode that was counted, and whose task was run once more, counts no longer."""
        self._count(reason, -1)

    @property
    def done(self) -> int:
        """Episodes that have ended."""
        return sum(self.reasons.values())

    @property
    def exit_code(self) -> int:
        """0: all verified. Else what is worst."""
        codes = {self.code(reason) for reason in self.reasons}
        if self.done < self.total:
            codes.add(EXIT_CODES[StopReason.BUDGET_RUN])
        return next((code for code in self.worst_first if code in codes), 0)

    def code(self, reason: StopReason) -> int:
        """The exit code that an episode has by its reason."""
        return EXIT_CODES[reason]

    def counts(self) -> str:
        """`12 verified · 3 unsolved · 1 no verdict`."""
        count = self.verdicts
        return f"{count['verified']} verified · {count['unsolved']} unsolved · {count['none']} no verdict"

    def as_data(self) -> Mapping[str, Any]:
        """For scripts."""
        return {
            "arm": self.arm,
            "episodes": self.done,
            "verified": self.verdicts["verified"],
            "unsolved": self.verdicts["unsolved"],
            "no_verdict": self.verdicts["none"],
            "stop_reasons": {str(reason): count for reason, count in sorted(self.reasons.items())},
        }

    def _count(self, reason: StopReason, by: int = 1) -> None:
        self.reasons[reason] += by
        self.reasons = +self.reasons
        none = EXIT_CODES[reason] in (3, 5, 6, 7, 130)
        self.verdicts["verified" if reason in SOLVED else "none" if none else "unsolved"] += by
        self._move()

    def _move(self) -> None:
        if self._task is not None:
            self._bar.update(self._task, completed=self.done, counts=self.counts())

    def _is_first_without(self, result: EndedEpisode) -> bool:
        """True for the first episode without a verdict, which says in full what to do."""
        return result.stop_reason is StopReason.NO_VERDICT and not self.reasons[StopReason.NO_VERDICT]

    def _line(self, result: EndedEpisode) -> None:
        # a candidate that no test contradicts and none confirmed is no success, so the reason decides, not the verdict
        solved = result.stop_reason in SOLVED
        mark, style = MARKS[
            Verdict.PASS if solved else Verdict.NONE if EXIT_CODES[result.stop_reason] == 3 else Verdict.FAIL
        ]
        line = Text(f"{mark} ", style=style)
        line.append(f"{plain(result.task_id, limit=40):<24} {result.stop_reason:<16}", style="default")
        tried = plural(result.candidates, "candidate")
        line.append(f" trial {result.trials:<3}{tried:>16}  {result.seconds:6.1f} s", style="dim")
        if result.tokens:
            line.append(f"  {tokens(result.tokens)}  ${result.usd:.4f}", style="dim")
        if result.error is not None or not solved:
            limit = 600 if result.stop_reason is StopReason.INTERNAL_ERROR or self._is_first_without(result) else 90
            said = result.error.partition("\n  ")[0] if result.error else result.detail
            line.append(f"  {plain(said, limit=limit)}", style="dim")
        if solved and result.isolation not in (None, Isolation.TWO_BOXES):
            line.append(f"  {result.isolation.in_words}", style="yellow")
        if result.anti_patterns:
            line.append(f"  weak tests: {plain('; '.join(result.anti_patterns), limit=200)}", style="yellow")
        self._bar.console.print(line, soft_wrap=True)
