"""Steps in an environment, and the two rules by which a run of them gets nowhere (Reflexion, arXiv 2303.11366)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Step", "standstill_of_steps"]


@dataclass(frozen=True)
class Step:
    """One step in an environment: what was done, and what came back."""

    action: str
    response: str


def standstill_of_steps(steps: Sequence[Step], taken: int, *, repeats: int | None, actions: int | None) -> str:
    """Why an actor in an environment gets nowhere; empty where it does.

    Args:
        steps: the last ones of a trial, in order.
        taken: how many it has taken in all.
        repeats: how often in a row the same step may get the same response; None: as often as it likes. Responses that
            say nothing are not the same.
        actions: how many steps there may be; None: any number.
    """
    if repeats is not None and len(steps) > repeats:
        last = steps[-1]
        if last.response and set(steps[-repeats - 1 :]) == {last}:
            return f"same_step: the same action got the same response more than {repeats} times in a row"
    if actions is not None and taken > actions:
        return f"inefficient: more than {actions} actions in one trial"
    return ""
