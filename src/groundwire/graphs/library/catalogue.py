"""All ready-made graphs, in the order in which a person meets them."""

from __future__ import annotations

from importlib import import_module

from groundwire.errors import ConfigError
from groundwire.graphs.library.card import GraphCard

__all__ = ["NAMES", "card", "cards"]

NAMES = (
    "code_repair",
    "parallel_refine",
    "confident_vote",
    "round_table",
    "perturb_vote",
    "strategy_router",
    "refined_best_of_n",
    "side_by_side_judge",
    "self_refine",
    "blind_resampling",
    "fusion",
    "mad_debate",
    "sets",
    "ssr",
)
"""The modules of this package that hold a graph."""


def card(name: str) -> GraphCard:
    """The card of one graph.

    Raises:
        ConfigError: there is none of that name.
    """
    if name not in NAMES:
        raise ConfigError(f"There is no graph {name!r}.", do=f"Choose one of {', '.join(NAMES)}.")
    found = import_module(f"groundwire.graphs.library.{name}").CARD
    assert isinstance(found, GraphCard)
    return found


def cards() -> tuple[GraphCard, ...]:
    """Every graph's card."""
    return tuple(card(name) for name in NAMES)
