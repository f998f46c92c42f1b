"""The words of a file: the numbers, texts and attributes that it and its tests use."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import libcst as cst

from groundwire.agents.search.examples import Examples
from groundwire.agents.search.source import Site, Source

__all__ = ["Vocabulary", "int_value"]

MAX_NUMBERS = 12
MAX_STRINGS = 24
MAX_STRING_CHARS = 40
MAX_ATTRIBUTES = 60


def int_value(site: Site) -> int | None:
    """The value of a plain integer of at most 63 bits; None for anything else."""
    if not isinstance(site.node, cst.Integer):
        return None
    try:
        value = int(site.node.value, 0)
    except ValueError:
        return None
    return value if abs(value) < 1 << 63 else None


class Vocabulary:
    """What may be borrowed, the file's own words first.

    Args:
        source: the file.
        examples: literals of the visible tests.
    """

    def __init__(self, source: Source, examples: Examples) -> None:
        self._source = source
        self._examples = examples

    @cached_property
    def numbers(self) -> tuple[int | float, ...]:
        """Numbers."""
        own: dict[int | float, None] = {}
        for site in self._source.expressions:
            if (value := int_value(site)) is not None:
                own[value] = None
            elif isinstance(site.node, cst.Float):
                own[float(site.node.value)] = None
        own.update(dict.fromkeys(self._examples.numbers))
        return tuple(own)[:MAX_NUMBERS]

    @cached_property
    def strings(self) -> tuple[str, ...]:
        """Short texts, docstrings left out."""
        own: dict[str, None] = {}
        for site in self._source.expressions:
            if isinstance(site.node, cst.SimpleString) and isinstance(site.node.evaluated_value, str):
                own[site.node.evaluated_value] = None
        own.update(dict.fromkeys(self._examples.strings))
        return tuple(text for text in own if len(text) <= MAX_STRING_CHARS)[:MAX_STRINGS]

    @cached_property
    def attributes(self) -> Mapping[str, bool]:
        """Attribute → True if the file calls it."""
        found: dict[str, bool] = {}
        for site in self._source.sites:
            if isinstance(site.node, cst.Attribute):
                found.setdefault(site.node.attr.value, site.slot == "func")
                if len(found) >= MAX_ATTRIBUTES:
                    break
        return found
