"""What is asked of the database for who looks through a ledger: pages of runs and episodes in any order, sums, and
searches."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from functools import lru_cache

from groundwire.memory._sql import Sql

OPEN = "open"
"""Instead of a verdict: the episode has not ended."""


class Sort(StrEnum):
    """What a page of episodes is sorted by."""

    NEWEST = "newest"
    OLDEST = "oldest"
    TASK = "task"
    VERDICT = "verdict"
    STOP = "stop"
    """Why it ended."""
    TRIALS = "trials"
    TOKENS = "tokens"
    COST = "cost"
    SEED = "seed"

    @property
    def descends(self) -> bool:
        """True where the greatest stands first, unless the other way is asked for."""
        return self in (Sort.NEWEST, Sort.TRIALS, Sort.TOKENS, Sort.COST)


class RunSort(StrEnum):
    """What a page of runs is sorted by."""

    NEWEST = "newest"
    OLDEST = "oldest"
    RUN = "run"
    GRAPH = "graph"
    PASSED = "passed"
    """Episodes that passed."""
    TASKS = "tasks"
    TOKENS = "tokens"
    COST = "cost"
    ENDED = "ended"
    """When; those that have not ended stand last."""

    @property
    def descends(self) -> bool:
        """True where the greatest stands first, unless the other way is asked for."""
        return self not in (RunSort.OLDEST, RunSort.RUN, RunSort.GRAPH)


def _direction(descends: bool) -> str:
    return "DESC" if descends else "ASC"


# episodes

_END = "n.seq = (SELECT max(x.seq) FROM episode_ends x WHERE x.episode_id = e.id)"
_ENDED = f"episodes e LEFT JOIN episode_ends n ON {_END}"
_TRIALS = "(SELECT count(*) FROM trials t WHERE t.episode_id = e.id AND t.trial > 0)"
_TOKENS = (
    "(SELECT coalesce(sum(m.prompt_tokens + m.completion_tokens), 0) FROM model_calls m WHERE m.episode_id = e.id)"
)
_COST = "(SELECT sum(m.usd) FROM model_calls m WHERE m.episode_id = e.id)"
_ORDERS: Mapping[Sort, str] = {
    Sort.NEWEST: "e.seq",
    Sort.OLDEST: "e.seq",
    Sort.TASK: "e.task_id",
    Sort.VERDICT: "coalesce(n.verdict, 'open') || ' ' || coalesce(n.stop_reason, '')",
    Sort.STOP: "coalesce(n.stop_reason, '')",
    Sort.TRIALS: _TRIALS,
    Sort.TOKENS: _TOKENS,
    Sort.COST: f"coalesce({_COST}, 0)",
    Sort.SEED: "e.seed",
}
_CONDITIONS = {
    "run": "e.run_id = :run",
    "verdict": "coalesce(n.verdict, 'open') = :verdict",
    "stop": "n.stop_reason = :stop",
    "family": "e.family = :family",
}


@lru_cache(maxsize=256)
def episodes_sql(conditions: tuple[str, ...], sort: Sort | None, *, descends: bool = False) -> Sql:
    """A page of episodes, or without `sort` how many there are.

    Args:
        conditions: names of the filters that are given: `run`, `verdict`, `stop`, `family`, `text`.
        sort: their order.
        descends: the greatest first.
    """
    written = ["e.namespace = :namespace", *(_CONDITIONS[name] for name in conditions if name != "text")]
    needs_end = {"verdict", "stop"} & set(conditions) or sort in (Sort.VERDICT, Sort.STOP)
    # how a hundred thousand others ended need not be known to show these fifty
    source = _ENDED if needs_end else "episodes e"

    def whole(find: str) -> str:
        where = " AND ".join([*written, *([find] if "text" in conditions else [])])
        if sort is None:
            return f"SELECT count(*) FROM {source} WHERE {where}"
        way = _direction(descends)
        tie = way if sort in (Sort.NEWEST, Sort.OLDEST) else "ASC"
        chosen = (
            f"SELECT e.seq AS seq, {_ORDERS[sort]} AS place FROM {source} WHERE {where}"
            f" ORDER BY place {way}, seq {tie} LIMIT :limit OFFSET :offset"
        )
        return (
            "SELECT e.id, e.run_id, e.task_id, e.family, e.seed, e.created_at, coalesce(n.verdict, 'open'),"
            " coalesce(n.stop_reason, ''), coalesce(n.detail, ''), coalesce(n.created_at, ''),"
            f" {_TRIALS}, {_TOKENS}, {_COST} FROM ({chosen}) p JOIN episodes e ON e.seq = p.seq"
            f" LEFT JOIN episode_ends n ON {_END} ORDER BY p.place {way}, p.seq {tie}"
        )

    return Sql(whole(_contains("e.task_id")), sqlite=whole(_contains("e.task_id", is_sqlite=True)))


def _contains(column: str, *, is_sqlite: bool = False, name: str = "text") -> str:
    if is_sqlite:
        return f"instr(lower({column}), lower(:{name})) > 0"
    return f"position(lower(CAST(:{name} AS TEXT)) IN lower({column})) > 0"


# runs

_RUN_ENDED = "coalesce((SELECT max(d.created_at) FROM run_ends d WHERE d.run_id = r.id), '')"
_RUN = f"r.id, r.namespace, r.graph, r.config, r.version, r.created_at, {_RUN_ENDED}"
_OF_RUN = "FROM episodes e JOIN model_calls m ON m.episode_id = e.id WHERE e.run_id = r.id"
_RUN_ORDERS: Mapping[RunSort, str] = {
    RunSort.NEWEST: "r.seq",
    RunSort.OLDEST: "r.seq",
    RunSort.RUN: "r.id",
    RunSort.GRAPH: "r.graph",
    RunSort.PASSED: f"(SELECT count(*) FROM {_ENDED} WHERE e.run_id = r.id AND n.verdict = 'pass')",
    RunSort.TASKS: "(SELECT count(DISTINCT e.task_id) FROM episodes e WHERE e.run_id = r.id)",
    RunSort.TOKENS: f"(SELECT coalesce(sum(m.prompt_tokens + m.completion_tokens), 0) {_OF_RUN})",
    RunSort.COST: f"(SELECT coalesce(sum(m.usd), 0) {_OF_RUN})",
    RunSort.ENDED: _RUN_ENDED,
}


@lru_cache(maxsize=256)
def runs_sql(namespaces: int, sort: RunSort | None, *, descends: bool = False) -> Sql:
    """A page of runs, or without `sort` how many there are.

    Args:
        namespaces: how many are looked at; they are given as `namespace0`, `namespace1`, …
        sort: their order.
        descends: the greatest first.
    """
    among = ", ".join(f":namespace{number}" for number in range(namespaces))

    def whole(*, is_sqlite: bool) -> str:
        found = " OR ".join(_contains(c, is_sqlite=is_sqlite) for c in ("r.id", "r.graph", "r.config"))
        tasks = "EXISTS (SELECT 1 FROM episodes e WHERE e.run_id = r.id AND {})"
        found += " OR " + tasks.format(_contains("e.task_id", is_sqlite=is_sqlite))
        # PostgreSQL has to be told what type a parameter has that is only compared with a constant
        given = ":text" if is_sqlite else "CAST(:text AS TEXT)"
        rest = f"FROM runs r WHERE r.namespace IN ({among}) AND ({given} = '' OR {found})"
        if sort is None:
            return f"SELECT count(*) {rest}"
        order = f"{_RUN_ORDERS[sort]} {_direction(descends)}, r.seq DESC"
        return f"SELECT {_RUN} {rest} ORDER BY {order} LIMIT :limit OFFSET :offset"

    return Sql(whole(is_sqlite=False), sqlite=whole(is_sqlite=True))


ONE_RUN = Sql(f"SELECT {_RUN} FROM runs r WHERE r.namespace = :namespace AND r.id = :run")
ENDED_AT = Sql("SELECT created_at FROM run_ends WHERE run_id = :run ORDER BY seq DESC LIMIT 1")
VERDICTS = Sql(
    f"SELECT coalesce(n.verdict, 'open'), count(*) FROM {_ENDED} WHERE e.run_id = :run AND e.namespace = :namespace"
    " GROUP BY coalesce(n.verdict, 'open')"
)
TASKS = Sql("SELECT count(DISTINCT task_id), coalesce(min(task_id), '') FROM episodes WHERE run_id = :run")
USED = Sql(
    "SELECT coalesce(sum(m.prompt_tokens + m.completion_tokens), 0), sum(m.usd), count(m.usd), count(*),"
    " coalesce(min(m.model), ''), coalesce(max(m.model), '')"
    " FROM episodes e JOIN model_calls m ON m.episode_id = e.id WHERE e.run_id = :run"
)
STOPS = Sql(
    f"SELECT n.stop_reason, count(*) FROM {_ENDED} WHERE e.run_id = :run AND e.namespace = :namespace"
    " AND n.stop_reason IS NOT NULL GROUP BY n.stop_reason ORDER BY count(*) DESC"
)
OUTCOMES = Sql(
    f"SELECT e.task_id, e.seed, e.id, coalesce(n.verdict, 'open') FROM {_ENDED}"
    " WHERE e.run_id = :run AND e.namespace = :namespace ORDER BY e.seq"
)
EPISODE = Sql("SELECT run_id, task_id FROM episodes WHERE id = :id AND namespace = :namespace")
_TABLES = (
    "run_ends", "episodes", "episode_ends", "trials", "recalls", "trial_ends", "candidates", "signals", "admissions",
    "reflections", "lesson_marks", "intents", "model_calls", "program_runs", "artifacts",
)  # fmt: skip
NEWEST = Sql("SELECT " + ", ".join(f"(SELECT coalesce(max(seq), 0) FROM {table})" for table in ("runs", *_TABLES)))
ARTIFACTS = Sql("SELECT body FROM artifacts WHERE digest >= :low AND digest < :high ORDER BY digest")

# searches

PLACES: Mapping[str, tuple[str, str, str, str]] = {
    "prompt": ("intents", "id", "body", " AND h.kind = 'model_call'"),
    "answer": ("model_calls", "intent_id", "completion", ""),
    "observation": ("signals", "id", "body", ""),
    "reflection": ("reflections", "id", "text", ""),
    "candidate": ("candidates", "digest", "note", ""),
    "program": ("program_runs", "intent_id", "stdout", ""),
}
"""Kind of a place → table, what names the row, column, and a condition."""


@lru_cache(maxsize=32)
def search_sql(kind: str, *, in_run: bool) -> Sql:
    """Places of one kind that contain a text, the newest first."""
    table, name, column, more = PLACES[kind]
    of_run = " AND e.run_id = :run" if in_run else ""

    def whole(*, is_sqlite: bool) -> str:
        low = f"lower(h.{column})"
        at = f"instr({low}, lower(:text))" if is_sqlite else f"position(lower(CAST(:text AS TEXT)) IN {low})"
        least = "max(1, {} - :around)" if is_sqlite else "greatest(1, {} - CAST(:around AS INTEGER))"
        length = ":length" if is_sqlite else "CAST(:length AS INTEGER)"
        return (
            f"SELECT h.episode_id, e.run_id, e.task_id, h.trial, h.{name},"
            f" substr(h.{column}, {least.format(at)}, {length})"
            f" FROM {table} h JOIN episodes e ON e.id = h.episode_id"
            f" WHERE e.namespace = :namespace{of_run}{more} AND {at} > 0 ORDER BY h.seq DESC LIMIT :limit"
        )

    return Sql(whole(is_sqlite=False), sqlite=whole(is_sqlite=True))
