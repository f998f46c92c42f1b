"""The forms by name: each module of `forms/` and `methods/` holds one, and is named as it is."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

from groundwire.core._errors import ConfigError
from groundwire.core._text import one_of

if TYPE_CHECKING:
    from groundwire.training._schema import Form


PACKAGES = ("groundwire.training.forms", "groundwire.training.methods")


def form_names() -> tuple[str, ...]:
    """The names of all forms, those that trainers read first. None of them is imported."""
    return tuple(name for package in PACKAGES for name in _modules(package))


def form(name: str) -> Form:
    """The form of that name.

    Raises:
        ConfigError: there is none.
    """
    check_name(name)
    for package in PACKAGES:
        # looked up, never put together from what was given
        if name in _modules(package):
            return import_module(f"{package}._{name}").FORM
    raise AssertionError(name)


def check_name(name: str) -> None:
    """Refuses what is no form's name, and imports none for it.

    Raises:
        ConfigError: there is none of that name.
    """
    if name not in form_names():
        raise ConfigError(f"There is no format {name!r}.", do=one_of(name, form_names()))


def _modules(package: str) -> list[str]:
    return sorted(module.name.removeprefix("_") for module in iter_modules(import_module(package).__path__))
