"""A Python that has imported what takes long, and forks for each program: torch and trainers take seconds each time.

    python forking_python.py SOCKET MODULE…

serves until its input ends: each connection brings the streams of a caller, its arguments, folder and environment, and
is told the exit status. `trainers_python` starts one, and gives an executable that stands for `python` before it.
"""

from __future__ import annotations

import array
import atexit
import gc
import importlib
import json
import os
import runpy
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

__all__ = ["trainers_python"]

CALLER = """#!{python} -S
import array, json, os, socket, sys
asked = socket.socket(socket.AF_UNIX)
asked.connect({socket!r})
fds = array.array("i", (0, 1, 2))
job = json.dumps({{"argv": sys.argv[1:], "cwd": os.getcwd(), "env": dict(os.environ)}}).encode()
asked.sendmsg([len(job).to_bytes(8, "big")], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])
asked.sendall(job)
asked.shutdown(socket.SHUT_WR)
said = asked.makefile("rb").read()
code = int(said) if said else 1
os.kill(os.getpid(), -code) if code < 0 else sys.exit(code)
"""


TRAINERS = (
    "torch",
    "groundwire.cli._improve",
    "groundwire.models._transformers",
    "transformers:LlamaForCausalLM",
    "transformers:AutoModelForCausalLM",
    "transformers:AutoTokenizer",
    "transformers:GenerationConfig",
    "transformers:StoppingCriteriaList",
    "datasets",
    "peft",
    "trl:SFTTrainer",
    "trl:DPOTrainer",
    "trl:KTOTrainer",
    "trl:GRPOTrainer",
)


@cache
def trainers_python() -> Path:
    """The executable of one that has imported torch, the trainers and `groundwire improve`; it ends with this process.

    Skips where there are no trainers.
    """
    if find_spec("trl") is None or find_spec("peft") is None:
        pytest.skip('the trainers are not installed: pip install "groundwire[improve]"')
    folder = Path(tempfile.mkdtemp(prefix="gw-python-"))
    place, caller = folder / "python.sock", folder / "python"
    caller.write_text(CALLER.format(python=sys.executable, socket=str(place)))
    caller.chmod(0o700)
    # threads of a library would be lost in a fork
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    server = subprocess.Popen(
        [sys.executable, __file__, str(place), *TRAINERS],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
        start_new_session=True,
    )

    def end() -> None:
        server.communicate()
        shutil.rmtree(folder, ignore_errors=True)

    atexit.register(end)
    assert server.stdout is not None
    assert server.stdout.readline() == b"ready\n", "it did not start: see what it wrote"
    return caller


def _serve(place: str) -> dict[str, Any]:
    """Forks for each caller, and returns its job in the child."""
    begun: set[int] = set()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(place)
        listening.listen(16)
        print("ready", flush=True)
        while True:
            ends = 0 in select.select([0, listening], [], [])[0]
            # those that have ended are waited for, so that what they used is counted
            begun -= {pid for pid in begun if os.waitpid(pid, 0 if ends else os.WNOHANG)[0]}
            if ends:
                sys.exit()
            caller, _ = listening.accept()
            if not (child := os.fork()):
                break
            begun.add(child)
            caller.close()
    # between the caller and the program: it waits for the one and tells the other
    head, passed, _, _ = caller.recvmsg(8, socket.CMSG_SPACE(3 * array.array("i").itemsize))
    fds = array.array("i", passed[0][2])
    with caller.makefile("rb") as told:
        job: dict[str, Any] = json.loads(told.read(int.from_bytes(head, "big")))
    child = os.fork()
    if child:
        for fd in fds:
            os.close(fd)
        for standard in (0, 1, 2):
            os.dup2(os.open(os.devnull, os.O_RDWR), standard)
        caller.sendall(str(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])).encode())
        os._exit(0)
    caller.close()
    for target, fd in enumerate(fds):
        os.dup2(fd, target)
        os.close(fd)
    # those of this process have been written to, and remember what they were
    sys.stdin, sys.stdout, sys.stderr = map(os.fdopen, (0, 1, 2), ("r", "w", "w"))
    os.environ.clear()
    os.environ.update(job["env"])
    os.chdir(job["cwd"])
    return job


def _run(argv: Sequence[str]) -> None:
    """As `python` does: a file, or `-c` and its text."""
    sys.argv = list(argv)
    importlib.invalidate_caches()
    if argv[0] == "-c":
        sys.argv = ["-c", *argv[2:]]
        exec(compile(argv[1], "<string>", "exec"), {"__name__": "__main__"})
    else:
        sys.path[0] = str(Path(argv[0]).parent)
        runpy.run_path(argv[0], run_name="__main__")


def _main() -> None:
    for name in sys.argv[2:]:
        module, _, attribute = name.partition(":")
        # what a package loads at first use is named behind a colon
        getattr(importlib.import_module(module), attribute or "__name__")
    gc.freeze()
    job = _serve(sys.argv[1])
    # whoever runs the tests in the background may have had it ignored
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        _run(job["argv"])
    except SystemExit:
        raise
    except BaseException:
        traceback.print_exc()
        sys.exit(1)


if __name__ == "__main__":
    _main()
