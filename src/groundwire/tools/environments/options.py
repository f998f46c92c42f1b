"""The options of a world's name, as they are written on a command line."""

from __future__ import annotations

from groundwire.errors import ConfigError

__all__ = ["options_in"]


def options_in(text: str, *, between: str = "&") -> dict[str, str]:
    """`a=1&b=x` as a dictionary.

    Args:
        text: what was written; it may be empty.
        between: what stands between two options.

    Raises:
        ConfigError: an option has no value, or stands there twice.
    """
    found: dict[str, str] = {}
    for part in filter(None, text.split(between)):
        key, equals, value = (each.strip() for each in part.partition("="))
        if not key.isidentifier() or not equals or not value:
            raise ConfigError(f"An option of a world is name=value, and this is not: {part!r:.80}.")
        if key in found:
            raise ConfigError(f"The option {key} of a world is given twice.")
        found[key] = value
    return found
