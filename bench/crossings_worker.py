"""Runs one project's tests with pytest, once as they are or with the code in another process, and notes what crossed.

Started by `bench_crossings.py`: `crossings_worker.py SETTINGS OUT [PYTEST ARGUMENTS…]`, in the project's folder.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

SUPPORT = os.environ["GROUNDWIRE_SUPPORT"]


CASE_S = 20


class TooLong(BaseException):
    """A case did not end."""


def type_of(thing: object) -> Any:
    """Its class."""
    return type(thing)


def _ring(_number: int, _frame: Any) -> None:
    signal.alarm(2)
    raise TooLong(f"did not end within {CASE_S} s")


Flow = Generator[None, Any, Any]


class Unfit(BaseException):
    """Ends the case that needs more than can be sent, and no other one."""


class Notes:
    """A plugin: how each case ended, why it could not be run apart, and what crossed in it."""

    def __init__(self) -> None:
        self.cases: dict[str, dict[str, Any]] = {}
        self.now = "collection"
        self.unfit: dict[str, str] = {}
        self.used: dict[str, set[str]] = {}

    def use(self, what: str) -> None:
        """Something crossed."""
        self.used.setdefault(self.now, set()).add(what)

    def not_fit(self, why: str) -> None:
        """The case can't be run apart."""
        self.unfit.setdefault(self.now, why)
        raise Unfit(why)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_make_collect_report(self, collector: Any) -> Flow:
        """One file."""
        self.now = f"collecting {collector.nodeid.partition('::')[0]}"
        report: Any = yield
        if report.failed:
            self.cases[self.now] = {"outcome": "failed", "why": str(report.longreprtext)[-300:]}
        self.now = "collection"
        return report

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: Any) -> Flow:
        """One case."""
        self.now = item.nodeid
        signal.alarm(CASE_S)
        result: Any = yield
        signal.alarm(0)
        self.now = "between"
        return result

    def pytest_runtest_logreport(self, report: Any) -> None:
        """One phase of a case."""
        known = self.cases.get(report.nodeid)
        if known is None or (report.outcome != "passed" and known["outcome"] == "passed"):
            why = str(report.longreprtext)[-400:] if report.failed else ""
            self.cases[report.nodeid] = {"outcome": report.outcome, "why": why}

    def rows(self) -> list[dict[str, Any]]:
        """A row a case."""
        return [
            {"id": name, **row, "unfit": self.unfit.get(name, ""), "used": sorted(self.used.get(name, ()))}
            for name, row in self.cases.items()
        ]


def watched(apart: Any, notes: Notes) -> None:
    """Notes every kind of crossing of this conversation."""
    ask, instance, error = apart.ask, apart.stubs.instance, apart.stubs._error
    back, head = apart._called_back, apart._read_head

    def asking(verb: str, *fields: Any) -> Any:
        if verb in ("set", "del", "patch", "unpatch"):
            notes.use("replaced names")
        elif verb == "await":
            notes.use("async")
        elif verb in ("copy", "pickle", "unpickle", "signature", "dir", "isinstance", "issubclass", "member"):
            notes.use("copies, pickles, signatures, instance checks")
        return ask(verb, *fields)

    def an_instance(value: Any, decode: Callable[[Any], Any]) -> Any:
        made = instance(value, decode)
        kind: Any = type_of(made)
        if issubclass(kind, BaseException):
            return made
        name, module = kind.__name__, kind.__module__
        if name in ("function", "builtin_function_or_method", "method", "method_descriptor", "partial"):
            notes.use("functions as objects" if name != "function" else "functions")
        elif hasattr(kind, "__next__"):
            notes.use("iterators and generators")
        else:
            notes.use("classes and their objects" if module != "builtins" else "other built-in objects")
        return made

    def an_error(number: int, kind: Any, args: Any, state: Any) -> Any:
        notes.use("exceptions of the project" if kind.__module__ != "builtins" else "built-in exceptions")
        return error(number, kind, args, state)

    def called_back(*given: Any) -> None:
        notes.use("call-backs")
        back(*given)

    def read_head(given: Any) -> Any:
        changes, _gone, out, err, warned = given
        for what, crossed in (("changed containers", changes), ("output", out or err), ("warnings", warned)):
            if crossed:
                notes.use(what)
        return head(given)

    apart.ask, apart.stubs.instance, apart.stubs._error = asking, an_instance, an_error
    apart._called_back, apart._read_head = called_back, read_head
    world = apart._world
    changes = world.changes

    def changed(encode: Callable[[Any], Any]) -> Any:
        before = bool(world._known)
        found = changes(encode)
        if found and before and ("cwd" in found or "argv" in found or "environ" in found):
            notes.use("variables, folder, arguments")
        return found

    world.changes = changed


def main() -> int:
    """Runs and writes rows."""
    settings = json.loads(Path(sys.argv[1]).read_text())
    notes = Notes()
    sys.path[:0] = settings["path"]
    if settings["files"]:
        sys.path.insert(0, SUPPORT)
        ours: Any = importlib.import_module("_gw_crossing")
        sys.path.pop(0)
        peer = ours.Spawned(SUPPORT)
        root = Path.cwd().resolve()
        kept = {root / file for file in settings["files"]}
        apart = ours.Crossing(
            [str(file.relative_to(root)) for file in root.rglob("*.py") if file not in kept], [], root=str(root),
            peer=peer, unfit=notes.not_fit, own_word=lambda: notes.use("own equality"),
        )  # fmt: skip
        watched(apart, notes)
        apart.start()
    signal.signal(signal.SIGALRM, _ring)
    status = pytest.main(sys.argv[3:], plugins=[notes])
    Path(sys.argv[2]).write_text(json.dumps(notes.rows()))
    return int(status)


if __name__ == "__main__":
    os._exit(main())
