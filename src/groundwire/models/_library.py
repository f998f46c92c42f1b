"""Loads LiteLLM when the first call is made, quietly, and without letting it read what it should not."""

from __future__ import annotations

import asyncio
import importlib
import logging
import os
import sys
from typing import Any

from groundwire.core._errors import ConfigError

_SETTINGS = {
    # no fetch of a price list at import: it takes 11 s offline, and prices must not change under a run
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    # its development mode loads a .env found above its own folder, and a project's .venv lies in the very project whose
    # code is not trusted: a .env there could send the user's key to another host
    "LITELLM_MODE": "PRODUCTION",
    "LITELLM_DISABLE_BUG_REPORT_LINK": "true",
}

_loaded: list[Any] = []
"""The module, once its import is complete."""


async def loaded_litellm() -> Any:
    """As `load_litellm`, with the import, which takes seconds, in a thread."""
    if _loaded:
        return _loaded[0]
    return await asyncio.to_thread(load_litellm)


def load_litellm() -> Any:
    """The `litellm` module, configured. What the user has set in the environment wins.

    Returns:
        The module, untyped: its own annotations don't hold under strict checking.

    Raises:
        ConfigError: it is not installed.
    """
    for name, value in _SETTINGS.items():
        os.environ.setdefault(name, value)
    first = "litellm" not in sys.modules
    try:
        litellm: Any = importlib.import_module("litellm")
    except ImportError as error:
        raise ConfigError(
            f"A model can't be called: {error.name or 'litellm'} is not installed.",
            do='pip install "groundwire[llm]"',
        ) from error
    if first:
        litellm.suppress_debug_info = True
        litellm.telemetry = False  # versions before 1.83
        log = logging.getLogger("LiteLLM")
        if log.level == logging.NOTSET:
            log.setLevel(logging.CRITICAL)
    _loaded[:] = [litellm]
    return litellm


async def close_clients() -> None:
    """Closes the HTTP clients LiteLLM keeps open; the next call opens new ones.

    They are shared by the whole process, so this is for the end of a program or an event loop, when no call is in
    flight. Does nothing where LiteLLM was never loaded.
    """
    litellm: Any = sys.modules.get("litellm")
    if litellm is None:
        return
    await litellm.close_litellm_async_clients()
    litellm.in_memory_llm_clients_cache.flush_cache()
