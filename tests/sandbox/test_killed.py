"""kill -9 of groundwire itself at random moments: nothing of it is left, and nothing of anybody else's is touched."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from processes import marked
from sandboxes_here import KINDS, opened

pytestmark = pytest.mark.slow
KILLS = int(os.environ.get("GROUNDWIRE_TEST_KILLS", "5"))
"""Of each kind of sandbox; 200 in the soak."""
GONE_S = 60.0
SCRIPT = Path(__file__).parents[1] / "support" / "busy_sandbox.py"


def waiting_launchers() -> list[int]:
    """Launchers that were started by a groundwire whose home is gone."""
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and (entry / "comm").read_bytes() == b"bwrap\n":
                held = [str(fd.readlink()) for fd in (entry / "fd").iterdir()]
                if any("/groundwire-boxes-" in path and path.endswith("/lock (deleted)") for path in held):
                    found.append(int(entry.name))
        except OSError:
            continue
    return found


def groups_of(pid: int) -> list[Path]:
    return [path for path in Path("/sys/fs/cgroup").rglob(f"groundwire-{pid}.*-*") if path.is_dir()]


def homes() -> set[Path]:
    return set(Path(tempfile.gettempdir()).glob("groundwire-boxes-*"))


def kill_at_random(kind: str, mark: str, moment: random.Random) -> int:
    """Starts a busy groundwire and kills it; returns the number it had."""
    arguments = [sys.executable, str(SCRIPT), kind, mark]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "busy\n"
        time.sleep(moment.uniform(0, 1.2))
        process.send_signal(signal.SIGKILL)
    return process.pid


async def left_over(kind: str, mark: str, pid: int) -> list[int | Path]:
    """What is left after the next start, once everything had time to end."""
    box = await opened(kind)
    await box.aclose()
    give_up = time.monotonic() + GONE_S
    while (left := [*marked(mark), *waiting_launchers(), *groups_of(pid)]) and time.monotonic() < give_up:
        await asyncio.sleep(0.05)
        if not marked(mark):  # a group can be removed once its processes are gone
            box = await opened(kind)
            await box.aclose()
    return left


@pytest.mark.parametrize("kind", KINDS)
async def test_nothing_is_left_of_a_groundwire_that_was_killed(kind: str):
    await (await opened(kind)).aclose()
    before = homes()
    seed = int(os.environ.get("GROUNDWIRE_TEST_SEED", "7"))
    moment = random.Random(f"{seed}:{kind}")
    for turn in range(KILLS):
        mark = f"mark-{os.getpid()}-{kind}-{turn}-{moment.getrandbits(32):x}"
        pid = await asyncio.to_thread(kill_at_random, kind, mark, moment)
        assert await left_over(kind, mark, pid) == [], f"kill {turn} of {kind}, seed {seed}"
    assert not [home for home in homes() - before if _is_left(home)]


def _is_left(home: Path) -> bool:
    """False for a home of another test that runs beside this one, or ends."""
    import fcntl

    try:
        with (home / "lock").open() as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return home.exists()
