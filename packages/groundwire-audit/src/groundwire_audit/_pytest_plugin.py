"""The pytest plugin: a fixture `assert_grounded`, and `--groundwire`, a report of the run for `groundwire verify`.

Importing it imports nothing else of ours.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from groundwire_audit import AuditReport


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds `--groundwire`."""
    parser.getgroup("groundwire").addoption(
        "--groundwire",
        nargs="?",
        const="",
        default=None,
        metavar="PATH",
        help="Write a report of this run, which `groundwire verify PATH` runs again in its boxes: --groundwire or"
        " --groundwire=PATH.json  (default: groundwire-report.json in the project's root)",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Reports the run where that was asked for; of several processes the one that the others report to does."""
    asked = config.getoption("--groundwire", None)
    if asked is None or hasattr(config, "workerinput"):
        return
    from groundwire_audit._pytest_report import DEFAULT_FILE, PytestReporter

    if asked and not asked.endswith(".json"):
        # without the sign, a test's name that follows would be taken for the file's
        raise pytest.UsageError(f"--groundwire writes a .json file, not {asked!r}: write  --groundwire=PATH.json")
    path = Path(config.invocation_params.dir) / asked if asked else Path(config.rootpath) / DEFAULT_FILE
    if not path.parent.is_dir():
        raise pytest.UsageError(f"--groundwire: there is no folder {path.parent}")
    config.pluginmanager.register(PytestReporter(config, path), "groundwire-report")


@pytest.fixture(name="assert_grounded")
def assert_grounded() -> Callable[..., AuditReport]:
    """`assert_grounded(graph)` fails if a loop of the graph is ungrounded: see `groundwire_audit.assert_grounded`."""
    from groundwire_audit import assert_grounded as check

    return check
