"""A run of several workers: whoever drives it hands out the tasks, starts workers and shows what they come to; and
`groundwire campaign`, by which a person steers it while it runs.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import secrets
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from typing import Any, Protocol

from rich.console import Console
from rich.text import Text

from groundwire.benchmarks import Item
from groundwire.cli._arms import RunArm
from groundwire.cli._parts import GraphParts
from groundwire.cli._repair import open_store, unique_run
from groundwire.cli._run import PAUSED, SuiteRun, known_episodes
from groundwire.cli._suite import Suite
from groundwire.cli._tally import EndedEpisode, Tally
from groundwire.cli._workers import Fleet, LocalFleet, WorkerEnd, WorkerJob, with_absolute_paths
from groundwire.core._errors import ConfigError, StorageError
from groundwire.core._records import RunEnd, episodes_with_records
from groundwire.core._seal import FileKeys
from groundwire.core._settings import Settings
from groundwire.core._text import plain, plural
from groundwire.graphs.run._budget import spent_on
from groundwire.graphs.run._worker import ALONE_S, DRIVEN_S, CampaignMeter, WorkerPace, amounts
from groundwire.memory import SqlStore, locate
from groundwire.memory._campaigns import Campaign, CampaignStanding

LOOK_S = 0.25
"""Seconds between two looks at what workers came to."""
OVERLAP_S = 30.0
"""What was ended so long before the last look is looked at again: a transaction may be slow to be seen."""
FRUITLESS = 20
"""Workers that may die one after the other without an episode having ended between."""
REFUSALS = 3
"""Workers that may come to an end by errors of their own, likewise."""


async def drive_campaign(run: SuiteRun, arm: RunArm, items: Sequence[Item]) -> str:
    """Runs an arm's episodes by workers.

    Args:
        run: what was asked for.
        arm: whose episodes they are; its tally is told of each.
        items: the arm's tasks.

    Returns:
        What it stands still for: a kind of budget that is used up, or `PAUSED`; empty: everything has ended.

    Raises:
        ConfigError: the workers can't be had.
        StorageError: the database did not answer for longer than is waited.
    """
    suite, pace = with_absolute_paths(run.suite), WorkerPace()
    campaign = Campaign(arm.store, arm.run_id)
    job = WorkerJob(suite, run.run_id, arm.run_id, arm.name, items, pace=pace)
    fleet, workers = await _fleet(job)
    try:
        await _open(campaign, arm, items, suite, workers)

        def say(line: str) -> None:
            run.console.print(Text(line, style="yellow"), soft_wrap=True)

        with arm.tally:
            held_up = await Driver(campaign, fleet, pace, say, Teller(arm)).drive(await campaign.now())
        if not held_up and not await campaign.end():
            await asyncio.sleep(DRIVEN_S / 5)  # another driver, or the last worker, is about to write the run's end
        return held_up
    except asyncio.CancelledError:
        with suppress(StorageError):
            await asyncio.shield(campaign.steer(state="paused"))  # those that this process can't reach stop too
        raise
    finally:
        await asyncio.shield(fleet.stop())


async def check_shareable(suite: Suite) -> None:
    """Refuses what can't be shared, before a run is made.

    Raises:
        ConfigError: the ledger is one that those who are to work on it can't reach, or there is no such cluster.
    """
    place = locate(suite.settings.db)
    if not place.is_durable:
        raise ConfigError("Several processes can't share a ledger in memory.", do="Name a file:  --db sqlite:///FILE")
    if not suite.on:
        return
    if place.is_sqlite:
        raise ConfigError(
            "Several machines can't share a ledger in SQLite.",
            do="Keep it in PostgreSQL:  --db postgresql://USER@HOST/DATABASE",
        )
    from groundwire.cli._ray_fleet import join

    await join(suite.on)


async def _fleet(job: WorkerJob) -> tuple[Fleet, int]:
    """Where the workers run, and how many there are to be."""
    if not job.suite.on:
        return LocalFleet(job), job.suite.workers or 1
    from groundwire.cli._ray_fleet import RayFleet

    fleet = await RayFleet.joined(job, FileKeys().load(job.run_id))
    return fleet, job.suite.workers or fleet.room


class HasTally(Protocol):
    """What counts and shows episodes."""

    tally: Tally


class Teller:
    """Tells an arm's tally of what workers came to; of a task that was requeued the last episode counts.

    Args:
        arm: whose tally.
    """

    def __init__(self, arm: HasTally) -> None:
        self._arm = arm
        self._told: dict[int, tuple[float, EndedEpisode]] = {}

    def __call__(self, position: int, at: float, outcome: str) -> bool:
        """Of the task at a position, ended at a moment; False where that was told before."""
        before = self._told.get(position)
        if before is not None and before[0] == at:
            return False
        data: dict[str, Any] = json.loads(outcome)
        split, seed = data.pop("split"), data.pop("seed")
        told = EndedEpisode.from_data(data)
        if before is not None:
            self._arm.tally.takes_back(before[1].stop_reason)
        self._told[position] = (at, told)
        self._arm.tally.ended(told, split, seed=seed)
        return True


async def _open(campaign: Campaign, arm: RunArm, items: Sequence[Item], suite: Suite, workers: int) -> None:
    """Lays out the tasks, and what the ledger says of them."""
    store = arm.store
    ended, _ = await known_episodes(store, arm.run_id)
    totals = GraphParts.totals(suite.settings)
    most = totals.model_dump(exclude_none=True) if totals else {}
    used = None
    if most and not await _is_worked_on(campaign):
        told = episodes_with_records(store, arm.run_id)
        used = {one.id: amounts(spent_on(records)) async for one, records in told}
    over = await campaign.open(
        [item.task.id for item in items],
        frozenset(ended),
        workers=workers,
        at_once=arm.at_once or 0,
        most={kind: float(value) for kind, value in most.items()},
        used=used,
    )
    for item in items:
        if item.task.id in over and item.task.id in ended:
            arm.tally.known(ended[item.task.id].stop_reason)


async def _is_worked_on(campaign: Campaign) -> bool:
    if not await campaign.exists():
        return False
    return any(worker.silent_s < ALONE_S for worker in await campaign.workers())


class Driver:
    """Keeps as many workers as are wanted, and tells of what they come to.

    Args:
        campaign: what they work on.
        fleet: where they run.
        pace: how they keep in touch.
        say: shows a line to people.
        tell: told of each task that has ended: its position, when, and what is shown of it; False: it was before.
    """

    def __init__(
        self,
        campaign: Campaign,
        fleet: Fleet,
        pace: WorkerPace,
        say: Callable[[str], None],
        tell: Callable[[int, float, str], bool],
    ) -> None:
        self._campaign = campaign
        self._fleet = fleet
        self._pace = pace
        self._say = say
        self._tell = tell
        own = secrets.token_hex(3)
        self._names = (f"{own}-{n}" for n in itertools.count(1))
        """No two drivers of a run give the same."""
        self._started: set[str] = set()
        self._retired: set[str] = set()
        self._begun = 0.0
        self._since = 0.0
        self._fruitless: list[WorkerEnd] = []
        self._start_at = 0.0

    async def drive(self, begun: float) -> str:
        """Until everything has ended, or nothing more can be taken; see `drive_campaign`.

        Args:
            begun: by the database's clock, when what had ended by then was counted.
        """
        self._begun = self._since = begun
        clock = asyncio.get_running_loop().time
        silent_since: float | None = None
        driven_at = 0.0
        while True:
            try:
                if clock() - driven_at > DRIVEN_S:
                    await self._campaign.driven()
                    driven_at = clock()
                why = await self._look()
                if why is not None:
                    return why
                silent_since = None
            except StorageError as error:
                if silent_since is None:
                    silent_since = clock()
                    self._say(f"the database does not answer, and is waited for: {plain(error.what, limit=200)}")
                if clock() - silent_since > self._pace.patience_s:
                    raise
            await asyncio.sleep(LOOK_S)

    async def _look(self) -> str | None:
        """One look; what it stands still for, or empty, where it is over."""
        for name, end in (await self._fleet.gone()).items():
            await self._campaign.leave(name)
            self._mourn(name, end)
        standing = await self._campaign.standing()
        waits, is_held = await self._campaign.left()
        for position, at, outcome in await self._campaign.ended_since(max(self._begun, self._since - OVERLAP_S)):
            self._since = max(self._since, at)
            if self._tell(position, at, outcome):
                self._fruitless.clear()
        if not is_held and not waits:
            return ""
        used_up = CampaignMeter(self._campaign, standing).used_up()
        if not is_held and standing.state != "running":
            return PAUSED
        if not is_held and used_up:
            return used_up
        if waits and standing.state == "running" and not used_up:
            await self._man(standing)
        return None

    async def _man(self, standing: CampaignStanding) -> None:
        """Starts what is missing; lets go of what is too much, the newest first."""
        alive = [name for name in self._fleet.alive if name not in self._retired]
        # of a driver that is gone, or of another one
        others = [one for one in await self._campaign.workers() if one.id not in self._started]
        wanted = max(0, standing.workers - sum(one.silent_s < ALONE_S and not one.retired for one in others))
        for name in alive[wanted:]:
            self._retired.add(name)
            await self._campaign.retire(name)
        clock = asyncio.get_running_loop().time
        if len(alive) < wanted and clock() >= self._start_at:
            for _ in range(wanted - len(alive)):
                name = next(self._names)
                self._started.add(name)
                await self._fleet.start(name)
            # where they die at once they are not started at once
            self._start_at = clock() + min(5.0, 0.5 * len(self._fruitless))

    def _mourn(self, name: str, end: WorkerEnd) -> None:
        if not end.why or name in self._retired:
            return
        self._fruitless.append(end)
        self._say(f"worker {name} is gone, and another one goes on: {plain(end.why, limit=300)}")
        refused = [one for one in self._fruitless if one.own_fault]
        if len(refused) >= REFUSALS or len(self._fruitless) >= FRUITLESS:
            what, _, do = end.why.partition("\n")
            error = ConfigError if end.exit_code != StorageError.exit_code else StorageError
            raise error(
                f"No worker gets anywhere: {plain(what, limit=300)}",
                do=plain(do, limit=300) or "Run it without --workers and --on to see the whole error.",
            )


# `groundwire campaign`: a person steers it while it runs.


def steer_campaign(
    prefix: str,
    flags: Mapping[str, Any],
    *,
    pause: bool,
    workers: int | None,
    at_once: int | None,
    requeue: Sequence[str],
    as_json: bool,
) -> int:
    """Changes what a run's workers are told, and shows how it stands.

    Args:
        prefix: the run's id, or a unique beginning of it.
        flags: where the ledger is; and new totals.
        pause: True: no more tasks are handed out.
        workers: how many there are to be.
        at_once: episodes at a time in each.
        requeue: ids of tasks that are to be taken once more.
        as_json: for scripts.

    Returns:
        The exit code.

    Raises:
        RecordNotFound: it is not a run of several workers, or has no such task.
        ConfigError: a total that it was not begun with, or it is over.
    """
    names = ("usd", "tokens", "calls", "seconds")
    most = {name: float(flags[f"total_{name}"]) for name in names if flags.get(f"total_{name}") is not None}

    async def steer() -> dict[str, Any]:
        async with aclosing(open_store(Settings.resolve({k: v for k, v in flags.items() if k == "db"}))) as store:
            run = await unique_run(store, prefix)
            campaign = Campaign(store, run.id)
            standing = await campaign.standing()
            await _check_steerable(store, run.id, standing, most, requeue)
            requeued = {task: await campaign.requeue(task) for task in requeue}
            await campaign.steer(state="paused" if pause else None, workers=workers, at_once=at_once, most=most)
            return await _told(campaign) | {"requeued": requeued}

    told = asyncio.run(steer())
    if as_json:
        json.dump(told, sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        _show(told)
    return 0


async def _check_steerable(
    store: SqlStore, run_id: str, standing: CampaignStanding, most: Mapping[str, float], requeue: Sequence[str]
) -> None:
    is_over = any(isinstance(end, RunEnd) for end in await store.ends(run_id))
    if is_over and requeue:
        raise ConfigError(f"Run {run_id} is over, and its end is sealed.", do="Run the task in a new run.")
    if most and not standing.most:
        raise ConfigError(
            f"Run {run_id} was begun without totals, so nothing is reserved of any.",
            do=f"Pause it, and give them as it goes on:  groundwire resume {run_id} --total-usd N",
        )


async def _told(campaign: Campaign) -> dict[str, Any]:
    standing = await campaign.standing()
    return {
        "run_id": campaign.run_id,
        "state": standing.state,
        "workers": standing.workers,
        "at_once": standing.at_once or None,
        "tasks": dict(await campaign.counts()),
        "totals": {k: {"most": most, "used": standing.used.get(k)} for k, most in standing.most.items()},
        "seen": [
            {
                "worker": worker.id,
                "place": worker.place,
                "silent_s": round(worker.silent_s, 1),
                "in_flight": worker.in_flight,
                "waits_for": worker.said,
                "retired": worker.retired,
            }
            for worker in await campaign.workers()
        ],
    }


def _show(told: Mapping[str, Any]) -> None:
    console = Console(highlight=False)
    tasks, wanted = told["tasks"], plural(told["workers"], "worker")
    head = f"run {told['run_id']}   {told['state']}   {wanted} wanted"
    console.print(Text(head, style="bold"), soft_wrap=True)
    console.print(
        Text(f"tasks: {tasks['ended']} ended · {tasks['held']} in flight · {tasks['waiting']} waiting"), soft_wrap=True
    )
    for kind, total in told["totals"].items():
        used = "" if total["used"] is None else f"{total['used']:g} of "
        console.print(Text(f"{kind}: {used}{total['most']:g}"), soft_wrap=True)
    for worker in told["seen"]:
        line = f"worker {plain(worker['worker'])}   {plain(worker['place'])}   {worker['in_flight']} in flight"
        waits = f"   takes none: {plain(worker['waits_for'])}" if worker["waits_for"] else ""
        ends = "   retired" if worker["retired"] else ""
        console.print(Text(f"{line}   heard {worker['silent_s']:g} s ago{waits}{ends}", style="dim"), soft_wrap=True)
    for task, state in told["requeued"].items():
        console.print(Text(f"{plain(task)} was {state} and waits to be taken"), soft_wrap=True)
    if told["state"] == "paused":
        said = f"episodes in flight end by themselves; continue with:  groundwire resume {told['run_id']}"
        console.print(Text(said, style="yellow"), soft_wrap=True)
