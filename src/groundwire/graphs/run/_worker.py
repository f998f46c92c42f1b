"""One of the processes that work on a run together: it takes tasks by lease, and many of its episodes are in flight.

What workers share is the database (`groundwire.memory._campaigns`): a task is one worker's at a time, and what the
run's budget allows is reserved there before it is spent. A worker that dies loses its leases when they have run out,
or at once where somebody saw it die; who takes such a task over goes on with its episode from the ledger, and pays
again for nothing but what was in flight. Each worker has sandboxes of its own.
"""

from __future__ import annotations

import asyncio
import os
import platform
import random
import shutil
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from groundwire.core._errors import BudgetExceeded, LeaseLost, StorageError
from groundwire.graphs.replay._reuse import Reuse
from groundwire.graphs.run._batch import QUEUE, QueuedEpisode
from groundwire.graphs.run._budget import KINDS, Amount, BudgetAccount, RunBudget, RunMeter, run_meters, spent_on
from groundwire.graphs.run._in_flight import InFlight
from groundwire.graphs.run._result import EpisodeResult
from groundwire.graphs.run._sandboxes import Sandboxes
from groundwire.memory import SqlStore
from groundwire.memory._campaigns import Campaign, CampaignStanding, Lease, Orders, current_lease

T = TypeVar("T")

ROOM_BYTES = 64 * 1024 * 1024
"""Free space for sandboxes under which a machine takes no more tasks."""


DRIVEN_S = 5.0
"""Seconds between two signs of life of whoever drives a run."""
ALONE_S = 4 * DRIVEN_S
"""Seconds after which who has given none is gone."""


@dataclass(frozen=True)
class WorkerPace:
    """How a worker keeps in touch; seconds.

    Args:
        lease_s: a task is somebody else's when nothing was heard of its holder for so long.
        report_s: between two reports.
        look_s: between two looks for a task where none waits.
        patience_s: a database that does not answer is waited for as long as this.
    """

    lease_s: float = 60.0
    report_s: float = 5.0
    look_s: float = 0.25
    patience_s: float = 600.0


def no_room() -> str:
    """Why this machine can hold no more sandboxes; empty: it can."""
    free = shutil.disk_usage(tempfile.gettempdir()).free
    return "" if free >= ROOM_BYTES else f"{free // 2**20} MiB are free in {tempfile.gettempdir()}"


def amounts(amount: Amount) -> dict[str, float]:
    """By kind, as the database counts."""
    return {kind: float(amount.of(kind)) for kind in KINDS}


class CampaignMeter(RunMeter):
    """What a run has left for all of its workers: steps are reserved in the database, one by one.

    All together use no more than the run has, but for what a call costs beyond the most that it was reserved at.

    Args:
        campaign: where it is counted.
        standing: what the budget is, and what was used.
    """

    def __init__(self, campaign: Campaign, standing: CampaignStanding) -> None:
        super().__init__(RunBudget())
        self._campaign = campaign
        self.shared = self
        self.told(standing)

    def told(self, standing: CampaignStanding) -> None:
        """Takes over what was heard of the budget last."""
        whole = ("tokens", "calls", "trials")
        most = {kind: int(value) if kind in whole else value for kind, value in standing.most.items()}
        self.budget = RunBudget.model_validate(most)
        self._start = self._clock() - standing.age_s
        self._seen = BudgetAccount(self.budget.ceilings, "the run")
        self._seen.book(_amount(standing.used))
        self._seen.hold(0, _amount(standing.held))

    def used_up(self, *, trials: bool = True) -> str:
        """See `RunMeter`; as of the last report."""
        if self.seconds_left() == 0:
            return "seconds"
        return next((kind for kind in KINDS if (trials or kind != "trials") and self._seen.used_up(kind)), "")

    async def hold(self, episode_id: str, most: Amount) -> None:
        """See `SharedAccount`."""
        if not self._counts or await self._campaign.hold(episode_id, amounts(most)):
            return
        self.told(await self._campaign.standing())
        self._seen.check(most)
        raise BudgetExceeded("run", "Other workers had reserved what was left.", do="Raise the run's budget.")

    async def settle(self, episode_id: str, most: Amount, spent: Amount) -> None:
        """See `SharedAccount`; where the database does not answer, the most stays held until the episode is taken up
        again."""
        if not self._counts:
            return
        with suppress(StorageError):
            await self._campaign.settle(episode_id, amounts(most), amounts(spent))
            self._seen.book(spent)

    @property
    def _counts(self) -> bool:
        """Without a ceiling there is nothing to reserve."""
        return any(ceiling is not None for ceiling in self.budget.ceilings.values())


def _amount(by_kind: Mapping[str, float]) -> Amount:
    return Amount(by_kind["usd"], int(by_kind["tokens"]), int(by_kind["calls"]), int(by_kind["trials"]))


@dataclass
class Worker:
    """Works on a run until nothing is left to take.

    Args:
        store: ledger, memory and the campaign's database.
        campaign: the run.
        name: its own, among the run's workers.
        work: makes the episode of the task at a position.
        ended: what is shown of a result, as a driver reads it.
        sandboxes: its own; their owner closes them.
        at_once: episodes at a time, unless the campaign says; None: as for `run_batch`.
        reuse: as for `FeedbackApp.arun`.
        pace: how it keeps in touch.
        no_room: why no more sandboxes fit on this machine; empty: they do.
    """

    store: SqlStore
    campaign: Campaign
    name: str
    work: Callable[[int], QueuedEpisode]
    ended: Callable[[int, EpisodeResult], str]
    sandboxes: Sandboxes
    at_once: int | None = None
    reuse: Reuse = "never"
    pace: WorkerPace = field(default_factory=WorkerPace)
    no_room: Callable[[], str] = no_room
    _running: dict[tuple[int, int], asyncio.Task[None]] = field(init=False, default_factory=dict[Any, Any])
    _said: str = field(init=False, default="")
    _stops: bool = field(init=False, default=False)
    """No more tasks are taken."""
    _reporting: asyncio.Future[Orders] | None = field(init=False, default=None)
    """The last report, which goes on though whoever waits for it is cancelled."""

    async def run(self) -> None:
        """Takes tasks until none is left, the campaign is paused or ended, or this worker is retired.

        Raises:
            StorageError: the database did not answer for longer than is waited.
            Exception: whatever is no outcome of an episode.
        """
        meter = CampaignMeter(self.campaign, await self._patiently(self.campaign.standing))
        run_meters(self.store).share(self.campaign.run_id, meter)
        self._meter = meter
        self._in_flight = InFlight(self.at_once)
        self._taking = asyncio.Lock()
        await self._report()
        reporting = asyncio.create_task(self._reports())
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(QUEUE):  # most of them wait for a slot, of which there may be more later
                    group.create_task(self._episodes())
        except BaseExceptionGroup as several:
            raise several.exceptions[0] from None
        finally:
            reporting.cancel()
            await asyncio.gather(reporting, return_exceptions=True)
            run_meters(self.store).end(self.campaign.run_id)
            await asyncio.shield(self._leave())

    async def _leave(self) -> None:
        if self._reporting is not None:  # a report that is on its way would list it once more
            await asyncio.gather(self._reporting, return_exceptions=True)
        with suppress(StorageError):  # then its leases run out by themselves
            await self.campaign.leave(self.name)

    async def is_left_to_end_it(self) -> bool:
        """Waits, when nothing is left to take, for whoever drives the run to end it.

        Returns:
            True where nobody drives it any more: then it is this worker, and no other, that ends it.
        """
        while not any(await self._patiently(self.campaign.left)):
            standing = await self._patiently(self.campaign.standing)
            if standing.state == "ended":
                return False
            if standing.driver_s > ALONE_S:
                return await self.campaign.end()
            await asyncio.sleep(4 * self.pace.look_s)
        return False

    # What it hears.

    async def _reports(self) -> None:
        while True:
            await asyncio.sleep(self.pace.report_s)
            await self._report()

    async def _report(self) -> None:
        place = f"{platform.node()}:{os.getpid()}"

        async def report() -> Orders:
            told = self.campaign.report(
                self.name,
                place=place,
                in_flight=len(self._running),
                said=self._said,
                lease_s=self.pace.lease_s,
            )
            self._reporting = asyncio.ensure_future(told)
            return await asyncio.shield(self._reporting)

        mine = set(self._running)
        orders = await self._patiently(report)
        self._meter.told(orders.standing)
        for key in mine - orders.held:
            if task := self._running.get(key):
                task.cancel()  # somebody else has it; whatever it writes is refused
        if orders.retired or orders.standing.state != "running":
            self._stops = True
        wanted = orders.standing.at_once
        if wanted and wanted != self._in_flight.admission.fixed:
            self._in_flight.admission.fixed = wanted
            self._in_flight.look()

    # What it does.

    async def _episodes(self) -> None:
        while True:
            async with self._in_flight.slot():
                lease = await self._next()
                if lease is None:
                    return
                await self._one(lease)

    async def _next(self) -> Lease | None:
        """The next task; waits while others hold what is left of tasks or budget, since they may yet give it back."""
        async with self._taking:
            while not self._stops:
                self._said = self.no_room()
                if not self._said and not self._meter.used_up():
                    lease = await self._patiently(lambda: self.campaign.take(self.name, self.pace.lease_s))
                    if lease is not None:
                        return lease
                waits, is_held = await self._patiently(self.campaign.left)
                if not is_held and (not waits or self._meter.used_up()):
                    self._stops = True
                    break
                await asyncio.sleep(self.pace.look_s * (0.5 + random.random()))
            return None

    async def _one(self, lease: Lease) -> None:
        """An episode to its end, however often the database goes away meanwhile."""
        task = asyncio.create_task(self._until_ended(lease))
        self._running[lease.key] = task
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            raise
        finally:
            del self._running[lease.key]
        if not task.cancelled():  # else it was lost to another worker
            task.result()

    async def _until_ended(self, lease: Lease) -> None:
        current_lease.set(lease)
        is_first_try = True
        while True:
            try:
                outcome = self.ended(lease.position, await self._episode(lease, is_first_try=is_first_try))
                await self._patiently(partial(self.campaign.finish, lease, outcome))
                return
            except LeaseLost:
                return
            except StorageError:
                # what was kept is kept; it is gone on with as soon as the database answers
                is_first_try = False
                await self._patiently(self.campaign.standing)
                await asyncio.sleep(self.pace.look_s)

    async def _episode(self, lease: Lease, *, is_first_try: bool) -> EpisodeResult:
        """One episode, from its beginning or from where another worker, or this one before, left it."""
        work = self.work(lease.position)
        known = await self.campaign.episode_of(lease, is_first_try=is_first_try)
        if known is not None:
            records = await self.store.records(known)
            await self.campaign.set_right(known, amounts(spent_on(records)))
        return await work.app.arun(
            work.task,
            run_id=self.campaign.run_id,
            episode_id=known,
            seed=work.seed,
            observers=(),
            sandboxes=self.sandboxes,
            reuse=self.reuse,
            on_error="end",
            error=work.error,
        )

    async def _patiently(self, work: Callable[[], Awaitable[T]]) -> T:
        """Does what is asked of the database, again while that does not answer.

        Raises:
            StorageError: it did not for longer than this worker waits.
        """
        clock = asyncio.get_running_loop().time
        end, wait_s = clock() + self.pace.patience_s, self.pace.look_s
        while True:
            try:
                return await work()
            except LeaseLost:
                raise
            except StorageError:
                if clock() + wait_s > end:
                    raise
                await asyncio.sleep(wait_s * (0.5 + random.random()))
                wait_s = min(2 * wait_s, 5.0)
