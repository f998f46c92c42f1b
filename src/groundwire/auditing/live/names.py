"""What an object is called, and whether it is of a library; by names only, so that no library has to be imported."""

from __future__ import annotations

import sys
import sysconfig
import types
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from groundwire.auditing.knowledge.lookup import FAMILIES

__all__ = ["is_library", "line_of_classes", "path_of", "raw"]

ALIASES = {
    "_operator": "operator",
    "posix": "os",
    "nt": "os",
    "_io": "io",
    "_functools": "functools",
    "_asyncio": "asyncio",
}
STDLIB = tuple(str(Path(p)) for p in {sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")} if p)
INSTALLED = ("site-packages", "dist-packages")


def is_library(module: str) -> bool:
    """True for modules of the interpreter, of installed packages, and those built in."""
    top = module.split(".")[0]
    if FAMILIES.match(top) or top in sys.stdlib_module_names or top in sys.builtin_module_names or top == "groundwire":
        return True
    found = sys.modules.get(module)
    file = getattr(found, "__file__", None)
    if not isinstance(file, str):
        return False
    return any(part in INSTALLED for part in Path(file).parts) or file.startswith(STDLIB)


def path_of(thing: object) -> str:
    """The shortest dotted name under which a function or class of a library can be imported."""
    module = getattr(thing, "__module__", None) or "builtins"
    name = getattr(thing, "__qualname__", None) or getattr(thing, "__name__", "") or type(thing).__name__
    if not isinstance(module, str) or not isinstance(name, str):
        return "unknown"
    module = ALIASES.get(module, module)
    parts, first = module.split("."), name.split(".")[0]
    for size in range(1, len(parts)):
        outer = sys.modules.get(".".join(parts[:size]))
        if outer is not None and "." not in name and vars(outer).get(first) is thing:
            return f"{'.'.join(parts[:size])}.{name}"
    return f"{module}.{name}" if name != "open" else "builtins.open"


def line_of_classes(thing: object) -> list[str]:
    """Dotted names of an object's class and of those it descends from."""
    return [f"{c.__module__}.{c.__qualname__}" for c in type(thing).__mro__]


def raw(thing: object, name: str) -> object:
    """An attribute that is stored, not one that is computed; None if there is none.

    Slots and pydantic's private attributes are stored too.
    """
    stored = _stored(thing)
    if name in stored:
        return stored[name]
    for cls in type(thing).__mro__:
        held = cls.__dict__.get(name)
        if isinstance(held, types.MemberDescriptorType):
            try:
                return held.__get__(thing)
            except AttributeError:
                return None
        if held is not None:
            return None if isinstance(held, property) else held
    return None


def _stored(thing: object) -> Mapping[str, object]:
    # past any __getattribute__ of the object's own class, which would be its code
    body = _held(thing, "__dict__")
    return {**_held(thing, "__pydantic_private__"), **body}


def _held(thing: object, name: str) -> Mapping[str, object]:
    try:
        held: object = object.__getattribute__(thing, name)
    except AttributeError:
        return {}
    return cast("dict[str, object]", held) if isinstance(held, dict) else {}
