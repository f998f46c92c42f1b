"""Which lines of the project's own files each case runs."""

# os.path on purpose: pathlib costs time to import, and tests like to fake it
# ruff: noqa: PTH118
from __future__ import annotations

import os
import sys
import threading
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from groundwire.tools.inside.recorder import Recorder

OUTSIDE = -1
"""Stands for what ran outside of all cases: imports during collection, mostly."""


class Lines:
    """Collects executed lines, case by case: by `sys.monitoring` on Python 3.12 and later, else by `sys.settrace`.

    Args:
        recorder: where the lines go.
        files: the files that count, relative to the recorder's root.
    """

    def __init__(self, recorder: Recorder, files: list[str]) -> None:
        self._recorder = recorder
        self._names: dict[str, str | None] = {os.path.join(recorder.root, f): f for f in files}
        self._wanted = frozenset(files)
        self._case = OUTSIDE
        self._ran: dict[str, set[int]] = {}
        self._monitoring: Any = getattr(sys, "monitoring", None)
        self._tool = 0

    def start(self) -> None:
        """From here on lines are seen, in all threads."""
        if self._monitoring is None:
            threading.settrace(self._on_call)
            sys.settrace(self._on_call)
            return
        tool = next(i for i in (3, 4, 1, 5, 2) if self._monitoring.get_tool(i) is None)
        self._tool = tool
        events = self._monitoring.events
        self._monitoring.use_tool_id(tool, "groundwire")
        self._monitoring.register_callback(tool, events.PY_START, self._on_start)
        self._monitoring.register_callback(tool, events.LINE, self._on_line)
        self._monitoring.set_events(tool, events.PY_START)

    def begin(self, case: int) -> None:
        """What runs now belongs to that case."""
        self._flush()
        self._case = case
        if self._monitoring is not None:
            self._monitoring.restart_events()

    def end(self) -> None:
        """What runs now belongs to no case."""
        self.begin(OUTSIDE)

    def _flush(self) -> None:
        ran, self._ran = self._ran, {}
        self._recorder.emit_lines(self._case, {name: sorted(lines) for name, lines in ran.items()})

    def _name(self, filename: str) -> str | None:
        try:
            return self._names[filename]
        except KeyError:
            path = os.path.normpath(os.path.join(self._recorder.root, filename))
            name = path[len(self._recorder.root) + 1 :]
            known = name if name in self._wanted and path.startswith(self._recorder.root + os.sep) else None
            self._names[filename] = known
            return known

    def _on_call(self, frame: FrameType, event: str, argument: object) -> Any:
        name = self._name(frame.f_code.co_filename)
        if name is None:
            return None

        def on_line(inner: FrameType, event: str, argument: object) -> Any:
            if event == "line":
                self._ran.setdefault(name, set()).add(inner.f_lineno)
            return on_line

        return on_line

    def _on_start(self, code: CodeType, _offset: int) -> Any:
        if self._name(code.co_filename) is not None:
            self._monitoring.set_local_events(self._tool, code, self._monitoring.events.LINE)
        return self._monitoring.DISABLE

    def _on_line(self, code: CodeType, line: int) -> Any:
        name = self._name(code.co_filename)
        if name is not None:
            self._ran.setdefault(name, set()).add(line)
        return self._monitoring.DISABLE
