"""Engine processes end with the program, also when it is killed. A process of the engine's name stands for it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from processes import is_alive

PROGRAM = """
import multiprocessing, subprocess, sys, time
from groundwire.models.vllm_engine._leftovers import Leftovers

def engine(up):
    print(subprocess.Popen(["sleep", "600"]).pid, flush=True)
    up.release()
    time.sleep(600)

if __name__ == "__main__":
    spawn = multiprocessing.get_context("spawn")
    leftovers, up = Leftovers(), spawn.Semaphore(0)
    with leftovers.noticing():
        core = spawn.Process(target=engine, args=(up,), name="EngineCore_DP0", daemon=True)
        core.start()
        other = spawn.Process(target=engine, args=(up,), name="mine", daemon=True)
        other.start()
        up.acquire()
        up.acquire()
    print(core.pid, other.pid, flush=True)
    if sys.argv[1] == "end":
        leftovers.end()
        print(core.is_alive(), other.is_alive(), flush=True)
    time.sleep(600)
"""


def test_a_killed_program_leaves_no_engine_and_other_processes_are_left_alone(tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    with subprocess.Popen([sys.executable, str(script), "stay"], stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        lines = [program.stdout.readline().split() for _ in range(3)]
        core, other = map(int, next(line for line in lines if len(line) == 2))
        sleepers = [int(line[0]) for line in lines if len(line) == 1]
        program.kill()
        program.wait()
        give_up = time.monotonic() + 60
        while len(still := list(filter(is_alive, [core, other, *sleepers]))) > 2 and time.monotonic() < give_up:
            time.sleep(0.02)
        for pid in still:
            os.kill(pid, signal.SIGKILL)
    assert core not in still and other in still
    assert len(still) == 2, "the engine's child went with it, the other's stays"


def test_what_an_engine_left_is_ended_with_it(tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    with subprocess.Popen([sys.executable, str(script), "end"], stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        lines = [program.stdout.readline().split() for _ in range(4)]
        _, other = map(int, next(line for line in lines if len(line) == 2 and line[0].isdigit()))
        program.kill()
        for pid in [other, *(int(line[0]) for line in lines if len(line) == 1)]:
            if is_alive(pid):
                os.kill(pid, signal.SIGKILL)
    assert ["False", "True"] in lines
