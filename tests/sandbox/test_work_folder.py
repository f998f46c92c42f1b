"""A launcher that a killed groundwire left waiting is ended at the next start; nobody else's is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from groundwire.sandbox._folders import WorkFolder

OWNER = """\
import sys, time
from pathlib import Path
from groundwire.sandbox._folders import WorkFolder
home = WorkFolder(Path(sys.argv[1]))
print(home.path, flush=True)
time.sleep(300)
"""
LAUNCHER = """\
import ctypes, os, sys, time
claim = os.open(sys.argv[1] + "/lock", os.O_RDONLY) if sys.argv[1:] else -1
ctypes.CDLL(None).prctl(15, b"bwrap", 0, 0, 0)
print("waits", flush=True)
time.sleep(300)
"""


def started(code: str, *arguments: str) -> tuple[subprocess.Popen[str], str]:
    process = subprocess.Popen([sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, text=True)
    assert process.stdout
    return process, process.stdout.readline().strip()


def end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.wait()
    assert process.stdout
    process.stdout.close()


def test_only_the_launchers_of_the_dead_are_ended(tmp_path: Path):
    dead, dead_home = started(OWNER, str(tmp_path))
    living, living_home = started(OWNER, str(tmp_path))
    left, _ = started(LAUNCHER, dead_home)
    theirs, _ = started(LAUNCHER, living_home)
    strangers, _ = started(LAUNCHER)
    end(dead)
    home = WorkFolder(tmp_path)
    assert left.wait(60) == -9
    assert (theirs.poll(), strangers.poll()) == (None, None)
    assert not Path(dead_home).exists()
    assert Path(living_home).exists()
    home.close()
    home.close()
    for process in (living, left, theirs, strangers):
        end(process)
