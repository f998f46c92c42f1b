"""The report plugin: what pytest collected, deselected and ran, and how each case ended.

Registered before any other plugin and before any code of the project. Works with pytest 7 and later.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Generator, Mapping
from importlib import metadata
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import _pytest.runner
import pytest

if TYPE_CHECKING:
    from groundwire.tools.inside.controls import Controls
    from groundwire.tools.inside.crossing import Crossing
    from groundwire.tools.inside.fixed_files import FixedFiles
    from groundwire.tools.inside.lines import Lines
    from groundwire.tools.inside.pytest_head_start import Conftests, Streams, has_strangers, rewrite_in_advance
    from groundwire.tools.inside.pytest_outcomes import BAD, RANK, Canary, Phase, result_of, unique, watched
    from groundwire.tools.inside.recorder import CaseTimeout, Recorder, cut, explain, file_of, leave_out_middle
else:
    from _gw_pytest_head_start import Conftests, Streams, has_strangers, rewrite_in_advance
    from _gw_pytest_outcomes import BAD, RANK, Canary, Phase, result_of, unique, watched
    from _gw_recorder import CaseTimeout, cut, explain, file_of, leave_out_middle

_ALONE: tuple[tuple[str, Any], ...] = (
    ("numprocesses", 0),
    ("dist", "no"),
    ("tx", []),
    ("distload", False),
    ("no_cov", True),
)
"""Options of pytest-xdist and pytest-cov that keep all cases in this process, and leave our tracing alone."""
_SILENCED: Mapping[str, tuple[tuple[str, Mapping[str, Any]], ...]] = {
    "pytest_cov": (
        ("--cov", {"nargs": "?", "const": True, "action": "append"}),
        *((name, {"action": "append"}) for name in ("--cov-report", "--cov-config", "--cov-context")),
        *((name, {}) for name in ("--cov-fail-under", "--cov-precision")),
        *((name, {"action": "store_true"}) for name in ("--no-cov", "--no-cov-on-fail", "--cov-append", "--cov-branch",
                                                        "--cov-reset")),
    ),
    "xdist": (
        ("-n", {"dest": "numprocesses"}), ("--numprocesses", {}), ("--maxprocesses", {}), ("--dist", {}),
        ("--tx", {"action": "append"}),
    ),
    "pytest_timeout": (("--timeout", {}), ("--timeout-method", {}), ("--session-timeout", {})),
    "pytest_html": (("--html", {}), ("--self-contained-html", {"action": "store_true"})),
}  # fmt: skip
"""Module of a plugin → its options that have no say in what passes, or that are switched off here anyhow."""
_ENDS_THE_RUN = (KeyboardInterrupt, SystemExit, CaseTimeout, pytest.exit.Exception)
Flow = Generator[None, Any, None]
_run_protocol = _pytest.runner.runtestprotocol
ENOUGH = 12
"""Cases, from all over those that failed on the base tree, that a narrow run sees fail again before it ends."""


def _unread(*_args: Any, **_named: Any) -> str:
    """How a case fails that is turned round: nobody reads it, and it takes longer than most cases."""
    return ""


def _places_of(name: str) -> list[str]:
    """The file, classes and function that a case's id names, from the outside in."""
    path, *inner = name.partition("[")[0].split("::")
    return [path, *("::".join((path, *inner[: n + 1])).partition("#")[0] for n in range(len(inner)))]


def _spread(items: list[Any], most: int) -> list[Any]:
    """So many of the items, at equal distances, before the others."""
    front = {place * len(items) // most for place in range(most)} if len(items) > most else set[int]()
    return [items[n] for n in sorted(front)] + [item for n, item in enumerate(items) if n not in front]


class Plugin:
    """One object, registered first; its hooks wrap everybody else's.

    Args:
        recorder: where events go.
        lines: per-case coverage, if it is wanted.
        declared: normalised names of the distributions whose plugins the project declares.
        fixed_files: knows the files that must stay as they are.
        first: ids of the cases that failed on the base tree.
        crossing: keeps the candidate in another process; None: it is in this one.
        controls: what turns cases round, if that is wanted.
        steered: whether a conftest may take part in what pytest does before it collects.
    """

    def __init__(
        self,
        recorder: Recorder,
        lines: Lines | None,
        declared: set[str],
        fixed_files: FixedFiles,
        crossing: Crossing | None = None,
        first: Collection[str] = (),
        controls: Controls | None = None,
        *,
        steered: bool = True,
    ) -> None:
        self._steered = steered
        self._conftests: Conftests | None = None
        self._crossing = crossing
        self._controls = controls
        self._fixed_files = fixed_files
        self._recorder = recorder
        self._lines = lines
        self._declared = declared
        self._originals = watched()
        self._index: dict[int, int] = {}
        self._deselected = 0
        self._phases: dict[int, Phase] = {}
        self._reports: list[Any] = []
        self._failed_before = frozenset(first)
        self._around = frozenset(place for name in first for place in _places_of(name))
        self._ahead: set[int] = set()
        self._enough = 0
        self._is_better = False

    @property
    def _first(self) -> frozenset[str]:
        return self._failed_before if self._recorder.quick else frozenset[str]()

    @property
    def _is_narrow(self) -> bool:
        return bool(self._first) and self._recorder.narrow

    # --- before and while collecting

    @pytest.hookimpl(tryfirst=True)
    def pytest_addoption(self, parser: Any, pluginmanager: Any) -> None:
        """Loads the plugins that the project declares, no others; of some that are missing, options are passed over."""
        for module, options in _SILENCED.items():
            if find_spec(module) is None:
                group = parser.getgroup(module)
                for name, how in options:
                    # `addoption` keeps small letters for pytest itself, where xdist has one
                    group._addoption(name, help=f"passed over: {module} is not installed", **how)
        if not self._declared:
            return
        for name in {e.name: None for d in metadata.distributions() for e in self._plugins_of(d)}:
            pluginmanager.load_setuptools_entrypoints("pytest11", name=name)

    def _plugins_of(self, distribution: Any) -> list[Any]:
        name = re.sub(r"[-_.]+", "-", str(distribution.metadata["Name"] or "")).lower()
        if name not in self._declared:
            return []
        return [e for e in distribution.entry_points if e.group == "pytest11"]

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_load_initial_conftests(self, early_config: Any) -> Flow:
        """A conftest that can't be imported is a failure of the code it imports, not of the command line."""
        early_config.known_args_namespace.no_cov = True
        if self._crossing is not None:
            self._crossing.come_first()  # before the hook of pytest that rewrites assertions
        if self._recorder.waits:
            manager = early_config.pluginmanager
            self._conftests = None if self._steered or has_strangers(manager) else Conftests.put_off(manager)
            if self._conftests is None:
                rewrite_in_advance(early_config, self._fixed_files.names())
                self._recorder.wait()
        alarm = self._recorder.alarm
        alarm.set()
        alarm.enter()
        outcome = yield
        alarm.leave()
        alarm.clear()
        if outcome.excinfo is not None:
            self._conftest_failed(outcome.excinfo[1])

    def _conftest_failed(self, error: BaseException) -> None:
        """A conftest that raised, exited or hung while it was imported; other errors are the command line's."""
        path = getattr(error, "path", None)
        if type(error).__name__ == "ConftestImportFailure":
            old_style = getattr(error, "excinfo", (None, None))  # pytest 7
            error = getattr(error, "cause", None) or old_style[1] or error
        elif not isinstance(error, (SystemExit, CaseTimeout)):
            return
        name = os.path.relpath(str(path), self._recorder.root) if path is not None else "conftest.py"
        self._recorder.emit("broken", id=name, m=explain(error, error.__traceback__, self._recorder.root))

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_cmdline_main(self, config: Any) -> Flow:
        """Cases run here, in this process, one after the other: no workers of xdist, no report of pytest-cov."""
        for option, value in _ALONE:
            if hasattr(config.option, option):
                setattr(config.option, option, value)
        if self._controls is not None:
            config.option.maxfail = 0  # what is turned has to fail
        yield

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_collection(self, session: Any) -> Flow:
        """Until here all is the same for every candidate, where nothing but pytest itself was loaded."""
        if self._recorder.waits:
            rewrite_in_advance(session.config, self._fixed_files.names())
            streams = Streams(session.config)
            self._recorder.wait()
            streams.renew()
            self._load_conftests()
        yield

    def _load_conftests(self) -> None:
        """Loads those that were put off; one that fails ends the run, as it does before pytest is configured."""
        if self._conftests is None:
            return
        alarm = self._recorder.alarm
        alarm.set()
        alarm.enter()
        try:
            self._conftests.load()
        except BaseException as error:
            alarm.leave()
            self._conftest_failed(error)
            raise pytest.UsageError(str(error)) from error
        finally:
            alarm.leave()
            alarm.clear()

    @pytest.hookimpl(tryfirst=True)
    def pytest_ignore_collect(self, collection_path: Any, config: Any) -> bool | None:
        """Passes over files without a case that failed before, where only these are wanted."""
        if not self._is_narrow or collection_path.suffix != ".py" or collection_path.name == "__init__.py":
            return None
        return None if os.path.relpath(collection_path, config.rootpath) in self._around else True

    @pytest.hookimpl(tryfirst=True)
    def pytest_pycollect_makeitem(self, collector: Any, name: str) -> list[Any] | None:
        """Passes over functions and classes in the same way."""
        return None if not self._is_narrow or f"{collector.nodeid}::{name}" in self._around else []

    @pytest.hookimpl(tryfirst=True)
    def pytest_collectstart(self, collector: Any) -> None:
        """Says which file is being read, in case it never ends."""
        if isinstance(collector, pytest.File):
            self._recorder.emit("collecting", id=str(collector.nodeid))

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_make_collect_report(self, collector: Any) -> Flow:
        """A module that exits while it is imported has failed, like one that raises."""
        alarm = self._recorder.alarm
        is_file = isinstance(collector, pytest.File)
        if is_file:
            self._fixed_files.look(str(collector.path))
            alarm.set()
            alarm.enter()
        outcome = yield
        if is_file:
            alarm.leave()
            alarm.clear()
            self._fixed_files.look(str(collector.path))
        error = outcome.excinfo[1] if outcome.excinfo is not None else None
        if isinstance(error, SystemExit):
            text = explain(error, error.__traceback__, self._recorder.root)
            outcome.force_result(pytest.CollectReport(collector.nodeid, "failed", text, []))

    @pytest.hookimpl(tryfirst=True)
    def pytest_collectreport(self, report: Any) -> None:
        """Collection errors, and files that skip themselves."""
        name = str(report.nodeid)
        if report.failed:
            self._recorder.emit("broken", id=name, m=cut(str(report.longreprtext)))
        elif report.skipped:
            self._recorder.emit("passed_over", id=name, m=cut(str(report.longreprtext)))

    def pytest_deselected(self, items: Any) -> None:
        """Counts what `-k`, `-m`, `--deselect` and the project's own hooks leave out."""
        self._deselected += len(items)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[Any]) -> Flow:
        """What failed on the base tree comes first, then what stands nearest to it; all else stays in its order."""
        yield
        names = unique(str(item.nodeid) for item in items) if self._failed_before else []
        ahead = [item for item, name in zip(items, names, strict=False) if name in self._failed_before]
        self._ahead = {id(item) for item in ahead}
        self._enough = min(ENOUGH, len(ahead)) if self._is_narrow else len(ahead)
        if self._is_narrow:
            items[:] = _spread(ahead, ENOUGH)
        elif self._first:
            rest = [item for item in items if id(item) not in self._ahead]
            items[:] = ahead + sorted(rest, key=self._distance)

    def _distance(self, item: Any) -> int:
        """Less for a case that shares its file, class or function with one that failed before."""
        return -sum(place in self._around for place in _places_of(str(item.nodeid)))

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: Any) -> None:
        """Says what is going to run."""
        self._index = {id(item): i for i, item in enumerate(session.items)}
        ids = [str(item.nodeid) for item in session.items]
        self._fixed_files.look_at_all()
        for plugin in session.config.pluginmanager.get_plugins():
            file = getattr(plugin, "__file__", None)
            if isinstance(file, str) and file.endswith("conftest.py"):
                self._fixed_files.look(file)
                self._fixed_files.steered_by(file)
        self._recorder.emit("collected", ids=ids, deselected=self._deselected)

    # --- while running

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtestloop(self, session: Any) -> Flow:
        """After the last case, checks that outcomes still mean something."""
        outcome = yield
        undecided = self._controls is not None or not session.testsfailed
        if outcome.excinfo is None and undecided and not session.config.option.collectonly:
            self._recorder.emit("checked", canary=self._canary_fails(session), replaced=self._replaced())

    def _canary_fails(self, session: Any) -> bool:
        kind: Any = Canary
        canary = kind.from_parent(session, name="groundwire_canary")
        try:
            reports = _run_protocol(canary, log=False, nextitem=None)
        except BaseException:
            return True  # somebody's hook can't cope with a strange item; that hides no failure
        return not any(r.when == "call" and r.outcome == "passed" for r in reports)

    def _replaced(self) -> dict[str, str]:
        now = watched()
        return {n: file_of(now[n], self._recorder.root) for n, f in self._originals.items() if now[n] is not f}

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: Any) -> Flow:
        """One case: set-up, call and tear-down folded into one outcome."""
        number = self._index.get(id(item), -1)
        self._phases, self._reports = {}, []
        self._recorder.emit("start", i=number)
        started = self._recorder.now()
        if self._lines is not None:
            self._lines.begin(number)
        if self._controls is not None:
            self._control(item)
        self._recorder.alarm.set(case=True)
        outcome = yield
        rang = self._recorder.alarm.clear()
        if self._lines is not None:
            self._lines.end()
        if outcome.excinfo is None:
            result, message, origin = self._fold()
            if self._controls is not None:
                self._controls.end(number, result)
            seconds = round(self._recorder.now() - started, 6)
            late = {"late": True} if rang else {}
            where = {"w": origin} if origin and result in ("skipped", "xfailed") else {}
            self._recorder.emit("case", i=number, r=result, m=message, d=seconds, **late, **where)
            if self._recorder.stops:
                self._stop(item, is_bad=result in BAD, hangs=rang)
        else:
            error = outcome.excinfo[1]
            # anything else that comes out of here is a fault of pytest or of a plugin, not of the case
            kind = "broke_off" if isinstance(error, _ENDS_THE_RUN) else "abandoned"
            self._recorder.emit(kind, i=number, m=explain(error, error.__traceback__, self._recorder.root))

    def _stop(self, item: Any, *, is_bad: bool, hangs: bool) -> None:
        """Ends the run once it is known to be no better than the base tree's."""
        was_failing = id(item) in self._ahead
        self._ahead.discard(id(item))
        self._is_better |= was_failing and not is_bad
        self._enough -= was_failing
        still_fails = was_failing and not self._is_better and self._enough <= 0
        breaks = self._failed_before and self._recorder.ends_at_break and not was_failing and is_bad
        if hangs or still_fails or breaks:
            item.session.shouldfail = "a case hangs" if hangs else "no better than the base tree"

    def _control(self, item: Any) -> None:
        assert self._controls is not None
        self._controls.begin(str(item.nodeid), getattr(item, "dtest", None))
        self._controls.calm(getattr(item, "obj", None))
        if self._controls.turning:
            item.repr_failure = _unread

    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_runtest_setup(self) -> Flow:
        """The project's code runs in here."""
        self._recorder.alarm.enter()
        yield
        self._recorder.alarm.leave()

    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_runtest_call(self) -> Flow:
        """The project's code runs in here."""
        self._recorder.alarm.enter()
        if self._controls is not None:
            self._controls.enter()
        yield
        if self._controls is not None:
            self._controls.leave()
        self._recorder.alarm.leave()

    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_runtest_teardown(self) -> Flow:
        """The project's code runs in here."""
        self._recorder.alarm.enter()
        yield
        self._recorder.alarm.leave()

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item: Any, call: Any) -> Flow:
        """Notes what was really raised, beside what the report says."""
        if call.excinfo is not None and isinstance(call.excinfo.value, RecursionError):
            leave_out_middle(call.excinfo.value.__traceback__)
        outcome = yield
        if outcome.excinfo is None and not isinstance(item, Canary):
            report = outcome.get_result()
            if self._controls is not None:
                self._controls.raised(call.excinfo.value if call.excinfo is not None else None)
                if self._controls.turning:
                    return
            self._phases[id(report)] = Phase(report, call, self._recorder.root)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: Any) -> None:
        """A set-up report begins a new attempt (plugins may run a case again); the last attempt counts."""
        if report.when == "setup":
            self._reports = []
        self._reports.append(report)

    def _fold(self) -> tuple[str, str, str]:
        worst = ("", "", "")
        for report in self._reports:
            seen = self._phases.get(id(report))
            result, message = result_of(report, seen)
            is_part = type(report).__name__.lower() == "subtestreport"
            if is_part and result != "failed":
                continue
            if RANK[result] > RANK[worst[0]]:
                text = message or (seen.message if seen is not None else cut(str(report.longreprtext)))
                worst = (result, text if result != "passed" else "", seen.origin if seen is not None else "")
        result, message, origin = worst
        return result or "unrun", message, origin

    # --- the end

    @pytest.hookimpl(tryfirst=True)
    def pytest_internalerror(self, excinfo: Any) -> None:
        """pytest itself, or somebody's plugin, broke."""
        error = excinfo.value
        self._conftest_failed(error)
        self._recorder.emit("internal", m=explain(error, error.__traceback__, self._recorder.root))

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: Any) -> None:
        """Says whether it was stopped early."""
        self._fixed_files.look_again()
        stopped = str(getattr(session, "shouldfail", "") or getattr(session, "shouldstop", "") or "")
        self._recorder.emit("finish", stopped=stopped)
