"""What of a configured pytest belongs to its process, and is made anew where many commands go on from there."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import _pytest.assertion.rewrite
import _pytest.faulthandler

rewrite: Any = _pytest.assertion.rewrite
assertstate_key: Any = getattr(rewrite, "assertstate_key", None)

OWN = ("_pytest", "_gw_")


def has_strangers(manager: Any) -> bool:
    """True where plugins are registered that are not pytest's own: what they keep may belong to one process."""
    plugins = [plugin for plugin in manager.get_plugins() if plugin is not None]
    names = (p.__name__ if isinstance(p, ModuleType) else type(p).__module__ for p in plugins)
    return not all(name.partition(".")[0].startswith(OWN) for name in names)


def rewrite_in_advance(config: Any, names: Iterable[str]) -> None:
    """Rewrites the assertions of modules that no candidate may change, once for all of them; runs nothing of theirs.

    Args:
        config: of pytest, which has read its options.
        names: paths of files below the current folder.
    """
    hook = _assertion_hook(config)
    if hook is None:
        return
    original, kept = rewrite._rewrite_test, dict[str, tuple[bytes, CodeType]]()
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # what would be warned of then is rewritten then
        for path in (Path.cwd() / name for name in names if name.endswith(".py")):
            try:
                if hook._should_rewrite(path.stem, path, config.stash[assertstate_key]):
                    kept[str(path)] = path.read_bytes(), original(path, config)[1]
            except (Warning, SyntaxError, ValueError, RecursionError, MemoryError, OSError):
                continue

    def rewrite_test(fn: Path, config: Any) -> tuple[os.stat_result, CodeType]:
        known = kept.get(str(fn))
        if known is not None and known[0] == fn.read_bytes():
            return fn.stat(), known[1]
        return original(fn, config)

    rewrite._rewrite_test = rewrite_test


def _assertion_hook(config: Any) -> Any:
    state = config.stash.get(assertstate_key, None) if hasattr(config, "stash") else None
    return state.hook if state is not None else None


class Conftests:
    """The conftests that pytest loads before it is configured, put off until the candidate is there.

    Args:
        manager: pytest's of plugins; loads none of them until `load`.
    """

    def __init__(self, manager: Any) -> None:
        self._load = manager._set_initial_conftests
        self._calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = []
        manager._set_initial_conftests = self._put_off

    @classmethod
    def put_off(cls, manager: Any) -> Conftests | None:
        """None with a version of pytest that loads them in another way."""
        return cls(manager) if hasattr(manager, "_set_initial_conftests") else None

    def _put_off(self, *args: Any, **options: Any) -> None:
        self._calls.append((args, options))

    def load(self) -> None:
        """Loads them."""
        for args, options in self._calls:
            self._load(*args, **options)


class Streams:
    """The descriptors and the clock of a pytest that is configured, and about to collect.

    Args:
        config: its configuration; captures nothing from now on.
    """

    def __init__(self, config: Any) -> None:
        self._manager = config.pluginmanager
        self._stash = getattr(config, "stash", {})
        self._capture = self._manager.getplugin("capturemanager")
        if self._capture is not None:
            self._capture.stop_global_capturing()

    def renew(self) -> None:
        """Captures again, in a process with streams of its own; as pytest does before it is configured."""
        if self._capture is not None:
            self._capture.start_global_capturing()
            self._capture.suspend_global_capture()
        key = getattr(_pytest.faulthandler, "fault_handler_stderr_fd_key", None)
        if key is not None and key in self._stash:
            os.dup2(2, self._stash[key], inheritable=False)
        reporter = self._manager.getplugin("terminalreporter")
        for name in ("_session_start", "_sessionstarttime"):
            began = getattr(reporter, name, None)
            if began is not None:
                setattr(reporter, name, _now(began))


def _now(began: Any) -> Any:
    """The present, in the form that this version of pytest gives to the time of its beginning."""
    import _pytest.timing as timing

    return timing.time() if isinstance(began, float) else type(began)()
