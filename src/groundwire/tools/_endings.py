"""How a process ended and what it printed, in short and harmless words."""

from __future__ import annotations

import re
import signal as signals
from collections import Counter
from collections.abc import Iterable

from groundwire.core._sandboxes import ExecResult
from groundwire.core._signals import CaseOutcome, CaseResult

# How a process ended and how its cases did, in words.

PASSED = frozenset({CaseResult.PASSED, CaseResult.XPASSED})
_FROM_OUTSIDE = frozenset({signals.SIGKILL, signals.SIGTERM, signals.SIGHUP})
_NAMES_SHOWN = 3


def ended_by(end: ExecResult) -> str:
    """The limit that ended the process; output that was only cut short ended nothing."""
    if end.limit_hit is None or (end.limit_hit == "output_bytes" and end.exit_code is not None):
        return ""
    return end.limit_hit


def how_it_ended(end: ExecResult) -> str:
    """In words."""
    if limit := ended_by(end):
        return f"was ended by its limit {limit}"
    if end.signal is not None:
        try:
            return f"was ended by {signals.Signals(end.signal).name}"
        except ValueError:
            return f"was ended by signal {end.signal}"
    return f"ended with exit status {end.exit_code}" if end.exit_code is not None else "was ended from outside"


def counts(cases: Iterable[CaseOutcome], total: int) -> str:
    """`3 of 5 tests passed (1 failed, 1 skipped)`."""
    by = Counter(c.result for c in cases)
    passed = sum(by[r] for r in PASSED)
    order = (CaseResult.FAILED, CaseResult.ERROR, CaseResult.SKIPPED, CaseResult.XFAILED)
    words = {CaseResult.ERROR: "in error", CaseResult.XFAILED: "failed as expected"}
    others = [f"{by[r]} {words.get(r, r.value)}" for r in order if by[r]]
    noun = "test" if total == 1 else "tests"
    return f"{passed} of {total} {noun} passed" + (f" ({', '.join(others)})" if others else "")


def named(names: Iterable[str]) -> str:
    """The first few names, sorted, and how many more there are."""
    found = sorted(names)
    more = f" and {len(found) - _NAMES_SHOWN} more" if len(found) > _NAMES_SHOWN else ""
    return ", ".join(found[:_NAMES_SHOWN]) + more


def last_error(end: ExecResult) -> str:
    """The line of standard error that says most."""
    lines = [line.strip() for line in end.stderr.decode("utf-8", "replace").splitlines() if line.strip()]
    telling = [line for line in lines if "error" in line.lower() and "usage:" not in line.lower()]
    chosen = telling[0] if telling else lines[-1] if lines else ""
    return chosen[:300]


def killed_from_outside(end: ExecResult) -> bool:
    """True where a signal ended it that no limit of ours explains: the machine or a person did it."""
    code = end.signal if end.signal is not None else (end.exit_code or 0) - 128
    return not ended_by(end) and code in _FROM_OUTSIDE


# Turns bytes and texts of hostile programs into short, harmless texts.

STREAM_BYTES = 8 * 1024
"""Bytes kept of standard output and of standard error each: the head and the tail."""
_UNSAFE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def harmless(text: str) -> str:
    """Escapes control characters (terminals obey them) and lone surrogates (UTF-8 and databases refuse them)."""
    return _UNSAFE.sub(_escape, text.replace("\r\n", "\n"))


def _escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"


def shorten(text: str, limit: int) -> str:
    """Keeps the head and the tail of a text, harmless, at most about `limit` characters."""
    if len(text) > limit:
        head = limit // 3
        text = f"{text[:head]}\n… {len(text) - limit} characters cut …\n{text[head - limit :]}"
    return harmless(text)


def cut_stream(data: bytes, already_cut: int = 0, limit: int = STREAM_BYTES) -> tuple[str, int]:
    """A program's output as text: head and tail, decoded as UTF-8 with what is not UTF-8 escaped.

    Args:
        data: what the sandbox kept.
        already_cut: bytes that the sandbox dropped from its middle.
        limit: bytes to keep.

    Returns:
        The text, and how many bytes of the whole output are not in it.
    """
    if len(data) <= limit and not already_cut:
        return harmless(data.decode("utf-8", "backslashreplace")), 0
    head = min(limit // 3, len(data) // 2)
    tail = min(limit - head, len(data) - head)
    dropped = len(data) - head - tail + already_cut
    first = data[:head].decode("utf-8", "backslashreplace")
    last = data[len(data) - tail :].decode("utf-8", "backslashreplace")
    return f"{harmless(first)}\n… {dropped} bytes cut …\n{harmless(last)}", dropped
