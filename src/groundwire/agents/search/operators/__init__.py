"""The edit operators, by family."""

from __future__ import annotations

from groundwire.agents.search.operators import (
    arguments,
    arithmetic,
    branches,
    calls,
    compare,
    constants,
    logic,
    loops,
    names,
    returns,
    statements,
    subscripts,
    wraps,
)
from groundwire.agents.search.operators.base import Rule

__all__ = ["RULES", "Rule"]

RULES: tuple[Rule, ...] = (
    *compare.RULES,
    *arithmetic.RULES,
    *logic.RULES,
    *constants.RULES,
    *names.RULES,
    *calls.RULES,
    *arguments.RULES,
    *wraps.RULES,
    *subscripts.RULES,
    *loops.RULES,
    *returns.RULES,
    *statements.RULES,
    *branches.RULES,
)
