"""The edit operators, by family."""

from __future__ import annotations

from groundwire.agents.search.operators import _alternatives as alternatives
from groundwire.agents.search.operators import _arguments as arguments
from groundwire.agents.search.operators import _arithmetic as arithmetic
from groundwire.agents.search.operators import _branches as branches
from groundwire.agents.search.operators import _calls as calls
from groundwire.agents.search.operators import _compare as compare
from groundwire.agents.search.operators import _constants as constants
from groundwire.agents.search.operators import _exceptions as exceptions
from groundwire.agents.search.operators import _fallbacks as fallbacks
from groundwire.agents.search.operators import _forgotten as forgotten
from groundwire.agents.search.operators import _gaps as gaps
from groundwire.agents.search.operators import _logic as logic
from groundwire.agents.search.operators import _loops as loops
from groundwire.agents.search.operators import _names as names
from groundwire.agents.search.operators import _pairs as pairs
from groundwire.agents.search.operators import _patterns as patterns
from groundwire.agents.search.operators import _preparations as preparations
from groundwire.agents.search.operators import _returns as returns
from groundwire.agents.search.operators import _statements as statements
from groundwire.agents.search.operators import _subscripts as subscripts
from groundwire.agents.search.operators import _wraps as wraps
from groundwire.agents.search.operators._base import Operator

__all__ = ["OPERATORS", "Operator"]

OPERATORS: tuple[Operator, ...] = (
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
    *forgotten.RULES,
    *exceptions.RULES,
    *fallbacks.RULES,
    *alternatives.RULES,
    *gaps.RULES,
    *preparations.RULES,
    *patterns.RULES,
    *pairs.RULES,
)
