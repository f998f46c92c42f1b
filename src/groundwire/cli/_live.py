"""Live progress: what a person sees is the ledger as it is written."""

from __future__ import annotations

import re
import time

from rich.console import Console
from rich.status import Status
from rich.text import Text

from groundwire.cli._text import tokens
from groundwire.core._masking import mask
from groundwire.core._records import (
    CandidateRecord,
    EpisodeEnd,
    ModelCall,
    Record,
    ReflectionRecord,
    TrialRecord,
)
from groundwire.core._signals import CaseOutcome, CaseResult, Evidence, Origin, Signal, Verdict
from groundwire.core._text import plain

MARKS = {Verdict.PASS: ("✓", "green"), Verdict.FAIL: ("✗", "red"), Verdict.NONE: ("?", "yellow")}
REFRESH_S = 0.2
LINE_KEPT = 2000
"""Characters of what a model writes that are at hand, to show the end of them."""
FRAME = re.compile(r"^\S+:\d+ in \S+: ")
"""The place that our runners put before an assertion; the case's name stands there already."""
RAISED = "E   "
"""What pytest puts before the lines of an exception."""
SAYS_NOTHING = ("AssertionError", "assert False", "assert not True", "assert None")


def counts(evidence: Evidence) -> str:
    """`3/5 tests`; `0/1 tests, 1 of 12 asked` where the run did not come to the others."""
    asked, selected = len(evidence.cases), evidence.collected - evidence.deselected
    others = f", {asked} of {selected} asked" if asked < selected else ""
    return f"{len(evidence.passed())}/{asked} tests{others}"


def headline(signal: Signal) -> str:
    """What failed first, or why there is no verdict, in one line."""
    failed = signal.evidence.failed()
    if failed:
        name = failed[0].id.rsplit("::", 1)[-1]
        return plain(f"{name}: {_said(failed[0])}", limit=90)
    if signal.verdict is Verdict.NONE:
        return plain(f"{signal.reason}: {signal.evidence.detail}", limit=110)
    return ""


def _said(case: CaseOutcome) -> str:
    """The comparison that failed or the exception; where that says nothing, the statement."""
    lines = case.message.strip().splitlines()
    if not lines:
        return str(case.result)
    raised = [line for line in lines if line.startswith(RAISED)]
    if raised and case.result is CaseResult.ERROR:  # pytest's own account of a file that can't be imported
        return raised[-1].removeprefix(RAISED).strip()
    said = lines[0].removeprefix("AssertionError: ")
    return FRAME.sub("", lines[-1].strip()) if said in SAYS_NOTHING else said


class LiveView:
    """An observer of records that prints a line a trial, and a moving line while one is judged.

    Args:
        console: where to print.
    """

    def __init__(self, console: Console) -> None:
        self.run_id = ""
        """Set by whoever starts the run, for what is said when it is interrupted."""
        self._console = console
        self._status: Status | None = None
        self._shown_at = 0.0
        self._trial = 0
        self._proposed = 0
        self._signals: dict[str, Signal] = {}
        """By candidate; of several looks at one the last counts."""
        self._hidden: Signal | None = None
        self._calls: list[ModelCall] = []
        self._written, self._line = 0, ""

    def __call__(self, record: Record) -> None:
        """See `groundwire.graphs.run._episode.Observer`."""
        match record:
            case TrialRecord():
                self._close_trial()
                self._trial = record.trial
                self._move(f"trial {record.trial}: proposing")
            case CandidateRecord():
                self._proposed += 1
            case Signal(origin=Origin.HIDDEN_TESTS):
                self._hidden = record
            case Signal(origin=Origin.RULE):
                self._print(Text(f"         ↳ rule: {plain(record.evidence.detail, limit=140)}", style="yellow"))
            case Signal():
                self._signals[record.candidate_digest] = record
                wide = f" {len(self._signals)} of {self._proposed}" if self._proposed > 1 else ""
                self._move(f"trial {self._trial}: judged{wide}")
            case ReflectionRecord():
                self._close_trial()
                line = Text("         ↳ reflection: ", style="dim")
                line.append(plain(record.text, limit=140), style="italic")
                line.append("   (remembered)", style="dim")
                self._print(line)
            case ModelCall():
                self._calls.append(record)
                self._written, self._line = 0, ""
            case EpisodeEnd():
                self._close_trial()
                self.close()
            case _:
                pass

    def report(self, line: str) -> None:
        """One line of a tool at work."""
        self._move(f"trial {self._trial}: {plain(line, limit=80)}")

    def on_text(self, sample: int, text: str) -> None:
        """What a model writes, while it does: how much, and its last line; of several samples the first."""
        if sample:
            return
        self._written = self._written + len(text) if text else 0
        self._line = (self._line + text)[-LINE_KEPT:] if text else ""
        if self._is_due():
            shown = plain(
                mask(next((line for line in reversed(self._line.splitlines()) if line.strip()), "")), limit=60
            )
            self._move(f"trial {self._trial}: {self._written} characters written   {shown}")

    def close(self) -> None:
        """Ends the moving line."""
        if self._status is not None:
            self._status.stop()
            self._status = None

    def _move(self, text: str) -> None:
        if not self._console.is_terminal:
            return
        if self._status is None:
            self._status = self._console.status(Text(text), spinner="dots")
            self._status.start()
        elif self._is_due():
            self._status.update(Text(text))
            self._shown_at = time.monotonic()

    def _is_due(self) -> bool:
        return self._console.is_terminal and (self._status is None or time.monotonic() - self._shown_at > REFRESH_S)

    def _print(self, line: Text) -> None:
        """One line: cut at the terminal's edge, whole where it is read by a program."""
        terminal = self._console.is_terminal
        self._console.print(line, no_wrap=terminal, overflow="ellipsis" if terminal else None, soft_wrap=not terminal)

    def _close_trial(self) -> None:
        if not self._signals:
            return
        best = max(self._signals.values(), key=lambda s: (s.verdict is Verdict.PASS, len(s.evidence.passed())))
        mark, style = MARKS[best.verdict]
        line = Text(f"{'baseline' if self._trial == 0 else f'trial {self._trial}':<9}")
        line.append(f"{mark} ", style=style)
        line.append(counts(best.evidence) if best.evidence.cases else str(best.verdict))
        if len(self._signals) > 1:
            line.append(f"   best of {len(self._signals)} judged", style="dim")
            if self._proposed > len(self._signals):
                line.append(f", of {self._proposed} candidates", style="dim")
        if self._hidden is not None:
            mark, style = MARKS[self._hidden.verdict]
            line.append("   hidden ")
            line.append(f"{mark} ", style=style)
            line.append(counts(self._hidden.evidence).replace(" tests", "", 1))
        said = headline(best)
        if said:
            line.append(f"   {said}", style="dim")
        line.append(self._price(), style="dim")
        self.close()
        self._print(line)
        self._proposed, self._signals, self._hidden, self._calls = 0, {}, None, []

    def _price(self) -> str:
        if not self._calls:
            return ""
        used = sum(c.prompt_tokens + c.completion_tokens for c in self._calls)
        prices = [c.usd for c in self._calls]
        usd = "price unknown" if None in prices else f"${sum(p or 0 for p in prices):.3f}"
        return f"   {tokens(used)}  {usd}"
