"""Tools to try a graph with: two stores that hold bolts."""

from __future__ import annotations

from groundwire.tools import FunctionTool, Toolbox

BOLTS = {"north": 20, "south": 22}


def count_bolts(store: str) -> int:
    """Counts the bolts in one store."""
    if store not in BOLTS:
        raise LookupError(f"there is no store {store}; there are {' and '.join(BOLTS)}")
    return BOLTS[store]


def throw_away(store: str) -> str:
    """Throws all bolts of one store away. Here it only says so."""
    return f"the {count_bolts(store)} bolts of {store} would be gone"


STORES = Toolbox(count_bolts, FunctionTool(throw_away, irreversible=True))
