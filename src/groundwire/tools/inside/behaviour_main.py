"""Makes calls of the project's functions and notes how each ends: what kind of value it returns, or what it raises."""

# os.path on purpose: pathlib costs time to import, and code under test may replace it
# ruff: noqa: PTH109, PTH118
from __future__ import annotations

import os
import signal
import sys
from types import FrameType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from groundwire.tools.inside.recorder import CaseTimeout, read_settings
else:
    from _gw_recorder import CaseTimeout, read_settings

CPU_S, WALL_S = 0.2, 1.0
HANGS = 3
"""After so many calls that did not end the others are given up too."""
NAME_CHARS = 60


def prepare() -> Any:
    """Reads what is to be called before any code of the project can be imported.

    Returns:
        What makes the calls and returns the exit status.
    """
    settings = read_settings()
    notes = _Notes(os.path.join(os.environ["GROUNDWIRE_OUT"], "behaviour.txt"))

    def run(_arguments: list[str]) -> int:
        roots: list[str] = settings["roots"]
        sys.path[:0] = [os.path.join(os.getcwd(), root) for root in roots]
        imports: list[list[str]] = settings["imports"]
        calls: list[tuple[int, str]] = settings["calls"]
        worlds = [_world(statements) for statements in imports]
        hangs = 0
        for place, call in calls:
            ending = _ending(call, worlds[place]) if hangs < HANGS else "hangs"
            hangs += ending == "hangs"
            notes.add(ending)
        return 0

    return run


class _Notes:
    """One line a call, written at once, so that a call which ends the process is the first without a line."""

    def __init__(self, path: str) -> None:
        self._write = os.write
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def add(self, ending: str) -> None:
        self._write(self._file, f"{ending}\n".encode("utf-8", "replace"))


def _world(imports: list[str]) -> dict[str, Any]:
    """The names that a test file imports; a failing import leaves its names out, so that the calls raise NameError."""
    world: dict[str, Any] = {"__name__": "__groundwire__"}
    for statement in imports:
        try:
            _limited(lambda text=statement: exec(text, world))
        except BaseException:
            continue
    return world


def _ending(call: str, world: dict[str, Any]) -> str:
    try:
        value = _limited(lambda: eval(call, world))
    except CaseTimeout:
        return "hangs"
    except BaseException as error:
        return f"raises {_name(error)}"
    return f"returns {_name(value)}"


def _name(value: object) -> str:
    name = str(type(value).__name__)
    return "".join(c for c in name[:NAME_CHARS] if c.isidentifier() or c.isdigit())


def _limited(action: Any) -> Any:
    signal.signal(signal.SIGPROF, _ring)
    signal.signal(signal.SIGALRM, _ring)
    signal.setitimer(signal.ITIMER_PROF, CPU_S)
    signal.setitimer(signal.ITIMER_REAL, WALL_S)
    try:
        return action()
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)


def _ring(_number: int, _frame: FrameType | None) -> None:
    raise CaseTimeout("did not end")
