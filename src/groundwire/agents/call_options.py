"""Options of model calls that actors and critics share: their range and their warmth."""

from __future__ import annotations

from groundwire.errors import ConfigError

__all__ = ["check_range", "risen"]

TEMPERATURE_STEP = 0.15
TEMPERATURE_CAP = 1.5
"""Progressive temperature: 0.15 a round up to 1.5, from "Feedback Friction", arXiv 2506.11930."""


def risen(start: float, rounds: int) -> float:
    """The temperature of a call at its `rounds`-th renewal, 0 at first; a start above the cap stays as it is."""
    return min(start + TEMPERATURE_STEP * rounds, max(TEMPERATURE_CAP, start))


def check_range(who: str, *, temperature: float, max_tokens: int) -> None:
    """Refuses what no model can be asked for.

    Args:
        who: whose options they are, for the message.
        temperature: of the calls.
        max_tokens: tokens of an answer.

    Raises:
        ConfigError: one of them is out of range.
    """
    if max_tokens < 1 or temperature < 0:
        raise ConfigError(
            f"{who} got an argument out of range.", do="Use max_tokens of 1 or more, temperature of 0 or more."
        )
