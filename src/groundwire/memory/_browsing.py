"""The ledger as a person looks through it: pages of runs and episodes, filtered and sorted by the database, and a
search in what was said. It reads and never writes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any, Generic, TypeVar

from sqlalchemy import Connection

from groundwire.memory._sql import Sql
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
OPEN = "open"
"""Instead of a verdict: the episode has not ended."""


class Sort(StrEnum):
    """What a page of episodes is sorted by."""

    NEWEST = "newest"
    OLDEST = "oldest"
    TASK = "task"
    VERDICT = "verdict"
    TRIALS = "trials"
    TOKENS = "tokens"
    COST = "cost"


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

    @property
    def episodes(self) -> int:
        """How many."""
        return sum(self.verdicts.values())

    @property
    def control_of(self) -> str:
        """The run that this one is the control arm of; empty where it is none."""
        config = json.loads(self.config or "{}")
        return str(config.get("control_of") or "") if isinstance(config, dict) else ""  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]  # JSON


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
        excerpt: what stands around it; as it is kept, so hostile.
    """

    kind: str
    episode_id: str
    run_id: str
    task_id: str
    trial: int
    excerpt: str


_LAST_END = "(SELECT max(x.seq) FROM episode_ends x WHERE x.episode_id = e.id)"
_ENDED = f"episodes e LEFT JOIN episode_ends n ON n.seq = {_LAST_END}"
_TRIALS = "(SELECT count(*) FROM trials t WHERE t.episode_id = {of} AND t.trial > 0)"
_TOKENS = (
    "(SELECT coalesce(sum(m.prompt_tokens + m.completion_tokens), 0) FROM model_calls m WHERE m.episode_id = {of})"
)
_COST = "(SELECT sum(m.usd) FROM model_calls m WHERE m.episode_id = {of})"
_ORDERS = {
    Sort.NEWEST: "e.seq DESC",
    Sort.OLDEST: "e.seq",
    Sort.TASK: "e.task_id, e.seq",
    Sort.VERDICT: "coalesce(n.verdict, 'open'), n.stop_reason, e.seq",
    Sort.TRIALS: f"{_TRIALS.format(of='e.id')} DESC, e.seq",
    Sort.TOKENS: f"{_TOKENS.format(of='e.id')} DESC, e.seq",
    Sort.COST: f"coalesce({_COST.format(of='e.id')}, 0) DESC, e.seq",
}
_CONDITIONS = {
    "run": "e.run_id = :run",
    "verdict": "coalesce(n.verdict, 'open') = :verdict",
    "stop": "n.stop_reason = :stop",
    "family": "e.family = :family",
}


@lru_cache(maxsize=256)
def _episodes_sql(conditions: tuple[str, ...], sort: Sort | None) -> Sql:
    """A page of episodes, or without `sort` how many there are."""
    written = ["e.namespace = :namespace", *(_CONDITIONS[name] for name in conditions if name != "text")]

    def whole(find: str) -> str:
        text = [find] if "text" in conditions else []
        where = " AND ".join([*written, *text])
        if sort is None:
            return f"SELECT count(*) FROM {_ENDED} WHERE {where}"
        chosen = (
            "SELECT e.seq, e.id, e.run_id, e.task_id, e.family, e.seed, e.created_at, coalesce(n.verdict, 'open') AS"
            " verdict, coalesce(n.stop_reason, '') AS stop_reason, coalesce(n.detail, '') AS detail,"
            f" coalesce(n.created_at, '') AS ended_at, row_number() OVER (ORDER BY {_ORDERS[sort]}) AS place"
            f" FROM {_ENDED} WHERE {where} ORDER BY {_ORDERS[sort]} LIMIT :limit OFFSET :offset"
        )
        if sort in (Sort.NEWEST, Sort.OLDEST):  # numbering every row of a long list would cost more than the page
            chosen = chosen.replace(f", row_number() OVER (ORDER BY {_ORDERS[sort]}) AS place", ", e.seq AS place")
        down = " DESC" if sort is Sort.NEWEST else ""
        return (
            "SELECT p.id, p.run_id, p.task_id, p.family, p.seed, p.created_at, p.verdict, p.stop_reason, p.detail,"
            f" p.ended_at, {_TRIALS.format(of='p.id')}, {_TOKENS.format(of='p.id')}, {_COST.format(of='p.id')}"
            f" FROM ({chosen}) p ORDER BY p.place{down}"
        )

    return Sql(whole(_contains("e.task_id")), sqlite=whole(_contains("e.task_id", is_sqlite=True)))


def _contains(column: str, *, is_sqlite: bool = False, name: str = "text") -> str:
    if is_sqlite:
        return f"instr(lower({column}), lower(:{name})) > 0"
    return f"position(lower(CAST(:{name} AS TEXT)) IN lower({column})) > 0"


def _runs_sql(select: str, rest: str) -> Sql:
    def whole(*, is_sqlite: bool) -> str:
        found = " OR ".join(_contains(c, is_sqlite=is_sqlite) for c in ("r.id", "r.graph", "r.config"))
        tasks = "EXISTS (SELECT 1 FROM episodes e WHERE e.run_id = r.id AND {})"
        found += " OR " + tasks.format(_contains("e.task_id", is_sqlite=is_sqlite))
        return f"SELECT {select} FROM runs r WHERE r.namespace = :namespace AND (:text = '' OR {found}){rest}"

    # PostgreSQL has to be told what type a parameter has that is only compared with a constant
    postgres = whole(is_sqlite=False).replace("(:text = ''", "(CAST(:text AS TEXT) = ''")
    return Sql(postgres, sqlite=whole(is_sqlite=True))


_RUNS = _runs_sql(
    "r.id, r.graph, r.config, r.version, r.created_at, coalesce((SELECT max(d.created_at) FROM run_ends d"
    " WHERE d.run_id = r.id), '')",
    " ORDER BY r.seq DESC LIMIT :limit OFFSET :offset",
)
_COUNT_RUNS = _runs_sql("count(*)", "")
_ONE_RUN = Sql(
    "SELECT r.id, r.graph, r.config, r.version, r.created_at, coalesce((SELECT max(d.created_at) FROM run_ends d"
    " WHERE d.run_id = r.id), '') FROM runs r WHERE r.namespace = :namespace AND r.id = :run"
)
_VERDICTS = Sql(
    f"SELECT coalesce(n.verdict, 'open'), count(*) FROM {_ENDED} WHERE e.run_id = :run AND e.namespace = :namespace"
    " GROUP BY coalesce(n.verdict, 'open')"
)
_TASKS = Sql("SELECT count(DISTINCT task_id) FROM episodes WHERE run_id = :run")
_USED = Sql(
    "SELECT coalesce(sum(m.prompt_tokens + m.completion_tokens), 0), sum(m.usd), count(m.usd), count(*)"
    " FROM episodes e JOIN model_calls m ON m.episode_id = e.id WHERE e.run_id = :run"
)
_STOPS = Sql(
    f"SELECT n.stop_reason, count(*) FROM {_ENDED} WHERE e.run_id = :run AND e.namespace = :namespace"
    " AND n.stop_reason IS NOT NULL GROUP BY n.stop_reason ORDER BY count(*) DESC"
)
_OUTCOMES = Sql(
    f"SELECT e.task_id, e.seed, e.id, coalesce(n.verdict, 'open') FROM {_ENDED}"
    " WHERE e.run_id = :run AND e.namespace = :namespace ORDER BY e.seq"
)
_EPISODE = Sql("SELECT id, run_id, task_id FROM episodes WHERE id = :id AND namespace = :namespace")
_TABLES = (
    "run_ends", "episodes", "episode_ends", "trials", "recalls", "trial_ends", "candidates", "signals", "admissions",
    "reflections", "lesson_marks", "intents", "model_calls", "program_runs", "artifacts",
)  # fmt: skip
_NEWEST = Sql("SELECT " + ", ".join(f"(SELECT coalesce(max(seq), 0) FROM {table})" for table in ("runs", *_TABLES)))
_ARTIFACTS = Sql("SELECT body FROM artifacts WHERE digest >= :low AND digest < :high ORDER BY digest")

_PLACES = {
    "prompt": ("intents", "body", " AND h.kind = 'model_call'"),
    "answer": ("model_calls", "completion", ""),
    "observation": ("signals", "body", ""),
    "reflection": ("reflections", "text", ""),
    "candidate": ("candidates", "note", ""),
    "program": ("program_runs", "stdout", ""),
}


@lru_cache(maxsize=32)
def _search_sql(kind: str, *, in_run: bool) -> Sql:
    table, column, more = _PLACES[kind]
    of_run = " AND e.run_id = :run" if in_run else ""

    def whole(*, is_sqlite: bool) -> str:
        low = f"lower(h.{column})"
        at = f"instr({low}, lower(:text))" if is_sqlite else f"position(lower(CAST(:text AS TEXT)) IN {low})"
        least = "max(1, {} - :around)" if is_sqlite else "greatest(1, {} - CAST(:around AS INTEGER))"
        length = ":length" if is_sqlite else "CAST(:length AS INTEGER)"
        return (
            f"SELECT h.episode_id, e.run_id, e.task_id, h.trial, substr(h.{column}, {least.format(at)}, {length})"
            f" FROM {table} h JOIN episodes e ON e.id = h.episode_id"
            f" WHERE e.namespace = :namespace{of_run}{more} AND {at} > 0 ORDER BY h.seq DESC LIMIT :limit"
        )

    return Sql(whole(is_sqlite=False), sqlite=whole(is_sqlite=True))


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

    async def runs(self, *, text: str = "", page: int = 1, size: int = PAGE) -> Page[RunSummary]:
        """Runs, newest first.

        Args:
            text: only those whose id, graph, configuration or a task's id contains it, whatever the case.
            page: counted from 1.
            size: rows of a page, at most 500.
        """
        size = max(1, min(size, MOST_ROWS))
        page = max(1, page)

        def work(session: Connection) -> Page[RunSummary]:
            values = {"namespace": self._store.namespace, "text": text}
            rows = _RUNS.rows(session, **values, limit=size, offset=(page - 1) * size)
            total: int = _COUNT_RUNS.rows(session, **values)[0][0]
            return Page([self._summary(session, row) for row in rows], total, page, size)

        return await self._store.run_read(work)

    async def run(self, run_id: str) -> RunSummary | None:
        """One run; None where there is none of that id."""

        def work(session: Connection) -> RunSummary | None:
            rows = _ONE_RUN.rows(session, run=run_id, namespace=self._store.namespace)
            return self._summary(session, rows[0]) if rows else None

        return await self._store.run_read(work)

    def _summary(self, session: Connection, row: Sequence[Any]) -> RunSummary:
        run_id = unescape(row[0])
        verdicts = {
            unescape(verdict): count
            for verdict, count in _VERDICTS.rows(session, run=run_id, namespace=self._store.namespace)
        }
        ((tasks,),) = _TASKS.rows(session, run=run_id)
        ((tokens, usd, priced, calls),) = _USED.rows(session, run=run_id)
        return RunSummary(
            id=run_id,
            namespace=self._store.namespace,
            graph=unescape(row[1]),
            config=unescape(row[2]),
            version=unescape(row[3]),
            created_at=unescape(row[4]),
            ended_at=unescape(row[5]),
            verdicts=verdicts,
            tasks=int(tasks),
            tokens=int(tokens),
            usd=float(usd) if priced else None if calls and tokens else 0.0,
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
            page: counted from 1.
            size: rows of a page, at most 500.
        """
        given = {"run": run_id, "verdict": verdict, "stop": stop, "family": family, "text": text}
        values = {name: value for name, value in given.items() if value}
        size, page = max(1, min(size, MOST_ROWS)), max(1, page)

        def work(session: Connection) -> Page[EpisodeSummary]:
            named = {"namespace": self._store.namespace, **values}
            rows = _episodes_sql(tuple(values), sort).rows(session, **named, limit=size, offset=(page - 1) * size)
            total: int = _episodes_sql(tuple(values), None).rows(session, **named)[0][0]
            return Page([_episode(row) for row in rows], total, page, size)

        return await self._store.run_read(work)

    async def outcomes(self, run_id: str) -> Sequence[tuple[str, int, str, str]]:
        """(task, seed, episode, verdict) of all episodes of a run, oldest first; `open` where one has not ended."""
        values = {"run": run_id, "namespace": self._store.namespace}
        rows = await self._store.run_read(lambda session: _OUTCOMES.rows(session, **values))
        return [(unescape(task), int(seed), unescape(episode), str(verdict)) for task, seed, episode, verdict in rows]

    async def stop_reasons(self, run_id: str) -> Mapping[str, int]:
        """Why the episodes of a run ended, the commonest first."""
        values = {"run": run_id, "namespace": self._store.namespace}
        rows = await self._store.run_read(lambda session: _STOPS.rows(session, **values))
        return {unescape(reason): count for reason, count in rows}

    async def run_of(self, episode_id: str) -> str:
        """The run of an episode; empty where there is no such episode."""
        values = {"id": episode_id, "namespace": self._store.namespace}
        rows = await self._store.run_read(lambda session: _EPISODE.rows(session, **values))
        return unescape(rows[0][1]) if rows else ""

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
                Hit(kind, unescape(row[0]), unescape(row[1]), unescape(row[2]), int(row[3]), unescape(row[4]))
                for kind in _PLACES
                for spelt in _spellings(kind, text)
                for row in _search_sql(kind, in_run=bool(run_id)).rows(
                    session, **values, text=spelt, length=2 * AROUND + len(spelt)
                )
            ]

        return await self._store.run_read(work)

    async def newest(self) -> int:
        """The number of the last record that anybody wrote; it grows whenever something is written."""
        rows = await self._store.run_read(_NEWEST.rows)
        return max(rows[0])

    async def artifacts(self, prefix: str) -> Sequence[bytes]:
        """Bodies of the artifacts whose keys begin with a text, in the keys' order."""
        values = {"low": prefix, "high": f"{prefix}\U0010fffd"}
        rows = await self._store.run_read(lambda session: _ARTIFACTS.rows(session, **values))
        return [bytes(row[0]) for row in rows]


_AS_JSON = frozenset({"prompt", "answer", "observation"})


def _spellings(kind: str, text: str) -> Sequence[str]:
    """How a text is kept: bodies of requests, completions and signals are JSON, some of it in ASCII alone."""
    if kind not in _AS_JSON:
        return [text]
    return sorted({json.dumps(text, ensure_ascii=in_ascii)[1:-1] for in_ascii in (False, True)})


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
