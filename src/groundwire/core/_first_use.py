"""Names of a package that are loaded when they are first used (PEP 562), so that importing it costs nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def at_first_use(
    package: str, modules: Mapping[str, str], *, elsewhere: Mapping[str, str] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """A package's `__getattr__` and `__dir__`; the names are imported under `TYPE_CHECKING` too, for type checkers.

    Args:
        package: its `__name__`.
        modules: the module of each public name, relative to the package: `{"Budget": "budget"}`.
        elsewhere: the same for those of other packages, whole: `{"audit": "groundwire_audit"}`.

    Returns:
        Both functions. What was loaded once is kept in the package, as an import at its top would have kept it; `dir`
        names what is public.
    """

    places = {name: f"{package}.{home}" for name, home in modules.items()} | dict(elsewhere or {})

    def load(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(places[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package])["__all__"], *places})

    return load, names
