"""All ready-made graphs, in the order in which a person meets them."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from inspect import cleandoc
from textwrap import dedent
from types import ModuleType
from typing import TYPE_CHECKING

from groundwire.core._errors import ConfigError
from groundwire.core._text import one_of
from groundwire.graphs.library._card import GraphCard

if TYPE_CHECKING:
    from groundwire.graphs.build._feedback_graph import FeedbackGraph


NAMES = (
    "code_repair",
    "episodic",
    "tool_recovery",
    "preflight",
    "search_judge",
    "plan_ahead",
    "verified_steps",
    "step_beam",
    "correction_memory",
    "parallel_refine",
    "confident_vote",
    "round_table",
    "perturb_vote",
    "strategy_router",
    "refined_best_of_n",
    "side_by_side_judge",
    "trajectory_factory",
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
    found = _module(name).CARD
    assert isinstance(found, GraphCard)
    return found


def builder(name: str) -> Callable[..., FeedbackGraph]:
    """The function that builds one graph.

    Raises:
        ConfigError: there is none of that name.
    """
    return getattr(_module(name), name)


def drawing(name: str) -> str:
    """The drawing of one graph, as its module's docstring has it, without its indentation.

    Raises:
        ConfigError: there is none of that name.
    """
    paragraphs = cleandoc(_module(name).__doc__ or "").split("\n\n")
    drawn = [p for p in paragraphs if all(line.startswith("    ") for line in p.splitlines())]
    return dedent("\n\n".join(drawn))


def cards() -> tuple[GraphCard, ...]:
    """Every graph's card."""
    return tuple(card(name) for name in NAMES)


def _module(name: str) -> ModuleType:
    check_name(name)
    return import_module(f"groundwire.graphs.library._{name}")


def check_name(name: str) -> None:
    """Refuses what is no graph of the library, and imports none for it.

    Raises:
        ConfigError: there is none of that name.
    """
    if name not in NAMES:
        raise ConfigError(f"There is no graph {name!r}.", do=one_of(name, NAMES))
