"""Runs doctests as `python -m doctest FILE…` would; each docstring with examples is a case."""

# os.path on purpose: pathlib costs time to import, and tests like to fake it
# ruff: noqa: PTH100, PTH113, PTH119, PTH123
from __future__ import annotations

import argparse
import doctest
import os
import re
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from groundwire.tools.inside.controls import Controls
    from groundwire.tools.inside.lines import Lines
    from groundwire.tools.inside.recorder import (
        CaseTimeout,
        Recorder,
        controls_of,
        crossing_of,
        cut,
        explain,
        read_settings,
    )
else:
    from _gw_lines import Lines
    from _gw_recorder import CaseTimeout, Recorder, controls_of, crossing_of, cut, explain, read_settings

Found = list[tuple[str, doctest.DocTest]]


def prepare() -> Any:
    """Makes ready what runs the arguments and returns the exit status."""
    recorder = Recorder()
    settings = read_settings()
    lines = Lines(recorder, settings["lines"]) if settings["lines"] is not None else None
    controls = controls_of(recorder)
    crossing = crossing_of(settings, recorder, controls)
    docstrings: dict[str, dict[str, str]] = settings["crossing"]["docstrings"] if crossing is not None else {}

    def run(arguments: list[str]) -> int:
        recorder.wait()
        if crossing is not None:
            crossing.start()
        if controls is not None:
            controls.install()
        if lines is not None:
            lines.start()
        status = _Session(recorder, lines, docstrings, controls).run(arguments)
        recorder.emit("exit", status=status)
        return status

    return run


class _Session:
    """One run.

    Args:
        recorder: where events go.
        lines: per-case coverage, if it is wanted.
        docstrings: file → qualified name → docstring, of the modules that lie in another box.
        controls: what turns cases round, if that is wanted.
    """

    def __init__(
        self, recorder: Recorder, lines: Any, docstrings: dict[str, dict[str, str]], controls: Controls | None
    ) -> None:
        self._controls = controls
        self._docstrings = docstrings
        self._recorder = recorder
        self._lines = lines

    def run(self, arguments: list[str]) -> int:
        parser = argparse.ArgumentParser(prog="python -m doctest")
        parser.add_argument("-v", "--verbose", action="store_true")
        parser.add_argument("-o", "--option", action="append", choices=list(doctest.OPTIONFLAGS_BY_NAME), default=[])
        parser.add_argument("-f", "--fail-fast", action="store_true")
        parser.add_argument("file", nargs="+")
        try:
            options = parser.parse_args(arguments)
        except SystemExit as error:
            self._recorder.emit("usage")
            return int(error.code or 0)
        gone = [f for f in options.file if not os.path.isfile(f)]
        if gone:
            self._recorder.emit("usage")
            print(f"error: no such file: {', '.join(gone)}", file=sys.stderr)
            return 2
        # under controls some are turned, and have to fail
        flags = doctest.FAIL_FAST if options.fail_fast and self._controls is None else 0
        for name in options.option:
            flags |= doctest.OPTIONFLAGS_BY_NAME[name]
        broken = 0
        found: Found = []
        for name in options.file:
            try:
                found += self._find(name)
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                broken += 1
                message = explain(error, error.__traceback__, self._recorder.root)
                self._recorder.emit("broken", id=name, m=message)
        self._recorder.emit("collected", ids=[i for i, _ in found], deselected=0)
        return self._run_all(found, flags, options.verbose) or int(broken > 0)

    def _find(self, name: str) -> Found:
        alarm = self._recorder.alarm
        self._recorder.emit("collecting", id=name)
        alarm.set()
        alarm.enter()
        try:
            if not name.endswith(".py"):
                with open(name, encoding="utf-8") as file:
                    text = file.read()
                base = os.path.basename(name)
                tests = [doctest.DocTestParser().get_doctest(text, {"__name__": "__main__"}, base, name, 0)]
            else:
                folder, file_name = os.path.split(name)
                sys.path.insert(0, os.path.abspath(folder))
                try:
                    module = __import__(file_name[:-3])
                finally:
                    del sys.path[0]
                told = self._docstrings.get(name)
                tests = doctest.DocTestFinder().find(module) if told is None else _told(module, told)
        finally:
            alarm.leave()
            alarm.clear()
        return [(f"{name}::{test.name}", test) for test in tests if test.examples]

    def _run_all(self, found: Found, flags: int, verbose: bool) -> int:
        status, stopped = 0, ""
        for number, (name, test) in enumerate(found):
            if stopped:
                break
            self._recorder.emit("start", i=number)
            if self._lines is not None:
                self._lines.begin(number)
            started = self._recorder.now()
            if self._controls is not None:
                self._controls.begin(name, test)
            result, message = self._run_one(test, flags, verbose)
            rang = self._recorder.alarm.clear()
            if self._lines is not None:
                self._lines.end()
            seconds = round(self._recorder.now() - started, 6)
            if self._controls is not None:
                self._controls.end(number, result)
            late = {"late": True} if rang else {}
            self._recorder.emit("case", i=number, r=result, m=message, d=seconds, **late)
            if result == "failed":
                status = 1
                print(f"{name}\n{message}")
                ends = flags & doctest.FAIL_FAST or (rang and self._recorder.stops)
                stopped = "stopped early" if ends else ""
        self._recorder.emit("finish", stopped=stopped)
        return status

    def _run_one(self, test: doctest.DocTest, flags: int, verbose: bool) -> tuple[str, str]:
        if all(e.options.get(doctest.SKIP, bool(flags & doctest.SKIP)) for e in test.examples):
            return "skipped", "all examples are skipped"
        said: list[str] = []
        runner = _Runner(self._controls, verbose=verbose, optionflags=flags)
        self._recorder.alarm.set(case=True)
        self._recorder.alarm.enter()
        try:
            failed, tried = runner.run(test, out=said.append)[:2]
        except CaseTimeout as error:
            return "failed", explain(error, error.__traceback__, self._recorder.root)
        finally:
            self._recorder.alarm.leave()
        if failed:
            return "failed", cut("".join(said).strip("*\n "))
        return ("passed", "") if tried else ("unrun", "")


class _Runner(doctest.DocTestRunner):
    """Says which example failed."""

    def __init__(self, controls: Controls | None, *, verbose: bool, optionflags: int) -> None:
        super().__init__(verbose=verbose, optionflags=optionflags)
        self._controls = controls

    def report_failure(self, out: Any, test: Any, example: Any, got: Any) -> None:
        """See `doctest.DocTestRunner`."""
        if self._controls is not None:
            self._controls.example_failed(example)
        super().report_failure(out, test, example, got)

    def report_unexpected_exception(self, out: Any, test: Any, example: Any, exc_info: Any) -> None:
        """See `doctest.DocTestRunner`."""
        if self._controls is not None:
            self._controls.example_failed(example)
        super().report_unexpected_exception(out, test, example, exc_info)


def _told(module: Any, texts: dict[str, str]) -> list[doctest.DocTest]:
    """The examples of a module in another box, as the base tree holds them: a candidate has no say in them."""
    tests: list[doctest.DocTest] = []
    for name, text in texts.items():
        names = {word for example in doctest.DocTestParser().get_examples(text) for word in _names(example.source)}
        known = {word: getattr(module, word) for word in names if hasattr(module, word)}
        known["__name__"] = module.__name__
        full = f"{module.__name__}.{name}" if name else module.__name__
        tests.append(doctest.DocTestParser().get_doctest(text, known, full, None, 0))
    return sorted(tests)


def _names(source: str) -> set[str]:
    return set(re.findall(r"[^\W\d]\w*", source))
