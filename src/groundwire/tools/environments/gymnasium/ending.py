"""How an episode of a Gymnasium environment ended, and the rules that say whether that was a win.

Gymnasium itself has no word for it: `terminated` may be the goal as well as the abyss.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from groundwire.core.environments import Status
from groundwire.core.errors import ConfigError

__all__ = ["End", "Rule", "rule_of", "unknown"]

COMPARED = {">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt, "==": operator.eq}
WRITTEN = re.compile(r"(reward|return)\s*(>=|<=|==|>|<)\s*(-?\d+(?:\.\d+)?)")
IN_INFO = re.compile(r"info\.(\w+)")


@dataclass(frozen=True)
class End:
    """The last step of an episode, as the environment gave it back.

    Args:
        terminated: a state was reached in which the environment ends.
        truncated: it was cut off, as a rule by its step limit.
        reward: of the last action.
        total: the sum of all rewards (the return, not discounted).
        observation: the last one.
        info: what came with it.
        env: the environment, without its wrappers.
    """

    terminated: bool
    truncated: bool
    reward: float
    total: float = 0.0
    observation: Any = None
    info: Mapping[str, Any] = field(default_factory=dict[str, Any])
    env: Any = None


Rule = Callable[[End], Status]
"""Says how an episode that is over stands."""


def unknown(end: End) -> Status:
    """The rule where nobody gave one: `info["is_success"]` where there is such a thing, lost where the step limit cut
    it off, and otherwise over without a verdict."""
    if "is_success" in end.info:
        return Status.WON if bool(end.info["is_success"]) else Status.LOST
    return Status.ENDED if end.terminated else Status.LOST


def rule_of(won_if: str | Callable[[End], bool]) -> Rule:
    """The rule "won where this holds when it is over, and lost where not".

    Args:
        won_if: `reward>=1` (of the last action), `return>=475` (of the episode), `info.NAME` (true in `info`),
            `terminated`, or a function.

    Raises:
        ConfigError: it is none of these.
    """
    holds = won_if if callable(won_if) else _parsed(won_if)
    return lambda end: Status.WON if holds(end) else Status.LOST


def _parsed(text: str) -> Callable[[End], bool]:
    if text == "terminated":
        return lambda end: end.terminated
    if found := IN_INFO.fullmatch(text):
        name = found[1]
        return lambda end: bool(end.info.get(name, False))
    if found := WRITTEN.fullmatch(text):
        compare, bound = COMPARED[found[2]], float(found[3])
        if found[1] == "reward":
            return lambda end: compare(end.reward, bound)
        return lambda end: compare(end.total, bound)
    raise ConfigError(
        f"This is no rule of what is won: {text!r:.80}.",
        do="Write won_if=reward>=1, won_if=return>=475, won_if=info.is_success or won_if=terminated.",
    )
