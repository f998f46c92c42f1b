"""What ends a family from outside misses nobody, however fast its members fork and die."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator

import pytest
from processes import marked

from groundwire.sandbox._process import (
    Member,
    Process,
    end_descendants,
    kill_where,
)

FAMILY = """\
import ctypes, os, sys, time
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # what is below falls to us
if os.fork() == 0:
    exec(sys.argv[1])
    os._exit(0)
print("there", flush=True)
time.sleep(300)
"""
MEMBERS = {
    "one that sleeps": "time.sleep(300)",
    "one that left": "os.setsid()\nif os.fork() == 0: time.sleep(300)",
    "a chain, each of which dies as the next is born": "os.setsid()\nwhile True:\n if os.fork(): os._exit(0)",
    "two chains and a reaper": (
        "os.setpgid(0, 0); os.fork()\n"
        "if os.fork() == 0:\n"
        " while True:\n  if os.fork(): os._exit(0)\n"
        "while True:\n try: os.wait()\n except OSError: time.sleep(0.01)"
    ),
    "one that forks faster than it is looked at": (
        "for _ in range(40):\n if os.fork() == 0: time.sleep(300)\n time.sleep(0.002)\ntime.sleep(300)"
    ),
    "a reaper of its own": (
        "ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)\nif os.fork() == 0:\n if os.fork(): os._exit(0)\ntime.sleep(300)"
    ),
}


@pytest.mark.parametrize("name", MEMBERS)
def test_nobody_is_missed(name: str):
    mark = uuid.uuid4().hex
    arguments = [sys.executable, "-c", FAMILY, MEMBERS[name], mark]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE) as keeper:
        assert keeper.stdout
        assert keeper.stdout.readline() == b"there\n"
        end_descendants(keeper.pid)
        assert marked(mark) == [keeper.pid]
        keeper.kill()
    assert marked(mark) == []


def test_a_keeper_is_killed_after_all_that_would_outlive_it():
    mark = uuid.uuid4().hex
    reading, writing = os.pipe()
    keeper = Process(
        [sys.executable, "-c", FAMILY, MEMBERS["a chain, each of which dies as the next is born"], mark],
        stdout=writing,
        adopts=True,
    )
    os.close(writing)
    assert os.read(reading, 10) == b"there\n"
    os.close(reading)
    keeper.end()
    assert keeper.ended
    assert marked(mark) == []


def test_a_process_that_is_gone_is_no_error():
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    end_descendants(gone.pid)
    waiting = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, waiting.pid, os.WEXITED | os.WNOWAIT)
    end_descendants(waiting.pid)
    assert waiting.wait() == 0


@pytest.fixture
def stranger() -> Iterator[subprocess.Popen[bytes]]:
    """Somebody else's process, in a group of its own."""
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"], process_group=0) as process:
        yield process
        process.kill()


def test_whoever_was_given_the_number_of_one_that_is_gone_is_left_alone(
    stranger: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
):
    """Forks use up the numbers within a second, and a look at all processes takes its time."""
    nobody: dict[int, Member] = {}
    gone = {stranger.pid: Member(group=stranger.pid, started=1)}
    looks = iter([(gone, nobody), (nobody, gone), (nobody, nobody)])

    def look(_root: int) -> tuple[dict[int, Member], dict[int, Member]]:
        return next(looks, (nobody, nobody))

    monkeypatch.setattr("groundwire.sandbox._process._below", look)
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"]) as keeper:
        end_descendants(keeper.pid)
        keeper.kill()
    assert stranger.poll() is None
    assert next(looks, None) is None, "it looked until nobody was left"


def test_a_process_is_opened_before_it_is_looked_at(stranger: subprocess.Popen[bytes]):
    def ends_as_it_is_looked_at() -> bool:
        stranger.kill()
        stranger.wait()
        return True

    assert not kill_where(stranger.pid, lambda: False) and stranger.poll() is None
    assert kill_where(stranger.pid, ends_as_it_is_looked_at)


async def test_whoever_waits_for_a_process_is_told_of_its_end_by_whoever_else_ends_it():
    """Two wait, one is cancelled, a third lets go of the descriptor: nobody waits for ever."""
    process = Process([sys.executable, "-c", "import time; time.sleep(300)"])
    waiting = [asyncio.create_task(process.gone()) for _ in range(3)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    await asyncio.sleep(0)
    process.end()
    async with asyncio.timeout(60):
        ends = await asyncio.gather(*waiting, return_exceptions=True)
        await process.gone()
    assert [type(end) for end in ends] == [asyncio.CancelledError, type(None), type(None)]
