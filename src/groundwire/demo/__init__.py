"""What there is to try: the projects that `groundwire demo` repairs, each with its own bug, visible tests, and hidden
ones in `checks`; and tools for graphs that call some (`--tools groundwire.demo:STORES`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundwire.core._first_use import at_first_use

if TYPE_CHECKING:
    from groundwire.demo._stores import STORES

__all__ = ["STORES"]

__getattr__, __dir__ = at_first_use(__name__, {"STORES": "_stores"})
