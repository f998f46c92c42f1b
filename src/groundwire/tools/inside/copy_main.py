"""Runs any command and brings the report that it wrote to where it is collected."""

# os.path on purpose: pathlib costs time to import, and tests like to fake it
# ruff: noqa: PTH108, PTH113, PTH114, PTH118, PTH119
from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable

COLLECTED = "report.xml"


def prepare() -> Callable[[list[str]], int]:
    """Makes ready what runs `REPORT COMMAND…` and returns the command's exit status."""
    collected = os.path.join(os.environ["GROUNDWIRE_OUT"], COLLECTED)
    return lambda arguments: _run(arguments, collected)


def _run(arguments: list[str], collected: str) -> int:
    report, command = arguments[0], arguments[1:]
    if os.path.lexists(report):
        # a report that was there before is not this run's
        os.unlink(report)
    if os.path.basename(command[0]) in ("python", "python3"):
        command[0] = sys.executable
    try:
        status = subprocess.run(command, stdin=subprocess.DEVNULL, check=False).returncode
    except FileNotFoundError:
        return 127
    except PermissionError:
        return 126
    if os.path.isfile(report) and not os.path.islink(report):
        shutil.copyfile(report, collected)
    if status < 0:
        with contextlib.suppress(OSError):
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    return status
