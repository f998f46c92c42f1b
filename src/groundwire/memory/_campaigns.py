"""A run that several processes work on at once: whose each task is, what may still be spent, and how it is steered.

These tables are working state, not ledger: rows change in place, nothing of them is needed to read, verify or replay a
run, and they are made when a run is first worked on so. Whatever is observed or paid for is in the ledger as ever.

A task is taken by a *lease*: it is its holder's until a moment that the holder keeps moving on. All moments are the
database's clock's, so that the clocks of machines may differ. A holder that is late may lose the task to another one,
and each of its writes to the ledger asks, in the transaction itself, whether the lease still holds: what a process
writes that was taken for dead is refused, and the episode has one writer at a time, whatever happens.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from sqlalchemy import Connection

from groundwire.core._errors import LeaseLost, RecordNotFound
from groundwire.memory import _campaigns_sql as sql
from groundwire.memory._text import unescape

if TYPE_CHECKING:
    from groundwire.memory._sql_store import SqlStore

CampaignState = Literal["running", "paused", "ended"]

# Leases.


@dataclass(frozen=True)
class Lease:
    """One task that a worker holds.

    Args:
        run_id: the run.
        position: of the task in the run's order, counted from 0.
        holder: the worker's id.
        takings: how often the task has been taken, this time counted: no two leases of a task are alike.
        given_up: an episode of the task that somebody has put aside; the next one is a new one.
        task_id: the task.
    """

    run_id: str
    position: int
    holder: str
    takings: int
    given_up: str = ""
    task_id: str = ""

    @property
    def key(self) -> tuple[int, int]:
        """What tells it from all other leases of its run."""
        return self.position, self.takings


current_lease: ContextVar[Lease | None] = ContextVar("groundwire_lease", default=None)
"""The lease under which the running task writes to the ledger; None: it asks nobody."""


def check_leases(session: Connection, leases: Sequence[Lease | None]) -> None:
    """Refuses to go on with a transaction of somebody who has lost a task to another worker.

    Raises:
        LeaseLost: which task it is.
    """
    # in one order, so that two transactions can't wait for each other
    for lease in sorted({one for one in leases if one is not None}, key=lambda one: (one.run_id, one.key)):
        if not sql.HOLDS.rows(session, **_of(lease)):
            raise LeaseLost(
                f"Task {lease.task_id} of run {lease.run_id} was taken over from worker {lease.holder}, so nothing of"
                " it was written.",
                do="Nothing: whoever has it goes on from the ledger.",
            )


def _of(lease: Lease) -> dict[str, Any]:
    return {
        "run_id": lease.run_id,
        "position": lease.position,
        "holder": lease.holder,
        "takings": lease.takings,
    }


def _change(used: Mapping[str, float] | None = None, held: Mapping[str, float] | None = None) -> dict[str, float]:
    """An amount by column."""
    by = {"used": used or {}, "held": held or {}}
    return {f"{what}_{kind}": float(of.get(kind, 0.0)) for what, of in by.items() for kind in sql.COUNTED}


@dataclass(frozen=True)
class CampaignStanding:
    """How a campaign stands.

    Args:
        state: whether tasks are handed out.
        workers: how many are wanted.
        at_once: episodes at a time in each; 0: as a worker sees fit.
        age_s: seconds since it was begun, or gone on with.
        driver_s: seconds since its driver was last heard of.
        most: the ceilings of all episodes together, by kind, `seconds` among them; only those that there are.
        used: what is used, by kind.
        held: what is held for calls under way, by kind.
    """

    state: CampaignState
    workers: int
    at_once: int
    age_s: float
    driver_s: float
    most: Mapping[str, float]
    used: Mapping[str, float]
    held: Mapping[str, float]


@dataclass(frozen=True)
class Orders:
    """What a worker is told when it reports.

    Args:
        standing: of the campaign.
        retired: True: it takes no more tasks.
        held: the leases that are still its own, by `Lease.key`.
    """

    standing: CampaignStanding
    retired: bool
    held: frozenset[tuple[int, int]]


@dataclass(frozen=True)
class WorkerSeen:
    """A worker as it last reported.

    Args:
        id: its own.
        place: machine and process.
        silent_s: seconds since then.
        in_flight: episodes that it was at.
        said: what keeps it from taking more; empty: nothing.
        retired: it takes no more.
    """

    id: str
    place: str
    silent_s: float
    in_flight: int
    said: str
    retired: bool


class Campaign:
    """What the processes that work on one run tell each other.

    Args:
        store: the ledger's database.
        run_id: the run.
    """

    def __init__(self, store: SqlStore, run_id: str) -> None:
        self._store = store
        self.run_id = run_id

    async def exists(self) -> bool:
        """True if several processes have ever worked on the run."""

        def work(session: Connection) -> bool:
            return bool(sql.HAS_TABLES.rows(session)) and bool(sql.READ.rows(session, run_id=self.run_id))

        return await self._store.run_read(work)

    async def open(
        self,
        tasks: Sequence[str],
        ended: frozenset[str],
        *,
        workers: int,
        at_once: int,
        most: Mapping[str, float],
        used: Mapping[str, Mapping[str, float]] | None,
    ) -> frozenset[str]:
        """Begins it, or goes on with it: how many workers there are to be is then as it was last told.

        Args:
            tasks: ids, in order.
            ended: those of them that need no work.
            workers: how many are wanted.
            at_once: episodes at a time in each; 0: as a worker sees fit.
            most: as in `CampaignStanding`.
            used: by episode, what the ledger says was used; None: it is counted already.

        Returns:
            The tasks that need no work: of those that `ended` names, all but those that somebody has requeued.
        """

        def work(session: Connection) -> frozenset[str]:
            if not sql.HAS_TABLES.rows(session):
                sql.TABLES_LOCK.rows(session, key=sql.LOCK)
                for table in sql.TABLES:
                    table.change(session)
            ceilings = {f"max_{kind}": most.get(kind) for kind in sql.COUNTED}
            own = {"run_id": self.run_id}
            told = {"workers": workers, "at_once": at_once, "seconds": most.get("seconds"), **ceilings}
            sql.OPEN.change(session, **own, **told)
            rows = [
                {**own, "position": n, "task_id": task, "state": "ended" if task in ended else "waiting"}
                for n, task in enumerate(tasks)
            ]
            sql.ADD_TASK.change_each(session, rows)
            if used is not None:
                totals = {k: sum(one[k] for one in used.values()) for k in sql.COUNTED}
                sql.FORGET_USES.change(session, **own)
                sql.NOTE_USE.change_each(session, [{**own, "episode_id": e, **_change(one)} for e, one in used.items()])
                sql.BOOK_ANEW.change(session, **own, **_change(totals))
            return frozenset(unescape(row[0]) for row in sql.ENDED.rows(session, **own))

        return await self._store.run_write(work)

    async def standing(self) -> CampaignStanding:
        """How it stands.

        Raises:
            RecordNotFound: only one process has worked on the run.
        """
        return await self._store.run_read(lambda session: self._standing(session))

    def _standing(self, session: Connection) -> CampaignStanding:
        found = sql.READ.rows(session, run_id=self.run_id) if sql.HAS_TABLES.rows(session) else ()
        if not found:
            raise RecordNotFound(
                f"Run {self.run_id} is not one that several processes work on.",
                do="Begin it with --workers N or --on; see docs/scale.md.",
            )
        state, workers, at_once, age_s, driver_s, seconds, *counted = found[0]
        size = len(sql.COUNTED)
        maxima, used, held = counted[:size], counted[size : 2 * size], counted[2 * size :]
        most = {"seconds": seconds, **dict(zip(sql.COUNTED, maxima, strict=True))}
        return CampaignStanding(
            state,
            workers,
            at_once,
            age_s,
            driver_s,
            {kind: value for kind, value in most.items() if value is not None},
            dict(zip(sql.COUNTED, used, strict=True)),
            dict(zip(sql.COUNTED, held, strict=True)),
        )

    async def counts(self) -> Mapping[str, int]:
        """Tasks by state: `waiting`, `held`, `ended`."""
        rows: Sequence[Any] = await self._store.run_read(lambda session: sql.COUNTS.rows(session, run_id=self.run_id))
        return {"waiting": 0, "held": 0, "ended": 0, **dict(rows)}

    async def left(self) -> tuple[bool, bool]:
        """Whether any task waits, and whether any is held."""
        rows = await self._store.run_read(lambda session: sql.LEFT.rows(session, run_id=self.run_id))
        return bool(rows[0][0]), bool(rows[0][1])

    async def workers(self) -> Sequence[WorkerSeen]:
        """The workers that have reported, and not left."""
        rows = await self._store.run_read(lambda session: sql.WORKERS.rows(session, run_id=self.run_id))
        return [
            WorkerSeen(unescape(i), unescape(place), silent, flight, unescape(said), bool(retired))
            for i, place, silent, flight, said, retired in rows
        ]

    # What workers do.

    async def take(self, holder: str, lease_s: float) -> Lease | None:
        """The next task that waits, for `lease_s` seconds; None where none does, or the campaign does not run."""
        rows = await self._store.run_write(
            lambda session: sql.TAKE.rows(session, run_id=self.run_id, holder=holder, lease_s=lease_s)
        )
        if not rows:
            return None
        position, takings, given_up, task_id = rows[0]
        return Lease(self.run_id, position, holder, takings, unescape(given_up), unescape(task_id))

    async def report(self, holder: str, *, place: str, in_flight: int, said: str, lease_s: float) -> Orders:
        """Says that a worker lives, moves its leases on, and frees those of workers that have gone silent."""

        def work(session: Connection) -> Orders:
            own = {"run_id": self.run_id, "holder": holder}
            held = sql.RENEW.rows(session, **own, lease_s=lease_s)
            sql.FREE_EXPIRED.change(session, run_id=self.run_id)
            sql.SEEN.change(session, **own, place=place, in_flight=in_flight, said=said)
            retired = bool(sql.IS_RETIRED.rows(session, **own)[0][0])
            return Orders(self._standing(session), retired, frozenset((row[0], row[1]) for row in held))

        return await self._store.run_write(work)

    async def finish(self, lease: Lease, outcome: str) -> bool:
        """Says that a task has ended, with what is shown of it; False where it was another's by then."""
        changed = await self._store.run_write(lambda session: sql.FINISH.change(session, **_of(lease), outcome=outcome))
        return changed == 1

    async def give_back(self, lease: Lease) -> None:
        """Lets somebody else take a task at once."""
        await self._store.run_write(lambda session: sql.FREE_ONE.change(session, **_of(lease)))

    async def leave(self, holder: str) -> None:
        """A worker is gone, by itself or because it died: what it held waits again."""

        def work(session: Connection) -> None:
            sql.FREE_HOLDER.change(session, run_id=self.run_id, holder=holder)
            sql.GONE.change(session, run_id=self.run_id, holder=holder)

        await self._store.run_write(work)

    async def episode_of(self, lease: Lease, *, is_first_try: bool) -> str | None:
        """The episode of the task to go on with; None: it has none but one that was put aside.

        Args:
            lease: what is held.
            is_first_try: under this lease nothing was begun yet.
        """
        if lease.takings == 1 and is_first_try:
            return None  # nobody has had it before
        values = {"run_id": self.run_id, "task_id": lease.task_id, "namespace": self._store.namespace}
        rows = await self._store.run_read(lambda session: sql.LATEST.rows(session, **values))
        found = unescape(rows[0][0]) if rows else ""
        return found if found and found != lease.given_up else None

    # What a run's budget says.

    async def hold(self, episode_id: str, most: Mapping[str, float]) -> bool:
        """Holds the most that a step can cost, in one transaction; False: so much is not left, and nothing is held.

        Args:
            episode_id: whose step it is.
            most: by kind.
        """
        change = _change(held=most)

        def work(session: Connection) -> bool:
            if sql.HOLD.change(session, run_id=self.run_id, **change) == 0:
                return False
            sql.NOTE_USE.change(session, run_id=self.run_id, episode_id=episode_id, **change)
            return True

        return await self._store.run_write(work)

    async def settle(self, episode_id: str, most: Mapping[str, float], spent: Mapping[str, float]) -> None:
        """Books what a step did cost in place of what was held for it."""
        change = _change(spent, {kind: -value for kind, value in most.items()})
        await self._store.run_write(lambda session: self._book(session, episode_id, change))

    async def set_right(self, episode_id: str, used: Mapping[str, float]) -> None:
        """Books for an episode what the ledger says of it, whatever a worker that died had held."""

        def work(session: Connection) -> None:
            rows = sql.USE_OF.rows(session, run_id=self.run_id, episode_id=episode_id)
            before = dict(zip(sql.AMOUNTS, rows[0], strict=True)) if rows else {}
            after = _change(used)
            change = {name: after[name] - before.get(name, 0.0) for name in sql.AMOUNTS}
            self._book(session, episode_id, change)

        await self._store.run_write(work)

    def _book(self, session: Connection, episode_id: str, change: Mapping[str, float]) -> None:
        sql.BOOK.change(session, run_id=self.run_id, **change)
        sql.NOTE_USE.change(session, run_id=self.run_id, episode_id=episode_id, **change)

    # What a driver, or a person, does.

    async def ended_since(self, moment: float) -> Sequence[tuple[int, float, str]]:
        """Tasks that workers have ended from a moment on: position, moment, and what is shown of it."""
        rows = await self._store.run_read(
            lambda session: sql.ENDED_SINCE.rows(session, run_id=self.run_id, since=moment)
        )
        return [(position, at, unescape(outcome)) for position, at, outcome in rows]

    async def now(self) -> float:
        """The database's clock: seconds since 1970."""
        rows = await self._store.run_read(lambda session: sql.NOW.rows(session))
        return float(rows[0][0])

    async def driven(self) -> None:
        """Says that a driver lives, and frees the leases of workers that have gone silent."""

        def work(session: Connection) -> None:
            sql.DRIVEN.change(session, run_id=self.run_id)
            sql.FREE_EXPIRED.change(session, run_id=self.run_id)

        await self._store.run_write(work)

    async def retire(self, holder: str) -> None:
        """Lets a worker end what it is at, and take nothing more."""
        await self._store.run_write(lambda session: sql.RETIRE.change(session, run_id=self.run_id, holder=holder))

    async def steer(
        self,
        *,
        state: CampaignState | None = None,
        workers: int | None = None,
        at_once: int | None = None,
        most: Mapping[str, float] | None = None,
    ) -> None:
        """Changes what it is told; None: as it is. Workers obey with their next report."""

        def work(session: Connection) -> None:
            for statement, value in ((sql.SET_WORKERS, workers), (sql.SET_AT_ONCE, at_once)):
                if value is not None:
                    statement.change(session, run_id=self.run_id, value=value)
            for kind, value in (most or {}).items():
                sql.SET_MOST[kind].change(session, run_id=self.run_id, value=value)
            if state is not None:
                sql.SET_STATE.change(session, run_id=self.run_id, state=state)

        await self._store.run_write(work)

    async def end(self) -> bool:
        """Says that it is over; False where somebody has said so before."""
        return await self._store.run_write(lambda session: sql.END.change(session, run_id=self.run_id)) == 1

    async def requeue(self, task_id: str) -> str:
        """Lets a task be taken once more: one that is held goes on with another worker; one that has ended gets a new
        episode, and the old one stays in the ledger.

        Returns:
            How it stood before: `waiting`, `held` or `ended`.

        Raises:
            RecordNotFound: the run has no such task.
        """

        def work(session: Connection) -> str:
            rows = sql.TASK_STATE.rows(session, run_id=self.run_id, task_id=task_id)
            if not rows:
                raise RecordNotFound(
                    f"Run {self.run_id} has no task {task_id}.", do=f"List them:  groundwire show {self.run_id}"
                )
            state: str = rows[0][0]
            given_up = ""
            if state == "ended":
                latest = sql.LATEST.rows(session, run_id=self.run_id, task_id=task_id, namespace=self._store.namespace)
                given_up = unescape(latest[0][0]) if latest else ""
            if state != "waiting":
                sql.REQUEUE.change(session, run_id=self.run_id, task_id=task_id, given_up=given_up)
            return state

        return await self._store.run_write(work)
