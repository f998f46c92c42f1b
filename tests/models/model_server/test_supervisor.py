"""A real server program under supervision: whatever becomes of it, or of us, nothing of it stays."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Generator, Iterable
from pathlib import Path
from urllib.request import urlopen

import pytest
import stub_model_server
from processes import is_alive, left_of, seen

from groundwire.core._errors import ModelRejected
from groundwire.models.model_server import Restarts, Supervisor

STUB = stub_model_server.__file__
Make = Callable[..., Supervisor]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "server.log"


@pytest.fixture
def supervised(log: Path) -> Generator[Make]:
    made: list[Supervisor] = []

    def make(mode: str = "serves", *, most: int = 3, start_timeout_s: float = 60.0) -> Supervisor:
        made.append(
            Supervisor(
                "stub:x",
                lambda port: [sys.executable, STUB, str(port), mode],
                log=log,
                environment={"VLLM_API_KEY": "k"},
                start_timeout_s=start_timeout_s,
                restarts=Restarts(most=most, backoff_s=0.0),
                grace_s=2.0,
            )
        )
        return made[-1]

    yield make
    for supervisor in made:
        supervisor.close()


def pids(log: Path) -> list[int]:
    """Of every server so far and its child."""
    return [int(pid) for line in re.findall(r"^pids (.*)$", log.read_text(), re.MULTILINE) for pid in line.split()]


def all_gone(wanted: Iterable[int]) -> bool:
    return not left_of(seen(wanted))


def test_it_starts_once_and_ends_with_all_that_it_started(supervised: Make, log: Path) -> None:
    supervisor = supervised()
    running = supervisor.running()
    assert supervisor.running() is running and running.process.is_healthy()
    with urlopen(f"{running.url}/health", timeout=5) as answer:
        assert answer.status == 200
    server, child = pids(log)
    assert is_alive(server) and is_alive(child)
    assert log.stat().st_mode & 0o077 == 0
    supervisor.close()
    assert not is_alive(server) and not is_alive(child)
    with pytest.raises(ModelRejected, match="was closed"):
        supervisor.running()


def test_one_that_was_killed_is_started_again_a_few_times(supervised: Make, log: Path) -> None:
    supervisor = supervised(most=1)
    first = supervisor.running()
    os.kill(pids(log)[0], signal.SIGKILL)
    second = supervisor.running(dead=first)
    assert second is not first and second.process.is_healthy()
    assert supervisor.running(dead=first) is second, "who comes late with the news ends no other server"
    os.kill(pids(log)[2], signal.SIGKILL)
    with pytest.raises(ModelRejected, match="died 2 times") as caught:
        supervisor.running(dead=second)
    assert str(log) in caught.value.do
    assert all_gone(pids(log))


def test_one_that_dies_at_its_start_says_why(supervised: Make, log: Path) -> None:
    with pytest.raises(ModelRejected, match=r"status 3\..*the weights are gone") as caught:
        supervised("dies").running()
    assert "\x1b" not in str(caught.value) and str(log) in caught.value.do
    assert all_gone(pids(log))


def test_one_that_hangs_at_its_start_is_given_up(supervised: Make, log: Path) -> None:
    with pytest.raises(ModelRejected, match=r"not healthy within 0\.5 s"):
        supervised("hangs", start_timeout_s=0.5).running()
    assert not log.read_text() or all_gone(pids(log))


def test_a_port_that_was_taken_in_the_meantime_is_no_failure(supervised: Make, tmp_path: Path, log: Path) -> None:
    assert supervised(f"busy={tmp_path / 'mark'}").running().process.is_healthy()
    assert len(pids(log)) == 4


@pytest.mark.parametrize("victim", ["ourselves", "keeper"])
def test_nothing_stays_when_we_or_the_keeper_are_killed(victim: str, log: Path) -> None:
    program = f"""
import sys, time
from pathlib import Path
from groundwire.models.model_server import Supervisor
command = lambda port: [sys.executable, {STUB!r}, str(port), "serves"]
log, key = Path({str(log)!r}), {{"VLLM_API_KEY": "k"}}
running = Supervisor("stub:x", command, log=log, environment=key, grace_s=0.2).running()
print(running.process.pid, flush=True)
time.sleep(600)
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        keeper = int(parent.stdout.readline())
        server, child = pids(log)
        os.kill(parent.pid if victim == "ourselves" else keeper, signal.SIGKILL)
        gone = all_gone([server, child] if victim == "ourselves" else [server])
        parent.kill()
        if is_alive(child):
            os.kill(child, signal.SIGKILL)
    assert gone


def test_waits_grow_and_are_bounded() -> None:
    restarts = Restarts(backoff_s=1.0, max_wait_s=5.0)
    assert [restarts.wait_s(died) for died in range(6)] == [0.0, 1.0, 2.0, 4.0, 5.0, 5.0]


AT_THE_END = """
import asyncio, threading, time
from concurrent.futures import ThreadPoolExecutor
from groundwire.core._errors import ModelRejected
from groundwire.models.model_server import in_thread

async def fails():
    raise_it = lambda: (_ for _ in ()).throw(RuntimeError("its own"))
    try:
        await in_thread(raise_it, "stub:x")
    except RuntimeError as error:
        print(error)

async def asks_late():
    threading._shutdown_begun.wait(30)
    try:
        await in_thread(lambda: print("asked"), "stub:x")
    except ModelRejected as error:
        print(error.what, flush=True)

asyncio.run(fails())
threading._shutdown_begun = threading.Event()
thread = threading.Thread(target=lambda: asyncio.run(asks_late()))
thread.start()
# runs last of what ends with the main thread, after the pools of threads are closed
threading._threading_atexits.insert(0, threading._shutdown_begun.set)
"""


def test_who_asks_while_the_program_ends_is_told_so() -> None:
    ran = subprocess.run([sys.executable, "-c", AT_THE_END], capture_output=True, text=True, timeout=60, check=False)
    assert (ran.stdout.splitlines(), ran.stderr) == (["its own", "The program ends; stub:x is not asked any more."], "")
