"""Runs unittest as `python -m unittest` would, and reports each case."""

# os.path on purpose: pathlib costs time to import, and tests like to fake it
from __future__ import annotations

import re
import sys
import unittest
from collections.abc import Iterator
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from groundwire.tools.inside.controls import Controls
    from groundwire.tools.inside.lines import Lines
    from groundwire.tools.inside.recorder import (
        CaseTimeout,
        Recorder,
        controls_of,
        crossing_of,
        explain,
        origin_of,
        read_settings,
    )
else:
    from _gw_lines import Lines
    from _gw_recorder import CaseTimeout, Recorder, controls_of, crossing_of, explain, origin_of, read_settings

_RANK = {"": 0, "passed": 1, "skipped": 2, "xfailed": 3, "error": 4, "failed": 5}
_FIXTURE = re.compile(r"(setUpClass|setUpModule|tearDownClass|tearDownModule) \((.+)\)")


def prepare() -> Any:
    """Makes ready what runs the arguments and returns the exit status."""
    recorder = Recorder()
    settings = read_settings()
    lines = Lines(recorder, settings["lines"]) if settings["lines"] is not None else None

    controls = controls_of(recorder)
    crossing = crossing_of(settings, recorder, controls)

    def run(arguments: list[str]) -> int:
        sys.argv[0] = "python -m unittest"
        if crossing is not None:
            crossing.start()
        if controls is not None:
            controls.install()
        if lines is not None:
            lines.start()
        status = _run(_Session(recorder, lines, controls), [sys.argv[0], *arguments])
        if recorder.waits:  # it never came to the project's code; who waited begins by itself
            return status
        recorder.look_for_copies(settings["own"])
        recorder.emit("exit", status=status)
        return status

    return run


def _run(session: _Session, argv: list[str]) -> int:
    try:
        program = unittest.main(
            module=None,
            argv=argv,
            testRunner=type("Runner", (_Runner,), {"session": session}),  # unittest makes an instance of a class only
            testLoader=_Loader(session),
            exit=False,
        )
    except SystemExit as error:
        if not session.began:
            session.recorder.emit("usage")
        return error.code if isinstance(error.code, int) else 1
    except ImportError as error:
        if session.began:
            raise
        session.recorder.emit("usage")
        print(f"error: {error}", file=sys.stderr)
        return 1
    result = program.result
    if session.named_nothing:
        session.recorder.emit("usage")
    if result.testsRun == 0 and not result.skipped and result.wasSuccessful():
        return 5
    return 0 if result.wasSuccessful() and not session.broken else 1


class _Session:
    """What is known while it runs."""

    def __init__(self, recorder: Recorder, lines: Lines | None, controls: Controls | None) -> None:
        self.controls = controls
        self.recorder = recorder
        self.lines = lines
        self.began = False
        self.broken = False
        self.named_nothing = False
        self.cases: list[unittest.TestCase] = []
        self.index: dict[int, int] = {}
        self.ended: dict[int, str] = {}

    def begin(self, suite: Any) -> None:
        """Says what is going to run."""
        self.began = True
        self.cases = [c for c in _flat(suite) if not _is_stand_in(c)]
        self.index = {id(c): i for i, c in enumerate(self.cases)}
        self.recorder.emit("collected", ids=[c.id() for c in self.cases], deselected=0)

    def failed_to_load(self, name: str, error: BaseException) -> None:
        """A test module that can't be imported; one that is not there at all is the command line's fault."""
        if self.named_nothing:
            return
        self.broken = True
        message = explain(error, error.__traceback__, self.recorder.root, skip=(unittest.loader.__file__,))
        self.recorder.emit("broken", id=name, m=message)

    def pass_over(self, description: str, reason: str) -> None:
        """A class or module whose set-up skips everything in it."""
        found = _FIXTURE.fullmatch(description)
        if found is None:
            return
        for number, case in enumerate(self.cases):
            kind = type(case)
            inside = (f"{kind.__module__}.{kind.__qualname__}", kind.__module__)
            if number not in self.ended and found[2] in inside:
                self.skip(number, reason)

    def skip(self, number: int, reason: str) -> None:
        """A case that is skipped without having started."""
        self.ended[number] = "skipped"
        self.recorder.emit("start", i=number)
        self.recorder.emit("case", i=number, r="skipped", m=reason, d=0.0)


def _flat(suite: Any) -> Iterator[Any]:
    for item in suite:
        if isinstance(item, unittest.BaseTestSuite):
            yield from _flat(item)
        else:
            yield item


def _is_stand_in(case: Any) -> bool:
    return type(case).__name__ in ("_FailedTest", "ModuleSkipped")


def _exists(name: str) -> bool:
    """True if the module part of a dotted name can be found, without importing anything."""
    path: list[str] | None = None
    parts = name.split(".")
    for size in range(1, len(parts) + 1):
        spec = PathFinder.find_spec(".".join(parts[:size]), path)
        if spec is None:
            return False
        if spec.submodule_search_locations is None:
            return True
        path = list(spec.submodule_search_locations)
    return True


class _Loader(unittest.TestLoader):
    """A module that raises or exits while it is imported is a broken case, not the end of the run."""

    def __init__(self, session: _Session) -> None:
        super().__init__()
        self._session = session

    def loadTestsFromNames(self, names: Any, module: Any = None) -> Any:  # noqa: N802
        """See `unittest.TestLoader`; until here all is the same for every candidate."""
        self._session.recorder.wait()
        return super().loadTestsFromNames(names, module)

    def discover(self, *args: Any, **options: Any) -> Any:
        """See `unittest.TestLoader`; until here all is the same for every candidate."""
        self._session.recorder.wait()
        return super().discover(*args, **options)

    def loadTestsFromName(self, name: str, module: Any = None) -> Any:  # noqa: N802
        """See `unittest.TestLoader`."""
        alarm = self._session.recorder.alarm
        self._session.recorder.emit("collecting", id=name)
        if not _exists(name):
            self._session.named_nothing = True
        alarm.set()
        alarm.enter()
        try:
            return super().loadTestsFromName(name, module)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            self._session.failed_to_load(name, error)
            return self.suiteClass([])
        finally:
            alarm.leave()
            alarm.clear()


class _Runner(unittest.TextTestRunner):
    """A text runner that says what it is going to run."""

    session: _Session

    def _makeResult(self) -> Any:  # noqa: N802
        result = _Result(self.stream, self.descriptions, self.verbosity)
        result.session = self.session
        if self.session.controls is not None:
            self.failfast = False  # what is turned has to fail
        return result

    def run(self, test: Any) -> Any:
        """See `unittest.TextTestRunner`."""
        self.session.begin(test)
        recorder = self.session.recorder
        recorder.alarm.set()
        recorder.alarm.enter()
        try:
            result = super().run(test)
        except CaseTimeout as error:
            recorder.emit("broken", id="(set-up)", m=explain(error, error.__traceback__, recorder.root))
            raise
        finally:
            recorder.alarm.leave()
            recorder.alarm.clear()
        stopped = "stopped early" if result.shouldStop else ""
        recorder.emit("finish", stopped=stopped)
        return result


class _Result(unittest.TextTestResult):
    """Folds what happens to a case into one outcome."""

    session: _Session
    _number: int | None = None
    _worst: tuple[str, str, str] = ("", "", "")
    _began_at = 0.0

    def startTest(self, test: Any) -> None:  # noqa: N802
        """See `unittest.TestResult`."""
        super().startTest(test)
        self._number = self.session.index.get(id(test), -1)
        self._worst = ("", "", "")
        if not _is_stand_in(test):
            self.session.recorder.emit("start", i=self._number)
        if self.session.lines is not None:
            self.session.lines.begin(self._number)
        self._began_at = self.session.recorder.now()
        if self.session.controls is not None:
            self.session.controls.begin(str(test.id()))
            self.session.controls.enter()
        self.session.recorder.alarm.set(case=True)

    def stopTest(self, test: Any) -> None:  # noqa: N802
        """See `unittest.TestResult`."""
        if self._number is None:
            super().stopTest(test)
            return
        recorder = self.session.recorder
        rang = recorder.alarm.clear()
        if self.session.lines is not None:
            self.session.lines.end()
        result, message, origin = self._worst
        if self.session.controls is not None:
            self.session.controls.end(self._number, result)
        if not _is_stand_in(test):
            self.session.ended[self._number] = result
            extra: dict[str, Any] = {"late": True} if rang else {}
            if origin and result in ("skipped", "xfailed"):
                extra["w"] = origin
            seconds = round(recorder.now() - self._began_at, 6)
            recorder.emit("case", i=self._number, r=result or "unrun", m=message, d=seconds, **extra)
            if rang and recorder.stops:
                self.stop()
        self._number = None
        recorder.alarm.set()  # set-up and tear-down of classes and modules run between cases
        super().stopTest(test)

    def _note(self, result: str, error: Any = None, message: str = "") -> None:
        origin = ""
        controls = self.session.controls
        if error is not None and controls is not None:
            controls.raised(error[1], error[2])
        if error is not None and not (controls is not None and controls.turning):
            root = self.session.recorder.root
            message = explain(error[1], error[2], root, skip=(unittest.case.__file__,))
            origin = origin_of(error[2], root)
        if _RANK[result] > _RANK[self._worst[0]]:
            self._worst = (result, message, origin)

    def _exc_info_to_string(self, err: Any, test: Any) -> str:
        """See `unittest.TestResult`; nobody reads how a case fails that is turned."""
        if self.session.controls is not None and self.session.controls.turning:
            return ""
        inner: Any = super()
        return str(inner._exc_info_to_string(err, test))

    def _is_fixture(self, test: Any) -> bool:
        return type(test).__name__ == "_ErrorHolder"

    def addSuccess(self, test: Any) -> None:  # noqa: N802
        """See `unittest.TestResult`."""
        super().addSuccess(test)
        self._note("passed")

    def addError(self, test: Any, err: Any) -> None:  # noqa: N802
        """See `unittest.TestResult`."""
        super().addError(test, err)
        if _is_stand_in(test):
            error = getattr(test, "_exception", err[1])
            self.session.failed_to_load(getattr(test, "_testMethodName", "(import)"), error)
        elif self._is_fixture(test):
            message = explain(err[1], err[2], self.session.recorder.root, skip=(unittest.suite.__file__,))
            self.session.recorder.emit("broken", id=str(test.description), m=message)
        else:
            self._note("error" if not isinstance(err[1], CaseTimeout) else "failed", err)

    def addFailure(self, test: Any, err: Any) -> None:  # noqa: N802
        """See `unittest.TestResult`."""
        super().addFailure(test, err)
        self._note("failed", err)

    def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:  # noqa: N802
        """See `unittest.TestResult`."""
        super().addSubTest(test, subtest, err)
        if err is not None:
            self._note("failed", err)

    def addSkip(self, test: Any, reason: str) -> None:  # noqa: N802
        """See `unittest.TestResult`."""
        super().addSkip(test, reason)
        if self._is_fixture(test):
            self.session.pass_over(str(test.description), reason)
        elif _is_stand_in(test):
            self.session.recorder.emit("passed_over", id=str(test), m=reason)
        elif self._number is None:  # Python 3.12.1 skips without having started
            self.session.skip(self.session.index.get(id(test), -1), reason)
        elif type(test).__name__ != "_SubTest":
            self._note("skipped", message=reason)

    def addExpectedFailure(self, test: Any, err: Any) -> None:  # noqa: N802
        """See `unittest.TestResult`."""
        super().addExpectedFailure(test, err)
        self._note("xfailed", err)

    def addUnexpectedSuccess(self, test: Any) -> None:  # noqa: N802
        """See `unittest.TestResult`."""
        super().addUnexpectedSuccess(test)
        self._note("failed", message="It was expected to fail, and passed.")
