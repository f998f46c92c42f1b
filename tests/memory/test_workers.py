"""One store object in many event loops, threads and processes."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import textwrap
import threading
import time
import warnings
from contextlib import aclosing
from pathlib import Path

import pytest
from processes import open_files
from sqlalchemy import Connection

from groundwire.core._candidates import Candidate
from groundwire.core._records import Artifact, RunRecord
from groundwire.memory import SqlStore

PROCESSES = 8
APPENDS = 200


def test_two_event_loops_one_after_the_other(url: str) -> None:
    store = SqlStore(url)
    first, second = RunRecord(), RunRecord()
    asyncio.run(store.append(first))
    asyncio.run(store.append(second))
    assert asyncio.run(store.runs()) == [second, first]
    asyncio.run(store.aclose())
    asyncio.run(store.aclose())
    assert asyncio.run(store.runs()) == [second, first], "the next use opens it again"
    asyncio.run(store.aclose())


def test_event_loops_in_several_threads_at_once(url: str) -> None:
    store = SqlStore(url)

    async def work() -> None:
        for _ in range(10):
            await asyncio.gather(*(store.append(RunRecord()) for _ in range(5)))

    threads = [threading.Thread(target=lambda: asyncio.run(work())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(asyncio.run(store.runs(limit=1000))) == 200
    asyncio.run(store.aclose())


async def test_who_writes_and_who_tidies_up_wait_for_no_connection_that_a_reader_keeps(tmp_path: Path) -> None:
    """A candidate's body is shortened against the base tree, which whoever writes has to read."""
    async with aclosing(SqlStore(f"sqlite:///{tmp_path}/x.db")) as store:
        both_read, done = threading.Barrier(3), threading.Event()

        def read(_session: Connection) -> None:
            both_read.wait(60)
            done.wait(60)

        await store.append(RunRecord())
        candidate = Candidate("0" * 64, {"a.py": b"x = 1\n" * 200})
        reading = [asyncio.create_task(store.run_read(read)) for _ in range(2)]
        await asyncio.to_thread(both_read.wait, 60)
        async with asyncio.timeout(20):  # a pool of connections that has none left is asked for 30 s
            await store.append(Artifact(digest=candidate.digest, kind="candidate", body=candidate.to_bytes()))
            await store.run_alone(["PRAGMA optimize"], [])
        done.set()
        await asyncio.gather(*reading)
        async with asyncio.timeout(20):
            await store.run_alone(["VACUUM"], [])
        assert await store.artifact(candidate.digest) == candidate.to_bytes()


async def test_the_event_loop_is_not_blocked(tmp_path: Path) -> None:
    store = SqlStore(f"sqlite:///{tmp_path}/x.db")
    await store.append(RunRecord())
    ticks = 0

    async def watch() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.002)
            ticks += 1

    watcher = asyncio.ensure_future(watch())
    await store.append(*(RunRecord(config="x" * 20_000) for _ in range(5000)))
    watcher.cancel()
    await store.aclose()
    assert ticks > 10


async def test_an_append_that_is_cancelled_is_whole_or_absent(url: str) -> None:
    store = SqlStore(url)
    await store.append(RunRecord(graph="first"))
    tasks = [asyncio.ensure_future(store.append(*(RunRecord(graph=str(n)) for _ in range(20)))) for n in range(40)]
    await asyncio.sleep(0.01)
    for task in tasks[::2]:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await store.aclose()
    graphs = [run.graph for run in await store.runs(limit=10_000)]
    assert {graphs.count(str(n)) for n in range(40)} <= {0, 20}
    assert all(graphs.count(str(n)) == 20 for n in range(1, 40, 2))
    await store.aclose()


@pytest.mark.filterwarnings("default")
def test_a_store_that_nobody_closes_leaves_nothing_behind(tmp_path: Path) -> None:
    def use() -> None:
        store = SqlStore(f"sqlite:///{tmp_path}/x.db")
        asyncio.run(store.append(RunRecord()))
        asyncio.run(store.runs())

    def still_open() -> list[Path]:
        gc.collect()
        return [file for file in open_files() if file.is_relative_to(tmp_path)]

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        use()
        give_up = time.monotonic() + 60
        while still_open() and time.monotonic() < give_up:
            time.sleep(0.01)  # a thread of its own may not have put down yet what it did last
        assert still_open() == []
    assert [warning for warning in caught if issubclass(warning.category, ResourceWarning)] == []


FORK = """
    import asyncio, os, sys
    from groundwire.memory import SqlStore
    from groundwire.core._records import RunRecord

    store = SqlStore(sys.argv[1])
    asyncio.run(store.append(RunRecord(graph="parent")))
    child = os.fork()
    if child == 0:
        asyncio.run(store.append(RunRecord(graph="child")))
        asyncio.run(store.aclose())
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    asyncio.run(store.append(RunRecord(graph="parent again")))
    print([run.graph for run in asyncio.run(store.runs())])
    asyncio.run(store.aclose())
"""


def test_a_fork_uses_connections_of_its_own(url: str) -> None:
    command = [sys.executable, "-W", "error", "-c", textwrap.dedent(FORK), url]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert (done.returncode, done.stdout) == (0, "['parent again', 'child', 'parent']\n"), done.stderr


WRITERS = """
    import asyncio, os, sys
    from groundwire.memory import SqlStore
    from groundwire.core._records import RunRecord

    async def write(graph):
        store = SqlStore(sys.argv[1])
        for number in range(int(sys.argv[3])):
            await store.append(RunRecord(graph=graph, config=str(number)))
        await store.aclose()

    writers = []
    for number in range(int(sys.argv[2])):
        writers.append(os.fork())
        if writers[-1] == 0:
            asyncio.run(write(str(number)))
            sys.exit()
    sys.exit(any([os.waitpid(writer, 0)[1] for writer in writers]))
"""


def test_eight_processes_lose_nothing(url: str) -> None:
    """cases.md 31: also, all of them find the database missing and make it."""
    command = [sys.executable, "-c", textwrap.dedent(WRITERS), url, str(PROCESSES), str(APPENDS)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr

    store = SqlStore(url)
    runs = asyncio.run(store.runs(limit=10_000))
    asyncio.run(store.aclose())
    for number in range(PROCESSES):
        written = [run.config for run in reversed(runs) if run.graph == str(number)]
        assert written == [str(count) for count in range(APPENDS)], "all there, in order"
