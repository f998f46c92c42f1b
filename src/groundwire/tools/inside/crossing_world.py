"""What tests change around the code under test, and how the other process learns of it.

Variables, the work folder and the arguments are compared before each question with what they were at first, which need
not be the same over there: a change is told, and that it was taken back. A name that tests replace in a module
that both processes have (`monkeypatch.setattr(time, "sleep", …)`, `mock.patch`) is replaced over there too; so is a
seed of `random`.
"""

# os.path on purpose: tests like to fake pathlib
# ruff: noqa: PTH100
from __future__ import annotations

import io
import os
import random
import sys
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from groundwire.tools.inside.crossing_classes import Asks
    from groundwire.tools.inside.crossing_codec import inside
else:
    from _gw_crossing_codec import inside

CURRENT_TEST = b"PYTEST_CURRENT_TEST"
OURS_ALONE = ("_pytest", "pytest", "pluggy", "_gw_", "unittest", "warnings", "importlib", "hypothesis", "linecache",
              "encodings", "logging", "doctest", "pdb", "bdb", "traceback", "tokenize", "groundwire",
              "__main__")  # fmt: skip
NOT_PASSED_ON = frozenset(
    ("stdout", "stderr", "last_type", "last_value", "last_traceback", "last_exc", "__stdout__", "__stderr__", "path",
     "modules", "meta_path", "dont_write_bytecode", "argv", "exitfunc", "displayhook", "excepthook", "ps1", "ps2",
     "unraisablehook", "_")
)  # fmt: skip


class World:
    """Watches what the tests change.

    Args:
        asks: the conversation.
        root: the work folder.
    """

    def __init__(self, asks: Asks, root: str) -> None:
        self._asks = asks
        self._root = root
        self._originals: dict[tuple[int, str], Any] = {}
        self._seen = -1
        self._getcwd = os.getcwd
        inner: Any = os.environ
        self._environ: Callable[[], Any] = lambda: inner._data
        self._at_first = self._known = self._now()
        self._watched = type("module", (_Watched,), {"groundwire": self})

    def forget(self) -> None:
        """The other process is a new one."""
        self._known = self._at_first

    def _now(self) -> dict[str, Any]:
        try:
            folder: Any = from_root(self._getcwd(), self._root)
        except OSError:  # it is gone
            folder = self._known["cwd"]
        raw = dict(self._environ())
        raw.pop(CURRENT_TEST, None)
        return {"cwd": folder, "argv": tuple(sys.argv), "environ": raw}

    def changes(self, encode: Callable[[Any], Any]) -> dict[str, Any] | None:
        """What is not as the other process last heard, encoded; None if all is."""
        if self._seen >= 0 and len(sys.modules) != self._seen:
            self.watch()
        now, known, first = self._now(), self._known, self._at_first
        if now == known:
            return None
        self._known = now
        changed = {
            what: encode(... if now[what] == first[what] else now[what])
            for what in ("cwd", "argv")
            if now[what] != known[what]
        }
        values, before, at_first = now["environ"], known["environ"], first["environ"]
        names = [name for name in {**before, **values} if values.get(name) != before.get(name)]
        if names:
            changed["environ"] = encode(tuple((os.fsdecode(n), _told(values.get(n), at_first.get(n))) for n in names))
        return changed

    def watch(self) -> None:
        """Sees from now on what is set in the modules that are loaded."""
        if self._seen < 0:
            self._at_first = self._known = self._now()
        self._seen = len(sys.modules)
        for name, module in list(sys.modules.items()):
            if type(module) is types.ModuleType and not name.partition(".")[0].startswith(OURS_ALONE):
                file = getattr(module, "__file__", None) or ""
                if not file.startswith(self._getcwd() + os.sep):
                    try:
                        module.__class__ = self._watched
                    except TypeError:
                        continue
        if getattr(random, "seed", None) is not None and not isinstance(random.seed, _Seed):
            inside(random)["seed"] = _Seed(random.seed, self._asks)

    def was_set(self, module: types.ModuleType, name: str, value: Any) -> None:
        """The tests have replaced, or put back, a name of a module."""
        key = (id(module), name)
        names = inside(module)
        if key not in self._originals:
            self._originals[key] = names.get(name, self)
            self._asks.ask("patch", module, name, value)
        elif self._originals[key] is value:
            del self._originals[key]
            self._asks.ask("unpatch", module, name)
        else:
            self._asks.ask("patch", module, name, value)

    def was_deleted(self, module: types.ModuleType, name: str) -> None:
        """The tests have taken a name out of a module that they had put there."""
        if self._originals.pop((id(module), name), None) is self:
            self._asks.ask("unpatch", module, name)


def from_root(place: str, root: str) -> str:
    """The place as the other process finds it: the work folder may lie elsewhere over there."""
    place = os.path.abspath(place)
    return os.path.relpath(place, root) if (place + os.sep).startswith(root + os.sep) else place


def _told(value: bytes | None, at_first: bytes | None) -> Any:
    """What the other process is to make of a variable: its value, None for none, `...` for what it had itself."""
    if value == at_first:
        return ...
    return None if value is None else os.fsdecode(value)


class _Watched(types.ModuleType):
    groundwire: World

    def __setattr__(self, name: str, value: Any) -> None:
        kept = name in NOT_PASSED_ON or name.startswith("__") or isinstance(value, types.ModuleType)
        if not (kept or (name == "stdin" and _is_no_double(value))):
            _world(self).was_set(self, name, value)
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        _world(self).was_deleted(self, name)
        super().__delattr__(name)


def _is_no_double(stream: Any) -> bool:
    """True for the standard input that is there anyway, or that pytest puts there."""
    return type(stream) is io.TextIOWrapper or type(stream).__module__.startswith("_pytest")


def _world(module: types.ModuleType) -> World:
    return inside(type(module))["groundwire"]


class _Seed:
    """`random.seed`, here and over there."""

    def __init__(self, real: Any, asks: Asks) -> None:
        self._real, self._asks = real, asks
        self.__doc__ = real.__doc__

    def __call__(self, *args: Any, **named: Any) -> None:
        """See `random.seed`."""
        self._real(*args, **named)
        self._asks.ask("method", random, "seed", args, tuple(named.items()))
