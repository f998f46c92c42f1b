"""A run of several workers while its processes are killed, and what its ledger and its provider's bill say afterwards.

    python campaign_kills.py FOLDER URL KILLS SEED local|ray [PROGRAM]

Victims are drawn by the seed: a worker, all workers of a machine (with Ray the node itself, which another one then
replaces, late), the process that drives the run, which is then gone on with, or the database, where
`GROUNDWIRE_TEST_RESTART` names a program that kills and starts it. Prints what came of it as JSON.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from campaign_graph import bill

from groundwire.core._records import EpisodeEnd, Intent, ModelCall, Record, RunEnd
from groundwire.graphs.replay._replay import first_difference
from groundwire.memory import SqlStore
from groundwire.memory._campaigns import Campaign

GRAPH = f"{Path(__file__).with_name('campaign_graph.py')}:make"
WORKERS, AT_ONCE = 3, 4
WITHIN_S = 240.0
RESTART = os.environ.get("GROUNDWIRE_TEST_RESTART", "")


@dataclass
class Found:
    """What came of it; nothing is wrong where the list is empty."""

    kills: Counter[str] = field(default_factory=Counter[str])
    charged: int = 0
    twice: int = 0
    tasks: int = 0
    seconds: float = 0.0
    wrong: list[str] = field(default_factory=list[str])


def lay_out(folder: Path, count: int) -> Path:
    """Tasks, each of a family of its own, so that no lesson of one is another one's."""
    for n in range(count):
        task = folder / f"t{n:03}"
        (task / "tests").mkdir(parents=True)
        (task / "task.toml").write_text(f'id = "t{n:03}"\nfamily = "family{n}"\nprompt = "x"\n')
        (task / "solution.py").write_text("nothing = 1\n")
        (task / "tests" / "test_it.py").write_text("def test_it():\n    assert False\n")
    return folder


@dataclass
class Cluster:
    """Machines of a Ray cluster, each a process group on this one."""

    program: Path
    folder: Path
    nodes: list[subprocess.Popen[bytes]] = field(default_factory=list[subprocess.Popen[bytes]])
    address: str = ""
    outside: str = ""
    """Where it is joined from outside of it."""

    def start(self, machines: int = 3) -> None:
        port, client = free_port(), free_port()
        self.address, self.outside = f"127.0.0.1:{port}", f"ray://127.0.0.1:{client}"
        head = ("--head", f"--port={port}", f"--temp-dir={self.folder}", "--include-dashboard=false")
        self.nodes.append(self._node(*head, f"--ray-client-server-port={client}"))
        wait_until(lambda: _answers(port), 60)
        for _ in range(1, machines):
            self.add()
        if machines == 1:  # nobody joins it but from outside
            wait_until(lambda: _answers(client), 120)

    def add(self) -> None:
        """One more machine, while the others are at work."""
        self.nodes.append(self._node(f"--address={self.address}"))

    def _node(self, *more: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [self.program.with_name("ray"), "start", "--block", "--num-cpus=2", "--disable-usage-stats", *more],
            # a token of the user's would be asked of whoever joins
            env={**os.environ, "RAY_SCHEDULER_EVENTS": "0", "RAY_AUTH_MODE": "disabled"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def kill(self, number: int) -> None:
        """All processes of a machine at once, as where its power is cut."""
        node = self.nodes.pop(number)
        victims = [node.pid, *below(node.pid)]
        for pid in victims:
            _kill(pid)
        node.wait()

    def stop(self) -> None:
        while self.nodes:
            self.kill(len(self.nodes) - 1)


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def below(pid: int) -> Iterator[int]:
    """All descendants of a process."""
    for thread in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = [int(word) for word in thread.read_text().split()]
        except OSError:
            continue
        for child in children:
            yield child
            yield from below(child)


def _kill(pid: int) -> bool:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def _answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


def wait_until(holds: Callable[[], bool], within_s: float) -> None:
    end = time.monotonic() + within_s
    while not holds():
        if time.monotonic() > end:
            raise TimeoutError(f"not within {within_s} s")
        time.sleep(0.1)


@dataclass
class Killing:
    """One run, and whoever kills at it."""

    folder: Path
    url: str
    program: Path
    cluster: Cluster | None
    chance: random.Random
    found: Found = field(default_factory=Found)
    run_id: str = ""

    def run(self, tasks: Path, kills: int) -> None:
        spread = ("--on", "ray") if self.cluster else ()
        asked = ("run", GRAPH, tasks, "--workers", WORKERS, "--at-once", AT_ONCE, "--seed", 7, *spread)
        began = time.monotonic()
        process = self._begin(*map(str, asked))
        left = kills
        if not left:
            self.hold.unlink()
        while process.poll() is None:
            assert time.monotonic() - began < WITHIN_S + 15 * kills, "it does not end"
            time.sleep(self.chance.uniform(0.5, 2.5))
            if left and self.run_id and process.poll() is None:
                kinds = ["worker", "worker", "machine", "driver"]
                kind = self.chance.choice([*kinds, "database"] if RESTART else kinds)
                if self._strike(kind, process):
                    self.found.kills[kind] += 1
                    left -= 1
                if not left:
                    self.hold.unlink()  # now it may end
                if kind == "driver" and process.poll() is not None:
                    process = self._begin("resume", self.run_id)
        self.found.seconds = round(time.monotonic() - began, 1)
        if process.returncode != 0:
            self.found.wrong.append(f"it ended with {process.returncode}: {self._log().read_text()[-2000:]}")

    @property
    def hold(self) -> Path:
        """While it exists the run can't end."""
        return self.folder / "hold"

    def _log(self) -> Path:
        return self.folder / "log"

    def _begin(self, *arguments: str) -> subprocess.Popen[bytes]:
        with self._log().open("ab") as log:
            process = subprocess.Popen(
                [self.program, *arguments, "--db", self.url, "--json"], stdout=log, stderr=subprocess.STDOUT
            )
        wait_until(lambda: process.poll() is not None or self._knows_run(), 120)
        return process

    def _knows_run(self) -> bool:
        for line in self._log().read_text(errors="replace").splitlines():
            if '"type": "run"' in line:
                self.run_id = json.loads(line)["run_id"]
        return bool(self.run_id)

    def _strike(self, kind: str, driver: subprocess.Popen[bytes]) -> bool:
        workers = asyncio.run(self._workers())
        if not workers:
            return False
        if kind == "database":
            subprocess.run([RESTART], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            return True
        if kind == "worker":
            return _kill(self.chance.choice(workers))
        if kind == "driver":
            driver.kill()
            driver.wait()
            return True
        if self.cluster is None:
            return sum(map(_kill, workers)) > 0
        # not the head, without which there is no cluster
        self.cluster.kill(self.chance.randrange(1, len(self.cluster.nodes)))
        self.cluster.add()
        return True

    async def _workers(self) -> Sequence[int]:
        async with aclosing(SqlStore(self.url)) as store:
            campaign = Campaign(store, self.run_id)
            if not await campaign.exists():
                return []
            return [int(one.place.rpartition(":")[2]) for one in await campaign.workers() if one.in_flight]


async def ledger(url: str, run_id: str) -> Mapping[str, Sequence[Sequence[Record]]]:
    """By task, the records of its episodes."""
    kept: dict[str, list[Sequence[Record]]] = {}
    async with aclosing(SqlStore(url)) as store:
        for episode in await store.episodes(run_id):
            kept.setdefault(episode.task_id, []).append(await store.records(episode.id))
        ends = [end for end in await store.ends(run_id) if isinstance(end, RunEnd)]
        assert len(ends) == 1, f"the run has {len(ends)} ends"
    return kept


def check(killing: Killing, alone: Mapping[str, Sequence[Sequence[Record]]], charges: Sequence[str]) -> None:
    """Compares the ledger with the provider's bill, and with a run of one process that nobody killed."""
    found, wrong = killing.found, killing.found.wrong
    kept = asyncio.run(ledger(killing.url, killing.run_id))
    if kept.keys() != alone.keys():
        wrong.append(f"tasks are missing: {sorted(alone.keys() - kept.keys())}")
    announced: Counter[str] = Counter()
    for task_id, episodes in kept.items():
        if len(episodes) != 1 or sum(isinstance(r, EpisodeEnd) for r in episodes[0]) != 1:
            wrong.append(f"{task_id} has not ended once")
            continue
        (records,) = episodes
        announced.update(r.digest for r in records if isinstance(r, Intent))
        answers = Counter(r.request_digest for r in records if isinstance(r, ModelCall))
        wrong += [f"{task_id}: {digest} was answered {n} times" for digest, n in answers.items() if n != 1]
        if (difference := first_difference(alone[task_id][0], records, is_whole=True)[1]) is not None:
            wrong.append(f"{task_id} is not as one process has it: {difference}")
    charged = Counter(charges)
    found.tasks, found.charged, found.twice = len(kept), charged.total(), charged.total() - len(charged)
    wrong += [f"{digest} was charged and not announced" for digest in (charged - announced)]
    of_all = found.kills["machine"] + found.kills["driver"] + found.kills["database"]
    in_flight = AT_ONCE * (found.kills["worker"] + WORKERS * of_all)
    if found.twice > in_flight:
        wrong.append(f"{found.twice} calls were paid for twice, where {in_flight} can have been in flight")


@contextmanager
def cluster_of(program: Path, machines: int = 3) -> Generator[Cluster]:
    # a socket's path may be no longer than some 100 characters
    folder = Path("/tmp") / f"gw-ray-{os.getpid()}"
    cluster = Cluster(program, folder)
    try:
        cluster.start(machines)
        yield cluster
    finally:
        cluster.stop()
        shutil.rmtree(folder, ignore_errors=True)


def main() -> None:
    folder, url, kills, seed, kind = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5]
    program = Path(sys.argv[6]) if len(sys.argv) > 6 else Path(sys.executable).with_name("groundwire")
    tasks = lay_out(folder / "tasks", int(os.environ.get("GROUNDWIRE_TEST_TASKS", "40")))
    os.environ["GROUNDWIRE_TEST_BILL"] = str(folder / "undisturbed")
    alone = Killing(folder, f"sqlite:///{folder}/alone.db", program, None, random.Random(seed))
    done = subprocess.run(
        [program, "run", GRAPH, tasks, "--seed", "7", "--at-once", "8", "--db", alone.url, "--json"],
        capture_output=True,
        text=True,
        check=True,
    )
    alone.run_id = json.loads(done.stdout.splitlines()[0])["run_id"]
    os.environ["GROUNDWIRE_TEST_BILL"] = str(folder / "bill")
    os.environ["GROUNDWIRE_TEST_LATENCY"] = os.environ.get("GROUNDWIRE_TEST_LATENCY", "0.25")
    os.environ["GROUNDWIRE_TEST_HOLD"] = str(folder / "hold")
    (folder / "hold").touch()
    with cluster_of(program) if kind == "ray" else nullcontext() as cluster:
        if cluster is not None:
            os.environ.update(RAY_ADDRESS=cluster.address, RAY_AUTH_MODE="disabled")
        killing = Killing(folder, url, program, cluster, random.Random(seed))
        killing.run(tasks, kills)
    if not killing.found.wrong:
        check(killing, asyncio.run(ledger(alone.url, alone.run_id)), bill(folder / "bill"))
    print(json.dumps({**vars(killing.found), "run_id": killing.run_id}))


if __name__ == "__main__":
    main()
