"""The engines of this process: equal options share one, who is the last to leave closes it, and its end closes all."""

from __future__ import annotations

import atexit
import importlib
import threading
from functools import cache

from groundwire.models.vllm_engine._engine import SharedEngine
from groundwire.models.vllm_engine._options import EngineOptions

_engines: dict[EngineOptions, SharedEngine] = {}
_lock = threading.Lock()


def engine_for(options: EngineOptions, user: object) -> SharedEngine:
    """The engine of this process for these options; one that has died is replaced.

    Args:
        options: which model, and how.
        user: who uses it until `leave_engine`.
    """
    with _lock:
        _close_in_the_end()
        engine = _engines.get(options)
        if engine is not None and not engine.is_alive:
            _engines.pop(options).close()
            engine = None
        if engine is None:
            engine = _engines[options] = SharedEngine(options)
        engine.users.add(id(user))
        return engine


def leave_engine(engine: SharedEngine, user: object) -> None:
    """Says that `user` is done with it; the last one's word closes it."""
    with _lock:
        engine.users.discard(id(user))
        if engine.users:
            return
        if _engines.get(engine.options) is engine:
            del _engines[engine.options]
    engine.close()


def close_engines() -> None:
    """Closes every engine of this process; the next call starts a new one."""
    with _lock:
        engines = list(_engines.values())
        _engines.clear()
    for engine in engines:
        engine.close()


@cache
def _close_in_the_end() -> None:
    # what was registered last is called first, and multiprocessing waits at its turn for the engine's processes to end
    importlib.import_module("multiprocessing.util")
    atexit.register(close_engines)
