"""Calls that were under way when an earlier process ended: they may have been paid for, and their answers are lost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from groundwire.errors import ConfigError
from groundwire.records import Intent, ModelCall, Record

__all__ = ["DoubtfulCalls"]


class DoubtfulCalls:
    """Model calls of which the ledger holds the intent and no result.

    They count against the budget with the most that they can have cost. None is made again without the user's word,
    but for those that cost nothing: nothing is paid for twice in silence.

    Args:
        records: an episode's.
    """

    def __init__(self, records: Sequence[Record] = ()) -> None:
        ended = {r.intent_id for r in records if isinstance(r, ModelCall)}
        self._intents = [r for r in records if isinstance(r, Intent) and r.kind == "model_call" and r.id not in ended]

    def __iter__(self) -> Iterator[Intent]:
        return iter(self._intents)

    def check(self, trial: int, request_digest: str, run_id: str) -> None:
        """Before a call is made.

        Raises:
            ConfigError: the same one may have been paid for.
        """
        for intent in self._intents:
            if (intent.trial, intent.digest) == (trial, request_digest) and intent.usd != 0.0:
                price = "its price is not known" if intent.usd is None else f"it cost ${intent.usd:.4f} at most"
                raise ConfigError(
                    "A model call was under way when the process ended, so it may have been paid for, and its answer is"
                    f" lost; {price}.",
                    do=f"Ask again, and perhaps pay again:  groundwire resume {run_id[:13]} --ask-again",
                )
