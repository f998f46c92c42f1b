"""What an audit raises for the one who asked for it.

    AuditError              what was asked for can't be done as asked       exit 2
    ├── ImportFailed            the target can't be imported, or is no graph    exit 2
    └── GuardUnavailable        the sandbox that was asked for can't be had     exit 3

What is wrong with a graph is no error: it is in the report.
"""

from __future__ import annotations

from typing import ClassVar


class AuditError(Exception):
    """What was asked for can't be done as asked.

    Args:
        what: what happened, in one sentence.
        do: what the reader can do about it; empty where nothing can be done.
    """

    exit_code: ClassVar[int] = 2

    def __init__(self, what: str, *, do: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.do = do

    def __str__(self) -> str:
        return f"{self.what}\n  {self.do}" if self.do else self.what


class ImportFailed(AuditError):
    """The module could not be imported, or holds no such graph. `stage`: import or target."""

    def __init__(self, what: str, *, do: str = "", stage: str = "import") -> None:
        super().__init__(what, do=do)
        self.stage = stage


class GuardUnavailable(AuditError):
    """The sandbox in which the target was to be imported can't be had here."""

    exit_code: ClassVar[int] = 3
