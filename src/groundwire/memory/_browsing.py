"""The ledger as a person looks through it: pages of runs and episodes, filtered and sorted by the database, and a
search in what was said. It reads and never writes."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from sqlalchemy import Connection

from groundwire.core._text import well_formed
from groundwire.memory._browsing_sql import (
    ARTIFACTS,
    ENDED_AT,
    EPISODE,
    NEWEST,
    ONE_RUN,
    OUTCOMES,
    PLACES,
    STOPS,
    TASKS,
    USED,
    VERDICTS,
    RunSort,
    Sort,
    episodes_sql,
    runs_sql,
    search_sql,
)
from groundwire.memory._sql_store import SqlStore
from groundwire.memory._text import unescape

T = TypeVar("T")

PAGE = 50
"""Rows of a page, unless another number is asked for."""
MOST_ROWS = 500
HITS = 40
"""Places of one kind that a search shows."""
AROUND = 120
"""Characters around what was found, to each side."""


@dataclass(frozen=True)
class Page(Generic[T]):
    """A part of a list.

    Args:
        rows: what is on it.
        total: how many the whole list has.
        number: of the page, counted from 1.
        size: rows of a full page.
    """

    rows: Sequence[T]
    total: int
    number: int
    size: int

    @property
    def pages(self) -> int:
        """How many there are; at least one."""
        return max(1, -(-self.total // self.size))


@dataclass(frozen=True)
class RunSummary:
    """A run in a list.

    Args:
        id: its id.
        namespace: whose it is.
        graph: name of its graph.
        config: canonical JSON of what was asked for.
        version: groundwire's.
        created_at: when it began.
        ended_at: when it ended; empty where it goes on or was cut off.
        verdicts: episodes by verdict; those that have not ended by `open`.
        tasks: how many different ones.
        tokens: of its model calls, prompts and completions.
        usd: what these cost, as far as the price is known; None where no price is known and something was used.
        calls: its model calls.
        task: the one task that it has; empty where there are several.
        model: what was called; empty where no model was.
    """

    id: str
    namespace: str
    graph: str
    config: str
    version: str
    created_at: str
    ended_at: str
    verdicts: Mapping[str, int]
    tasks: int
    tokens: int
    usd: float | None
    calls: int
    task: str
    model: str

    @property
    def episodes(self) -> int:
        """How many."""
        return sum(self.verdicts.values())

    @property
    def control_of(self) -> str:
        """The run that this one is the control arm of; empty where it is none."""
        try:
            config = json.loads(self.config or "{}")
        except (ValueError, RecursionError):  # changed since: the other runs are listed all the same
            return ""
        return str(config.get("control_of") or "") if isinstance(config, dict) else ""  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]  # JSON


@dataclass(frozen=True)
class RunStanding:
    """How far a run has come.

    Args:
        ended_at: when it ended; empty where it has not.
        verdicts: episodes by what they came to; `open`: they have not ended.
        tasks: different ones.
    """

    ended_at: str
    verdicts: Mapping[str, int]
    tasks: int

    @property
    def episodes(self) -> int:
        """How many have begun."""
        return sum(self.verdicts.values())


@dataclass(frozen=True)
class EpisodeSummary:
    """An episode in a list.

    Args:
        id: its id.
        run_id: its run.
        task_id: its task.
        family: of the task.
        seed: its seed.
        created_at: when it began.
        verdict: what it came to; `open` where it has not ended.
        stop_reason: why it ended; empty where it has not.
        detail: the same for people.
        ended_at: when; empty where it has not.
        trials: trials after the baseline.
        tokens: of its model calls, prompts and completions.
        usd: what these cost, as far as the price is known.
    """

    id: str
    run_id: str
    task_id: str
    family: str
    seed: int
    created_at: str
    verdict: str
    stop_reason: str
    detail: str
    ended_at: str
    trials: int
    tokens: int
    usd: float | None


@dataclass(frozen=True)
class Hit:
    """A place where a text was found.

    Args:
        kind: what it stands in: `prompt`, `answer`, `observation`, `reflection`, `candidate`, `program` or `task`.
        episode_id: the episode.
        run_id: its run.
        task_id: its task.
        trial: the trial.
        place: what names the row: id of the model call, signal, lesson or program run, or the candidate's digest.
        excerpt: what stands around it, read out of the JSON that it is kept in; hostile.
    """

    kind: str
    episode_id: str
    run_id: str
    task_id: str
    trial: int
    place: str
    excerpt: str


class LedgerBrowser:
    """Looks through the ledger of one namespace.

    Args:
        store: the ledger.
    """

    def __init__(self, store: SqlStore) -> None:
        self._store = store

    @property
    def store(self) -> SqlStore:
        """The ledger that it looks through."""
        return self._store

    async def runs(
        self,
        *,
        text: str = "",
        sort: RunSort = RunSort.NEWEST,
        descends: bool | None = None,
        page: int = 1,
        size: int = PAGE,
        namespaces: Sequence[str] = (),
    ) -> Page[RunSummary]:
        """A page of runs.

        Args:
            text: only those whose id, graph, configuration or a task's id contains it, whatever the case.
            sort: their order.
            descends: the greatest first; None: as people mostly want it (names from A, the newest and most first).
            page: counted from 1.
            size: rows of a page, at most 500.
            namespaces: whose; without any, the ledger's own.
        """
        size, page = max(1, min(size, MOST_ROWS)), max(1, page)
        whose = namespaces or (self._store.namespace,)
        way = sort.descends if descends is None else descends

        def work(session: Connection) -> Page[RunSummary]:
            values: dict[str, Any] = {"text": text, **{f"namespace{at}": name for at, name in enumerate(whose)}}
            limits = {"limit": size, "offset": (page - 1) * size}
            rows = runs_sql(len(whose), sort, descends=way).rows(session, **values, **limits)
            total: int = runs_sql(len(whose), None).rows(session, **values)[0][0]
            return Page([self._summary(session, row) for row in rows], total, page, size)

        return await self._store.run_read(work)

    async def run(self, run_id: str) -> RunSummary | None:
        """One run; None where there is none of that id."""

        def work(session: Connection) -> RunSummary | None:
            rows = ONE_RUN.rows(session, run=run_id, namespace=self._store.namespace)
            return self._summary(session, rows[0]) if rows else None

        return await self._store.run_read(work)

    async def standing(self, run_id: str) -> RunStanding:
        """How far a run has come; counted by the database, however many episodes it has."""

        def work(session: Connection) -> RunStanding:
            ended = ENDED_AT.rows(session, run=run_id)
            verdicts, tasks, _ = self._counted(session, run_id, self._store.namespace)
            return RunStanding(ended[0][0] if ended else "", verdicts, tasks)

        return await self._store.run_read(work)

    def _counted(self, session: Connection, run_id: str, namespace: str) -> tuple[Mapping[str, int], int, str]:
        """Episodes by verdict, how many tasks there are, and the name of one."""
        found = VERDICTS.rows(session, run=run_id, namespace=namespace)
        ((tasks, task),) = TASKS.rows(session, run=run_id)
        return {unescape(verdict): count for verdict, count in found}, int(tasks), unescape(task)

    def _summary(self, session: Connection, row: Sequence[Any]) -> RunSummary:
        run_id, namespace, graph, config, version, created_at, ended_at = [unescape(part) for part in row]
        verdicts, tasks, task = self._counted(session, run_id, namespace)
        ((tokens, usd, priced, calls, model, last_model),) = USED.rows(session, run=run_id)
        return RunSummary(
            id=run_id,
            namespace=namespace,
            graph=graph,
            config=config,
            version=version,
            created_at=created_at,
            ended_at=ended_at,
            verdicts=verdicts,
            tasks=tasks,
            tokens=int(tokens),
            usd=float(usd) if priced else None if calls and tokens else 0.0,
            calls=int(calls),
            task=task if tasks == 1 else "",
            model=unescape(model if model == last_model else f"{model or last_model} and others"),
        )

    async def episodes(
        self,
        *,
        run_id: str = "",
        verdict: str = "",
        stop: str = "",
        family: str = "",
        text: str = "",
        sort: Sort = Sort.NEWEST,
        descends: bool | None = None,
        page: int = 1,
        size: int = PAGE,
    ) -> Page[EpisodeSummary]:
        """Episodes; each filter that is empty lets all through.

        Args:
            run_id: only of this run.
            verdict: only these: `pass`, `fail`, `none`, or `open` for what has not ended.
            stop: only those that ended for this reason.
            family: only of this family.
            text: only those whose task's id contains it, whatever the case.
            sort: their order.
            descends: the greatest first; None: as people mostly want it (names from A, the newest and most first).
            page: counted from 1.
            size: rows of a page, at most 500.
        """
        given = {"run": run_id, "verdict": verdict, "stop": stop, "family": family, "text": text}
        values = {name: value for name, value in given.items() if value}
        size, page = max(1, min(size, MOST_ROWS)), max(1, page)
        way = sort.descends if descends is None else descends

        def work(session: Connection) -> Page[EpisodeSummary]:
            named = {"namespace": self._store.namespace, **values}
            limits = {"limit": size, "offset": (page - 1) * size}
            rows = episodes_sql(tuple(values), sort, descends=way).rows(session, **named, **limits)
            total: int = episodes_sql(tuple(values), None).rows(session, **named)[0][0]
            return Page([_episode(row) for row in rows], total, page, size)

        return await self._store.run_read(work)

    async def outcomes(self, run_id: str) -> Sequence[tuple[str, int, str, str]]:
        """(task, seed, episode, verdict) of all episodes of a run, oldest first; `open` where one has not ended."""
        values = {"run": run_id, "namespace": self._store.namespace}
        rows = await self._store.run_read(lambda session: OUTCOMES.rows(session, **values))
        return [(unescape(task), int(seed), unescape(episode), str(verdict)) for task, seed, episode, verdict in rows]

    async def stop_reasons(self, run_id: str) -> Mapping[str, int]:
        """Why the episodes of a run ended, the commonest first."""
        values = {"run": run_id, "namespace": self._store.namespace}
        rows = await self._store.run_read(lambda session: STOPS.rows(session, **values))
        return {unescape(reason): count for reason, count in rows}

    async def names_of(self, episode_id: str) -> tuple[str, str]:
        """The run and the task of an episode; empty where there is no such episode."""
        values = {"id": episode_id, "namespace": self._store.namespace}
        rows = await self._store.run_read(lambda session: EPISODE.rows(session, **values))
        return (unescape(rows[0][0]), unescape(rows[0][1])) if rows else ("", "")

    async def search(self, text: str, *, run_id: str = "", limit: int = HITS) -> Sequence[Hit]:
        """Places in prompts, answers, what tools saw, reflections, notes and programs' outputs that contain a text,
        whatever the case; of each kind the newest.

        Args:
            text: what is looked for; no pattern.
            run_id: only in this run.
            limit: places of each kind.
        """
        if not text.strip():
            return []

        def work(session: Connection) -> Sequence[Hit]:
            values: dict[str, Any] = {"namespace": self._store.namespace, "around": AROUND, "limit": limit}
            values |= {"run": run_id} if run_id else {}
            return [
                _hit(kind, row)
                for kind in PLACES
                for spelt in _spellings(kind, text)
                for row in search_sql(kind, in_run=bool(run_id)).rows(
                    session, **values, text=spelt, length=2 * AROUND + len(spelt)
                )
            ]

        return await self._store.run_read(work)

    async def newest(self) -> int:
        """The number of the last record that anybody wrote; it grows whenever something is written."""
        rows = await self._store.run_read(NEWEST.rows)
        return max(rows[0])

    async def artifacts(self, prefix: str) -> Sequence[bytes]:
        """Bodies of the artifacts whose keys begin with a text, in the keys' order."""
        values = {"low": prefix, "high": f"{prefix}\U0010fffd"}
        rows = await self._store.run_read(lambda session: ARTIFACTS.rows(session, **values))
        return [bytes(row[0]) for row in rows]


_AS_JSON = frozenset({"prompt", "answer", "observation"})


def _spellings(kind: str, text: str) -> Sequence[str]:
    """How a text is kept: bodies of requests, completions and signals are JSON, some of it in ASCII alone."""
    if kind not in _AS_JSON:
        return [text]
    return sorted({json.dumps(text, ensure_ascii=in_ascii)[1:-1] for in_ascii in (False, True)})


def _hit(kind: str, row: Sequence[Any]) -> Hit:
    episode_id, run_id, task_id, trial, place, excerpt = row
    return Hit(
        kind=kind,
        episode_id=unescape(episode_id),
        run_id=unescape(run_id),
        task_id=unescape(task_id),
        trial=int(trial),
        place=unescape(place),
        excerpt=_read(kind, excerpt),
    )


_ESCAPES = re.compile(r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})')


def _read(kind: str, excerpt: str) -> str:
    """A piece of a body as it was said. What it was cut out of is JSON, so an escape may be cut at either end."""
    text = unescape(excerpt)
    if kind not in _AS_JSON:
        return text
    return well_formed(_ESCAPES.sub(lambda found: str(json.loads(f'"{found[0]}"')), text))


def _episode(row: Sequence[Any]) -> EpisodeSummary:
    texts = [unescape(str(part)) for part in (*row[:4], *row[5:10])]
    episode_id, run_id, task_id, family, created_at, verdict, stop_reason, detail, ended_at = texts
    return EpisodeSummary(
        id=episode_id,
        run_id=run_id,
        task_id=task_id,
        family=family,
        seed=int(row[4]),
        created_at=created_at,
        verdict=verdict,
        stop_reason=stop_reason,
        detail=detail,
        ended_at=ended_at,
        trials=int(row[10]),
        tokens=int(row[11]),
        usd=None if row[12] is None else float(row[12]),
    )
