"""Runs the installed `groundwire` program as a person would."""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PROGRAM = Path(sys.executable).with_name("groundwire")
TIMEOUT_S = 600
"""Far beyond what a busy machine needs."""

BUGGY = {
    "shop/__init__.py": "",
    "shop/price.py": (
        "def total(prices):\n    result = 0\n    for price in prices:\n        result -= price\n    return result\n"
    ),
    "tests/test_price.py": (
        "from shop.price import total\n\n\ndef test_none():\n    assert total([]) == 0\n\n\n"
        "def test_some():\n    assert total([1, 2]) == 3\n"
    ),
}


@dataclass(frozen=True)
class Ran:
    """What the program did."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> dict[str, Any]:
        return json.loads(self.out)


def lay_out(folder: Path, files: dict[str, str]) -> Path:
    """Writes a project."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


class _Forking:
    """The program in a process that has imported it, and forks for each run."""

    def __init__(self) -> None:
        self._server: subprocess.Popen[str] | None = None

    def run(self, job: dict[str, Any]) -> int:
        server = self._server = self._server or self._start()
        assert server.stdin and server.stdout
        print(json.dumps(job), file=server.stdin, flush=True)
        if not select.select([server.stdout], [], [], TIMEOUT_S)[0]:
            os.killpg(server.pid, signal.SIGKILL)
            server.communicate()
            self._server = None
            raise subprocess.TimeoutExpired(job["argv"], TIMEOUT_S)
        return int(server.stdout.readline())

    def _start(self) -> subprocess.Popen[str]:
        script = Path(__file__).with_name("forking_program.py")
        server = subprocess.Popen(
            [sys.executable, script],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            # threads of a library would be lost in a fork
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
            start_new_session=True,
        )
        atexit.register(server.communicate)
        return server


_forking = _Forking()


def groundwire(*arguments: str | Path, env: dict[str, str] | None = None, cwd: Path | None = None) -> Ran:
    """Runs the program; homes come from the test's own environment. It is imported once and forked: see `begin`."""
    return _forked([PROGRAM, *arguments], env or {}, cwd)


def python(script: Path, *arguments: str | Path, env: dict[str, str] | None = None, cwd: Path | None = None) -> Ran:
    """Runs a script as Python does, with groundwire imported before, which is most of what a short one takes."""
    return _forked([script, *arguments], env or {}, cwd)


def _forked(argv: Sequence[str | Path], env: dict[str, str], cwd: Path | None) -> Ran:
    with tempfile.TemporaryDirectory() as folder:
        out, err = Path(folder, "out"), Path(folder, "err")
        job = {
            "argv": list(map(str, argv)),
            "cwd": str(cwd or Path.cwd()),
            "env": {**os.environ, "COLUMNS": "160", **env},
            "out": str(out),
            "err": str(err),
        }
        code = _forking.run(job)
        return Ran(code, out.read_text(errors="replace"), err.read_text(errors="replace"))


def begin(*arguments: str | Path, interrupts: signal.Handlers = signal.SIG_DFL) -> subprocess.Popen[str]:
    """Starts the program itself and leaves it running; both of its streams come together.

    Args:
        arguments: its own.
        interrupts: what SIGINT does when it begins. A shell without job control starts what it puts into the background
            with SIGINT ignored, and all of its children too, so what this process has is no guide.
    """
    return subprocess.Popen(
        [PROGRAM, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "COLUMNS": "160"},
        preexec_fn=lambda: signal.signal(signal.SIGINT, interrupts),
    )
