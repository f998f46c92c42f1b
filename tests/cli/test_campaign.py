"""Runs of several workers from the command line: driven, steered, killed at, and refused where they can't be."""

from __future__ import annotations

import asyncio
import io
import json
import os
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from campaign_graph import CALLS, PRICE, make
from campaign_kills import GRAPH, cluster_of, lay_out
from peer_environments import python_with
from rich.console import Console

from groundwire import Task, Tree
from groundwire.benchmarks import Item
from groundwire.cli._campaign import FRUITLESS, REFUSALS, Driver, Teller, steer_campaign
from groundwire.cli._ray_fleet import check_form, join
from groundwire.cli._report import run_report
from groundwire.cli._run import run_suite
from groundwire.cli._scores import task_scores
from groundwire.cli._suite import Suite, TaskSource
from groundwire.cli._tally import EndedEpisode, Tally
from groundwire.cli._workers import PYTHON, LocalFleet, WorkerEnd, WorkerJob
from groundwire.core._errors import ConfigError, RecordNotFound
from groundwire.core._settings import Settings
from groundwire.core._version import __version__
from groundwire.graphs.run._batch import QueuedEpisode
from groundwire.graphs.run._result import EpisodeResult
from groundwire.graphs.run._sandboxes import Sandboxes
from groundwire.graphs.run._worker import Worker, WorkerPace
from groundwire.memory import SqlStore
from groundwire.memory._campaigns import Campaign

QUICK = WorkerPace(lease_s=30.0, report_s=0.05, look_s=0.01, patience_s=5.0)
KILLS = Path(__file__).parents[1] / "support" / "campaign_kills.py"
RAY_REFUSALS = KILLS.with_name("ray_refusals.py")


class Here:
    """Workers as tasks of this process, each with a store of its own: real ones, that cost nothing to start."""

    def __init__(self, url: str, run_id: str, tasks: Sequence[Task], latency_s: float = 0.0) -> None:
        self.url, self.run_id, self.tasks = url, run_id, tasks
        self.latency_s = latency_s
        self.running: dict[str, asyncio.Task[None]] = {}
        self.started: list[str] = []
        self.fails: WorkerEnd | None = None
        self.failed: dict[str, WorkerEnd] = {}

    async def start(self, name: str) -> None:
        self.started.append(name)
        if self.fails is not None:
            self.failed[name] = self.fails
        else:
            self.running[name] = asyncio.create_task(self._work(name))

    async def _work(self, name: str) -> None:
        async with aclosing(SqlStore(self.url)) as store:
            app = make().compile(store=store)

            def ended(position: int, result: EpisodeResult) -> str:
                return json.dumps({"split": "", "seed": 0, **EndedEpisode.of(result, self.tasks[position]).as_data()})

            campaign = Campaign(store, self.run_id)
            work = [QueuedEpisode(app, task) for task in self.tasks]
            sandboxes = Sandboxes(None)
            await Worker(store, campaign, name, work.__getitem__, ended, sandboxes, at_once=1, pace=QUICK).run()

    def kill(self, name: str) -> None:
        self.running[name].cancel()

    async def gone(self) -> Mapping[str, WorkerEnd]:
        ended = {name: task for name, task in self.running.items() if task.done()}
        for name in ended:
            del self.running[name]
        found = {name: WorkerEnd("killed by signal 9") if t.cancelled() else WorkerEnd() for name, t in ended.items()}
        found, self.failed = {**found, **self.failed}, {}
        return found

    @property
    def alive(self) -> Sequence[str]:
        return list(self.running)

    async def stop(self) -> None:
        for task in self.running.values():
            task.cancel()
        await asyncio.gather(*self.running.values(), return_exceptions=True)


class Driven:
    """A run in a ledger of its own, driven here."""

    def __init__(self, folder: Path, tasks: int = 6) -> None:
        self.url = f"sqlite:///{folder}/l.db"
        self.tasks = [Task(id=f"t{n}", family=f"f{n}", tree=Tree({"solution.py": b"1"})) for n in range(tasks)]
        self.said: list[str] = []
        self.told: list[tuple[int, str]] = []
        self.store = SqlStore(self.url)

    async def begin(self, workers: int = 2, **told: Any) -> Here:
        # as `groundwire run` notes its tasks: each has one result
        suite = {"tasks": [[task.id, task.tree.digest, ""] for task in self.tasks]}
        run_id = await make().compile(store=self.store).start_run({"suite": suite})
        self.campaign = Campaign(self.store, run_id)
        given: dict[str, Any] = {"at_once": 0, "most": {}, "used": None, **told}
        await self.campaign.open([task.id for task in self.tasks], frozenset(), workers=workers, **given)
        return Here(self.url, run_id, self.tasks)

    async def drive(self, fleet: Here) -> str:
        def tell(position: int, _at: float, outcome: str) -> bool:
            told = (position, json.loads(outcome)["stop_reason"])
            is_new = told not in self.told
            self.told += [told] if is_new else []
            return is_new

        try:
            driver = Driver(self.campaign, fleet, QUICK, self.said.append, tell)
            return await driver.drive(await self.campaign.now())
        finally:
            await fleet.stop()
            await self.store.aclose()


async def test_a_driver_tells_of_each_task_once_and_replaces_who_has_died(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GROUNDWIRE_TEST_LATENCY", "0.05")
    run = Driven(tmp_path)
    fleet = await run.begin(2)

    async def kill() -> None:
        while not any(one.in_flight for one in await run.campaign.workers()):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
        fleet.kill(fleet.started[0])

    why, _ = await asyncio.gather(run.drive(fleet), kill())
    assert why == ""
    assert sorted(run.told) == [(n, "verified") for n in range(6)]
    assert len(fleet.started) >= 3
    assert [line for line in run.said if "killed by signal 9" in line]


async def test_fewer_workers_are_kept_when_fewer_are_wanted_and_more_when_more_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GROUNDWIRE_TEST_LATENCY", "0.03")
    run = Driven(tmp_path, 12)
    fleet = await run.begin(1)
    most: list[int] = []

    async def retune() -> None:
        working = 0
        for wanted in (3, 1):
            await run.campaign.steer(workers=wanted)
            for _ in range(200):
                working = sum(not one.retired for one in await run.campaign.workers())
                if working == wanted:
                    break
                await asyncio.sleep(0.02)
            most.append(working)

    await asyncio.gather(run.drive(fleet), retune())
    assert most == [3, 1] and len(run.told) == 12


async def test_a_driver_stands_still_where_it_is_paused_or_a_total_is_used_up(tmp_path: Path) -> None:
    run = Driven(tmp_path)
    fleet = await run.begin(1)
    await run.campaign.steer(state="paused")
    assert await run.drive(fleet) == "paused"
    (tmp_path / "other").mkdir()
    spent = Driven(tmp_path / "other")
    fleet = await spent.begin(2, most={"calls": 7.0})
    assert await spent.drive(fleet) == "calls"
    assert 0 < len(spent.told) < 6


@pytest.mark.parametrize(
    ("end", "count"),
    [(WorkerEnd("No module named x\n  Install it.", own_fault=True, exit_code=2), REFUSALS),
     (WorkerEnd("killed by signal 9"), FRUITLESS)],
)  # fmt: skip
async def test_workers_that_never_get_anywhere_end_the_run_with_what_they_said(
    end: WorkerEnd, count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = asyncio.sleep
    monkeypatch.setattr(asyncio.get_running_loop(), "time", _hasty(asyncio.get_running_loop().time))
    monkeypatch.setattr("groundwire.cli._campaign.LOOK_S", 0.0)
    run = Driven(tmp_path)
    fleet = await run.begin(1)
    fleet.fails = end
    with pytest.raises(ConfigError, match="No worker gets anywhere") as caught:
        await run.drive(fleet)
    assert len(fleet.started) == count and end.why.partition("\n")[0] in caught.value.what
    await real(0)


def _hasty(clock: Any) -> Any:
    """A clock that runs a thousand times as fast: nothing is waited for."""
    begun = clock()
    return lambda: begun + 1000 * (clock() - begun)


@dataclass
class Counted:
    """An arm, as far as its tally goes."""

    tally: Tally


def test_of_a_task_that_was_run_once_more_the_last_episode_counts() -> None:
    console = Console(file=io.StringIO())
    arm = Counted(Tally("main", 2, console, as_json=False))
    tell = Teller(arm)
    of = {"split": "", "seed": 0, "run_id": "r", "hidden": None, "trials": 1, "candidates": 1, "reflections": 0}
    of |= {"tokens": 5, "usd": 0.1, "seconds": 1.0, "detail": "", "error": "it broke\n  Mend it."}
    broke = json.dumps({**of, "episode_id": "e", "task_id": "t", "verdict": "none", "stop_reason": "internal_error"})
    right = json.dumps({**of, "episode_id": "f", "task_id": "t", "verdict": "pass", "stop_reason": "verified"})
    assert [tell(0, 1.0, broke), tell(0, 1.0, broke), tell(0, 2.0, right)] == [True, False, True]
    assert (arm.tally.done, arm.tally.counts()) == (1, "1 verified · 0 unsolved · 0 no verdict")
    assert arm.tally.tokens == 10, "what was paid was paid"


async def test_a_report_counts_the_last_episode_of_a_task_that_was_requeued_and_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Driven(tmp_path, 2)
    fleet = await run.begin(1)
    await run.drive(fleet)
    assert await run.campaign.requeue("t0") == "ended"
    await run.drive(Here(run.url, fleet.run_id, run.tasks))
    async with aclosing(SqlStore(run.url)) as store:
        begun = [(one.task_id, one.id) for one in await store.episodes(fleet.run_id)]
        scores = await task_scores(store, fleet.run_id)
    assert sorted(name for name, _ in begun) == ["t0", "t0", "t1"]
    assert sorted(one.task_id for one in scores) == ["t0", "t1"]

    def report(*, as_json: bool) -> str:
        flags = {"db": run.url}
        assert run_report([fleet.run_id], flags, control=None, html=None, as_json=as_json) == 0
        return capsys.readouterr().out

    (told,) = json.loads(await asyncio.to_thread(report, as_json=True))["runs"]
    assert (told["measured"]["outcome"]["tasks"], told["measured"]["outcome"]["episodes"]) == (2, 2)
    assert {one["episode"] for one in told["episodes"]} == {begun[-1][1], dict(begun)["t1"]}
    assert told["put_aside"] == {"episodes": 1, "tokens": 7 * CALLS, "usd": pytest.approx(PRICE * CALLS)}
    assert "not counted: 1 earlier episode of tasks that were run once more" in await asyncio.to_thread(
        report, as_json=False
    )


# `groundwire campaign`.


async def test_a_person_sees_how_a_run_stands_and_steers_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = Driven(tmp_path)
    await run.begin(2, most={"usd": 5.0, "seconds": 60.0})
    await run.campaign.report("w1", place="node-1:77", in_flight=3, said="", lease_s=60.0)
    lease = await run.campaign.take("w1", 60.0)
    assert lease is not None

    def told(**more: Any) -> dict[str, Any]:
        given: dict[str, Any] = {"pause": False, "workers": None, "at_once": None, "requeue": (), **more}
        flags = {"db": run.url, **given.pop("flags", {})}
        assert steer_campaign(run.campaign.run_id[:20], flags, **given, as_json=True) == 0
        return json.loads(capsys.readouterr().out)

    first = await asyncio.to_thread(told)
    assert (first["state"], first["workers"], first["at_once"]) == ("running", 2, None)
    assert first["tasks"] == {"waiting": 5, "held": 1, "ended": 0}
    assert first["totals"] == {"usd": {"most": 5.0, "used": 0.0}, "seconds": {"most": 60.0, "used": None}}
    assert (first["seen"][0]["place"], first["seen"][0]["in_flight"]) == ("node-1:77", 3)
    more = {"workers": 4, "at_once": 8, "flags": {"total_usd": 9.0}, "requeue": ["t0"], "pause": True}
    second = await asyncio.to_thread(told, **more)
    assert (second["state"], second["workers"], second["at_once"]) == ("paused", 4, 8)
    assert second["totals"]["usd"]["most"] == 9.0 and second["requeued"] == {"t0": "held"}
    assert second["tasks"] == {"waiting": 6, "held": 0, "ended": 0}
    await run.store.aclose()


async def test_what_can_not_be_steered_is_said(tmp_path: Path) -> None:
    run = Driven(tmp_path)
    app = make().compile(store=run.store)
    nobodys = await app.start_run()
    await run.begin()

    def steer(run_id: str, **more: Any) -> None:
        given: dict[str, Any] = {"pause": False, "workers": None, "at_once": None, "requeue": (), **more}
        steer_campaign(run_id, {"db": run.url, **given.pop("flags", {})}, **given, as_json=True)

    with pytest.raises(RecordNotFound, match="not one that several processes work on"):
        await asyncio.to_thread(steer, nobodys)
    with pytest.raises(ConfigError, match="begun without totals"):
        await asyncio.to_thread(steer, run.campaign.run_id, flags={"total_usd": 3.0})
    with pytest.raises(RecordNotFound, match="no task elsewhere"):
        await asyncio.to_thread(steer, run.campaign.run_id, requeue=["elsewhere"])
    await app.end_run(run.campaign.run_id)
    with pytest.raises(ConfigError, match="is over, and its end is sealed"):
        await asyncio.to_thread(steer, run.campaign.run_id, requeue=["t0"])
    await run.store.aclose()


# What is refused.


def job(**more: Any) -> WorkerJob:
    suite = Suite(GRAPH, TaskSource("folders", ()), Settings())
    items = [Item(Task(id=name), "") for name in ("a", "b")]
    return WorkerJob(suite, "r", "r", "main", items, **more)


def test_a_cluster_needs_a_ledger_that_machines_can_share(tmp_path: Path) -> None:
    lay_out(tmp_path / "tasks", 1)
    suite = Suite(
        GRAPH, TaskSource("folders", (tmp_path / "tasks",)), Settings(db=f"sqlite:///{tmp_path}/l.db"), on="ray"
    )
    with pytest.raises(ConfigError, match="can't share a ledger in SQLite") as caught:
        run_suite(suite, as_json=True)
    assert "postgresql://" in caught.value.do


def test_processes_need_a_ledger_that_they_can_share(tmp_path: Path) -> None:
    lay_out(tmp_path / "tasks", 1)
    suite = Suite(GRAPH, TaskSource("folders", (tmp_path / "tasks",)), Settings(db="sqlite://"), workers=2)
    with pytest.raises(ConfigError, match="ledger in memory"):
        run_suite(suite, as_json=True)


@pytest.mark.parametrize(
    "on", ["rey", "ray:/x", "ray://", "ray://host", "ray://host:port", "ray://:10001", "ray://h:0"]
)
def test_what_names_no_cluster_is_refused_at_once(on: str) -> None:
    with pytest.raises(ConfigError, match="names no cluster"):
        check_form(on)


async def test_a_cluster_is_not_looked_for_without_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ConfigError, match="Ray is not installed") as caught:
        await join("ray")
    assert "groundwire[ray]" in caught.value.do


def test_a_task_that_can_not_be_sent_is_named() -> None:
    bad = Task(id="bad")
    object.__setattr__(bad, "prompt", socket.socket)  # as a benchmark of somebody's own might
    object.__setattr__(bad, "family", lambda: "")
    one = job()
    with pytest.raises(ConfigError, match="Task bad can't be handed to another process"):
        LocalFleet(WorkerJob(one.suite, "r", "r", "main", [*one.items, Item(bad, "")]))


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"version": "0.0.1"}, f"groundwire {__version__}, and the run is driven by groundwire 0.0.1"),
        ({"python": "3.99"}, f"Python {PYTHON}, and the run is driven by Python 3.99"),
    ],
)
def test_another_version_on_a_machine_is_refused_and_both_are_said(more: dict[str, str], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        job(**more).check_same()


# Real processes.


@pytest.mark.slow
def test_a_killed_worker_costs_no_result(tmp_path: Path) -> None:
    found = killed(tmp_path, f"sqlite:///{tmp_path}/l.db", 1, 4, "local")
    assert found["wrong"] == [] and found["tasks"] == 12 and sum(found["kills"].values()) == 1


@pytest.mark.slow
@pytest.mark.postgres
def test_three_kills_on_a_cluster_of_three_machines_cost_no_result(tmp_path: Path, postgres_url: str) -> None:
    program = with_ray().parent / "groundwire"
    found = killed(tmp_path, postgres_url, 3, 1, "ray", program)
    assert found["wrong"] == [] and found["tasks"] == 12 and sum(found["kills"].values()) == 3


@pytest.mark.slow
def test_a_cluster_that_can_not_be_joined_from_outside_is_said() -> None:
    said = refused(with_ray())
    assert "No Ray cluster answers at ray://127.0.0.1" in said["nothing"][0] and "ray[client]" in said["nothing"][1]
    assert "did not answer for 0.5 s" in said["no cluster"][0]
    assert "client, which is not installed" in said["no client"][0] and "ray[client]" in said["no client"][1]


def refused(python: Path, *at: str) -> dict[str, list[str]]:
    """What is said, and what to do, by what is wrong: see `ray_refusals`."""
    ran = subprocess.run([python, RAY_REFUSALS, *at], stdout=subprocess.PIPE, check=True)
    return json.loads(ran.stdout)


@pytest.mark.soak  # Ray gives each client half a minute to be taken in, which a busy machine does not keep
@pytest.mark.postgres
def test_a_run_from_outside_of_a_cluster_that_then_goes_away(
    tmp_path: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = with_ray()
    hold, tasks = tmp_path / "hold", lay_out(tmp_path / "tasks", 2)
    hold.touch()
    monkeypatch.setenv("GROUNDWIRE_TEST_HOLD", str(hold))
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    told = ["--db", postgres_url, "--workers", "1", "--at-once", "2", "--json"]
    with cluster_of(python, machines=1) as cluster:
        command = [python.parent / "groundwire", "run", GRAPH, tasks, "--on", cluster.outside, *told]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as driver:
            assert driver.stdout is not None
            begun, first = (json.loads(driver.stdout.readline()) for _ in range(2))
            said = refused(python, cluster.outside)
            cluster.stop()
            last = json.loads(driver.stdout.read())
    assert (begun["tasks"], first["task_id"], first["stop_reason"]) == (2, "t000", "verified")
    assert driver.returncode == 2
    assert (
        "no longer answers" in last["error"]["what"] and f"groundwire resume {begun['run_id']}" in last["error"]["do"]
    )
    assert "different versions" in said["version"][0] and "2.0.0" in said["version"][0]


def with_ray() -> Path:
    """The interpreter of an environment with Ray and its client."""
    return python_with("ray>=2.40,<3", "ray[client]>=2.40,<3", extras="postgres")


@pytest.mark.soak
@pytest.mark.postgres
@pytest.mark.parametrize("seed", range(int(os.environ.get("GROUNDWIRE_TEST_KILLS", "100")) // 5))
def test_a_hundred_kills(seed: int, tmp_path: Path, postgres_url: str) -> None:
    found = killed(tmp_path, postgres_url, 5, seed, "local")
    assert found["wrong"] == []


def killed(folder: Path, url: str, kills: int, seed: int, kind: str, program: Path | None = None) -> dict[str, Any]:
    """See `campaign_kills`."""
    command = [
        sys.executable,
        KILLS,
        folder / "killed",
        url,
        str(kills),
        str(seed),
        kind,
        *([program] if program else []),
    ]
    (folder / "killed").mkdir()
    env = {**os.environ, "PYTHONPATH": str(KILLS.parent), "GROUNDWIRE_TEST_TASKS": "12"}
    ran = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)
