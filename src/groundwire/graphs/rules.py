"""How a loop treats doubt and standstill: what is judged again, and when it has gone on long enough."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict, Field

from groundwire.signals import Origin

__all__ = ["Rules"]


class Rules(BaseModel):
    """Settings of one compiled graph; the ledger holds them with the run."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    retries: int = Field(default=1, ge=0, le=5)
    """Times a judging is repeated that gave no verdict because the sandbox or the runner broke. Nobody else repeats
    one."""
    rejudge_fails: int = Field(default=1, ge=0, le=100)
    """Times a FAIL is judged again before it opens `refine`, where a case fails that was not yet seen to fail twice on
    one candidate. Only tools that say `repeatable = True` are asked again."""
    rejudge_passes: int = Field(default=1, ge=0, le=100)
    """Times a PASS is judged again before anything rests on it; of such tools only, and never of hidden tests."""
    repeats: int | None = Field(default=3, ge=1)
    """Trials in a row that may fail in the same way; the next one escalates (Reflexion, arXiv 2303.11366: more than 3).
    None: never."""
    escalations: int = Field(default=3, ge=0)
    """Escalations before a loop that does not move is stuck."""
    actions: int | None = Field(default=None, ge=1)
    """Steps of one trial in an environment; the next one is inefficient (Reflexion: more than 30). None: the budget's
    steps decide."""
    refinements: Mapping[Origin, int] = {}
    """The most refinements that signals of an origin may open in one episode; an origin that is not named has no cap
    of its own."""
