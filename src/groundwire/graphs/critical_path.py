"""How many of the tokens that models wrote had to wait for one another: B_seq beside B_total (arXiv 2510.01123)."""

from __future__ import annotations

from collections.abc import Iterable

from groundwire.records import ModelCall, Record

__all__ = ["TokensWritten"]


class TokensWritten:
    """Completion tokens of one episode, counted from its ledger.

    Calls of one trial whose purpose names the same stage (`propose.2`) were made side by side; all others one after
    another, which is the most that their waiting can have come to. Answers taken from an earlier record count nothing.

    Args:
        records: the episode's; others can be added.
    """

    def __init__(self, records: Iterable[Record] = ()) -> None:
        self.total = 0
        """Of all calls together, which is what is paid for."""
        self._alone = 0
        self._longest: dict[tuple[int, str], int] = {}
        for record in records:
            if isinstance(record, ModelCall):
                self.add(record)

    @property
    def critical(self) -> int:
        """Of calls that wait for one another, which is what is waited for."""
        return self._alone + sum(self._longest.values())

    def add(self, call: ModelCall) -> None:
        """Counts one more call."""
        self.total += call.completion_tokens
        if "." in call.purpose:
            stage = (call.trial, call.purpose)
            self._longest[stage] = max(self._longest.get(stage, 0), call.completion_tokens)
        else:
            self._alone += call.completion_tokens
