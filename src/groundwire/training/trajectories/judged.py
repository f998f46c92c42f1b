"""What was tried, and what was observed about it."""

from __future__ import annotations

from enum import StrEnum

from groundwire.signals import NoVerdict, Origin, Verdict
from groundwire.training.trajectories.texts import Author, Frozen

__all__ = ["EXECUTED", "Attempt", "Change", "Remark", "Seal", "Seen"]

EXECUTED = frozenset(
    {
        Origin.HIDDEN_TESTS,
        Origin.TESTS,
        Origin.EXECUTION,
        Origin.ENVIRONMENT,
        Origin.TOOL_ERROR,
        Origin.VERIFIER,
    }
)
"""Origins that a reward may rest on: something ran. Tests that a model wrote, opinions and rules are none of them."""


class Seal(StrEnum):
    """What became of a signal's seal."""

    VERIFIED = "verified"
    UNVERIFIED = "unverified"
    """The run's key is not here."""
    BROKEN = "broken"
    """The signal is not what was minted; nothing may rest on it."""


class Seen(Frozen):
    """A signal: what was observed about one candidate. Tool results and scenes are its texts, and data."""

    id: str
    at: int
    trial: int
    issuer: str
    origin: Origin
    verdict: Verdict
    reason: NoVerdict | None = None
    candidate: str
    seal: Seal
    oracle: bool = False
    partial: bool = False
    passed: int = 0
    failed: tuple[tuple[str, str], ...] = ()
    """Name and message of each case that counts against the candidate."""
    detail: str = ""
    stdout: str = ""
    """What the program or the world said; empty where cases were flaky."""
    stderr: str = ""
    exit_code: int | None = None
    taken_from: str = ""
    """The recorded signal that this one repeats."""
    created_at: str = ""

    @property
    def executed(self) -> bool:
        """True where a reward may rest on it."""
        return self.origin in EXECUTED and self.seal is not Seal.BROKEN

    @property
    def hidden(self) -> bool:
        """True where hidden tests gave it."""
        return self.origin is Origin.HIDDEN_TESTS


class Change(Frozen):
    """What a candidate does to one file."""

    path: str
    content: str | None
    """The whole new text; None where the file is deleted or is no UTF-8 text."""
    deleted: bool = False


class Attempt(Frozen):
    """A candidate in a trial, with all that was observed about it there. In a world each step makes one."""

    digest: str
    at: int
    trial: int
    base: bool = False
    """The task's own tree: nobody proposed it."""
    actor: str = ""
    edits: tuple[str, ...] = ()
    note: str = ""
    changes: tuple[Change, ...] = ()
    turn: str = ""
    """`Turn.id` of the answer that it was made of; empty where no model made it, or where that can't be told."""
    twins: tuple[str, ...] = ()
    """Ids of further answers that say the same."""
    signals: tuple[Seen, ...] = ()
    reward: float | None = None
    """1.0 or 0.0 by executed checks alone, where they gave a verdict; hidden tests have the last word."""
    rewarded_by: tuple[str, ...] = ()
    """Ids of the signals that the reward rests on."""

    @property
    def failed(self) -> bool:
        """True where an executed check failed it."""
        return any(signal.executed and signal.verdict is Verdict.FAIL for signal in self.signals)


class Remark(Frozen):
    """A reflection: what a critic said of one failure."""

    id: str
    at: int
    trial: int
    signal: str
    candidate: str
    text: str
    raw: str = ""
    by: str = ""
    author: Author
