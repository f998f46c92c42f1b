"""The edit operators, by family."""

from __future__ import annotations

from groundwire.agents.search.operators import _arguments as arguments
from groundwire.agents.search.operators import _arithmetic as arithmetic
from groundwire.agents.search.operators import _branches as branches
from groundwire.agents.search.operators import _calls as calls
from groundwire.agents.search.operators import _compare as compare
from groundwire.agents.search.operators import _constants as constants
from groundwire.agents.search.operators import _logic as logic
from groundwire.agents.search.operators import _loops as loops
from groundwire.agents.search.operators import _names as names
from groundwire.agents.search.operators import _returns as returns
from groundwire.agents.search.operators import _statements as statements
from groundwire.agents.search.operators import _subscripts as subscripts
from groundwire.agents.search.operators import _wraps as wraps
from groundwire.agents.search.operators._base import Rule

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
