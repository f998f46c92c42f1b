"""Budgets: what an episode may use, and what all episodes of a run may use together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["Budget", "Kind", "RunBudget"]

Kind = Literal["usd", "tokens", "calls", "trials"]
"""What is counted; seconds pass by themselves."""


class Budget(BaseModel):
    """Ceilings for one episode. None: no ceiling."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    trials: int = Field(default=10, ge=1)
    """Trials, the baseline not counted."""
    steps: int = Field(default=50, ge=1)
    """Actor steps within one trial (`advance`)."""
    usd: float | None = Field(default=None, ge=0)
    """US dollars for model calls."""
    tokens: int | None = Field(default=None, ge=0)
    """Prompt and completion tokens together."""
    calls: int | None = Field(default=None, ge=0)
    """Model calls, whatever comes of them; what a backend tries again within one is one call."""
    seconds: float | None = Field(default=None, ge=0)
    """Wall seconds."""

    @property
    def ceilings(self) -> Mapping[Kind, float | None]:
        """What is counted as it is used; the loop knows the number of its own trial."""
        return {"usd": self.usd, "tokens": self.tokens, "calls": self.calls}


class RunBudget(BaseModel):
    """Ceilings for all episodes of one run together. None: no ceiling.

    What an earlier process used in the same run counts, but for the seconds. Processes that work on one run at the same
    time don't see each other's use.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    trials: int | None = Field(default=None, ge=0)
    """Trials, baselines not counted."""
    usd: float | None = Field(default=None, ge=0)
    """US dollars for model calls."""
    tokens: int | None = Field(default=None, ge=0)
    """Prompt and completion tokens together."""
    calls: int | None = Field(default=None, ge=0)
    """Model calls, whatever comes of them."""
    seconds: float | None = Field(default=None, ge=0)
    """Wall seconds since this process began the run, or went on with it."""

    @property
    def ceilings(self) -> Mapping[Kind, float | None]:
        """What is counted as it is used."""
        return {"usd": self.usd, "tokens": self.tokens, "calls": self.calls, "trials": self.trials}
