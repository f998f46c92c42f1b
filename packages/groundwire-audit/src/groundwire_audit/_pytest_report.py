"""What an ordinary run of pytest reports of itself, in a file: origin `reported`, and never more than that.

It was written in the process that ran the code under test, so it proves nothing; `groundwire verify FILE` runs the same
tests again, in its boxes, and says whether they agree.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

FORMAT = "groundwire-pytest-report-1"
DEFAULT_FILE = "groundwire-report.json"
MESSAGE_CHARS = 2000
MOST_CASES = 100_000
MOST_FILES = 20_000
_ORDER = ("passed", "xpassed", "skipped", "xfailed", "failed", "error")
"""Of what a case's phases came to, the last one counts."""


class PytestReporter:
    """Collects what a run reports, and writes it at the end.

    Args:
        config: pytest's.
        path: the file.
    """

    def __init__(self, config: Any, path: Path) -> None:
        self._config = config
        self._path = path
        self._begun = time.time()
        self._cases: dict[str, dict[str, Any]] = {}
        self._collected = self._deselected = 0
        self._files: set[str] = set()

    def pytest_deselected(self, items: Any) -> None:
        """Counts what was chosen not to run."""
        self._deselected += len(items)

    def pytest_collection_finish(self, session: Any) -> None:
        """Notes which files hold the tests."""
        self._collected = len(session.items)
        self._files |= {str(item.path) for item in session.items}

    def pytest_collectreport(self, report: Any) -> None:
        """Notes a file that could not be collected."""
        if report.failed:
            self._note(report.nodeid, "error", 0.0, str(report.longrepr))

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Notes what one phase of a case came to; with xdist, workers send theirs here."""
        if report.when == "call" or report.failed or report.skipped:
            self._note(report.nodeid, _result(report), report.duration, str(report.longrepr or ""))

    def pytest_sessionfinish(self, session: Any, exitstatus: int) -> None:
        """Writes the report."""
        root = Path(self._config.rootpath)
        loaded = {str(getattr(module, "__file__", None) or "") for module in list(sys.modules.values())}
        said = {
            "format": FORMAT,
            "origin": "reported",
            "root": str(root),
            "arguments": self._arguments(root),
            "exit_code": int(exitstatus),
            "started_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self._begun)),
            "seconds": round(time.time() - self._begun, 3),
            "python": platform.python_version(),
            "executable": sys.executable,
            "collected": self._collected,
            "deselected": self._deselected,
            "cases": list(self._cases.values()),
            "files": _digests(root, self._files | loaded),
        }
        beside = self._path.with_name(f".{self._path.name}.{os.getpid()}")
        try:
            beside.write_text(json.dumps(said, indent=1) + "\n", encoding="utf-8", errors="backslashreplace")
            beside.replace(self._path)
        except OSError as error:
            with suppress(OSError):
                beside.unlink()
            sys.stderr.write(f"groundwire: the report can't be written to {self._path}: {error.strerror}\n")

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Says where it is."""
        if self._path.exists():
            terminalreporter.write_line(f"groundwire report: {self._path}   check it:  groundwire verify {self._path}")

    def _note(self, name: str, result: str, seconds: float, message: str) -> None:
        case = self._cases.get(name)
        if case is None:
            if len(self._cases) >= MOST_CASES:
                return
            case = self._cases[name] = {"id": name, "result": result, "duration_s": 0.0, "message": ""}
        case["duration_s"] = round(case["duration_s"] + seconds, 6)
        if _ORDER.index(result) >= _ORDER.index(case["result"]):
            case["result"], case["message"] = result, message[-MESSAGE_CHARS:]

    def _arguments(self, root: Path) -> list[str]:
        """As they would be given in the project's root, without ours."""
        told: list[str] = []
        here = Path(self._config.invocation_params.dir)
        for given in map(str, self._config.invocation_params.args):
            if given == "--groundwire" or given.startswith("--groundwire="):
                continue
            name, colons, rest = given.partition("::")
            path = here / name
            if name and not name.startswith("-") and path.exists() and path.resolve().is_relative_to(root):
                given = f"{path.resolve().relative_to(root).as_posix()}{colons}{rest}"
            told.append(given)
        return told


def _result(report: Any) -> str:
    expected = hasattr(report, "wasxfail")
    if report.skipped:
        return "xfailed" if expected else "skipped"
    if report.failed:
        return "failed" if report.when == "call" else "error"
    return "xpassed" if expected else "passed"


def _digests(root: Path, names: set[str]) -> dict[str, str]:
    """SHA-256 of the files below the root that took part."""
    found: dict[str, str] = {}
    for name in sorted(names):
        path = Path(name)
        if len(found) < MOST_FILES and path.suffix == ".py" and path.is_relative_to(root):
            with suppress(OSError):
                relative = path.relative_to(root)
                if not any(part.startswith(".") or part in ("venv", "site-packages") for part in relative.parts):
                    found[relative.as_posix()] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found
