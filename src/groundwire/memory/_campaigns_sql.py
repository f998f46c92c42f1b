"""What is asked of the database for a run of several workers: its tables, leases, totals and orders."""

from __future__ import annotations

from groundwire.memory._sql import Sql

COUNTED = ("usd", "tokens", "calls", "trials")
"""What a run's budget counts in the database; seconds pass by themselves."""

_CLOCK = {
    "postgresql": "CAST(extract(epoch FROM clock_timestamp()) AS double precision)",
    "sqlite": "((julianday('now') - 2440587.5) * 86400.0)",
}
LOCK = 0x67726F756E65
"""Key of the advisory lock on PostgreSQL under which the tables are made."""


def _sql(statement: str) -> Sql:
    """Fills in the database's clock, in seconds since 1970, and how rows are locked where several may write."""
    locks = {"{skip}": "FOR UPDATE SKIP LOCKED", "{share}": "FOR SHARE", "{update}": "FOR UPDATE"}
    postgres, sqlite = (statement.replace("{now}", _CLOCK[name]) for name in ("postgresql", "sqlite"))
    for mark, lock in locks.items():
        postgres, sqlite = postgres.replace(mark, lock), sqlite.replace(mark, "")
    return Sql(postgres, sqlite=sqlite)


AMOUNTS = (*(f"used_{kind}" for kind in COUNTED), *(f"held_{kind}" for kind in COUNTED))
TABLES = tuple(
    map(
        Sql,
        (
            "CREATE TABLE IF NOT EXISTS campaigns (run_id TEXT PRIMARY KEY, state TEXT NOT NULL, workers BIGINT NOT"
            " NULL, at_once BIGINT NOT NULL, started_at DOUBLE PRECISION NOT NULL, driver_at DOUBLE PRECISION NOT NULL,"
            " seconds DOUBLE PRECISION,"
            + ", ".join(
                f" max_{kind} DOUBLE PRECISION, used_{kind} DOUBLE PRECISION NOT NULL DEFAULT 0, held_{kind} DOUBLE"
                " PRECISION NOT NULL DEFAULT 0"
                for kind in COUNTED
            )
            + ")",
            "CREATE TABLE IF NOT EXISTS campaign_tasks (run_id TEXT NOT NULL, position BIGINT NOT NULL, task_id TEXT"
            " NOT NULL, state TEXT NOT NULL, holder TEXT NOT NULL DEFAULT '', held_until DOUBLE PRECISION NOT NULL"
            " DEFAULT 0, takings BIGINT NOT NULL DEFAULT 0, given_up TEXT NOT NULL DEFAULT '', outcome TEXT NOT NULL"
            " DEFAULT '', ended_at DOUBLE PRECISION NOT NULL DEFAULT 0, PRIMARY KEY (run_id, position))",
            "CREATE INDEX IF NOT EXISTS ix_campaign_tasks_state ON campaign_tasks (run_id, state, position)",
            "CREATE INDEX IF NOT EXISTS ix_campaign_tasks_ended_at ON campaign_tasks (run_id, ended_at)",
            "CREATE TABLE IF NOT EXISTS campaign_workers (run_id TEXT NOT NULL, id TEXT NOT NULL, place TEXT NOT NULL,"
            " seen_at DOUBLE PRECISION NOT NULL, in_flight BIGINT NOT NULL, said TEXT NOT NULL, retired BIGINT NOT NULL"
            " DEFAULT 0, PRIMARY KEY (run_id, id))",
            "CREATE TABLE IF NOT EXISTS campaign_uses (run_id TEXT NOT NULL, episode_id TEXT NOT NULL,"
            + ",".join(f" {column} DOUBLE PRECISION NOT NULL" for column in AMOUNTS)
            + ", PRIMARY KEY (run_id, episode_id))",
        ),
    )
)
TABLES_LOCK = Sql("SELECT pg_advisory_xact_lock(:key)", sqlite="SELECT :key")
HAS_TABLES = Sql(
    "SELECT 1 WHERE to_regclass('campaigns') IS NOT NULL",
    sqlite="SELECT 1 FROM sqlite_master WHERE name = 'campaigns'",
)

# Leases.

_OWN = "run_id = :run_id AND position = :position AND state = 'held' AND holder = :holder AND takings = :takings"
HOLDS = _sql(f"SELECT 1 FROM campaign_tasks WHERE {_OWN} {{share}}")
_EXPIRED = "state = 'held' AND held_until < {now}"
_OF_RUN = "run_id = :run_id"
TAKE = _sql(
    "UPDATE campaign_tasks SET state = 'held', holder = :holder, held_until = {now} + :lease_s, takings = takings + 1"
    f" WHERE {_OF_RUN} AND position = (SELECT position FROM campaign_tasks WHERE {_OF_RUN} AND state = 'waiting' AND"
    f" EXISTS (SELECT 1 FROM campaigns WHERE {_OF_RUN} AND state = 'running')"
    " ORDER BY position LIMIT 1 {skip}) RETURNING position, takings, given_up, task_id"
)
FREE_EXPIRED = _sql(
    "UPDATE campaign_tasks SET state = 'waiting', holder = '' WHERE run_id = :run_id AND position IN (SELECT position"
    f" FROM campaign_tasks WHERE {_OF_RUN} AND {_EXPIRED} ORDER BY position {{skip}})"
)
FREE_HOLDER = _sql(
    "UPDATE campaign_tasks SET state = 'waiting', holder = '' WHERE run_id = :run_id AND position IN (SELECT position"
    f" FROM campaign_tasks WHERE {_OF_RUN} AND state = 'held' AND holder = :holder ORDER BY position {{update}})"
)
FREE_ONE = _sql(f"UPDATE campaign_tasks SET state = 'waiting', holder = '' WHERE {_OWN}")
RENEW = _sql(
    "UPDATE campaign_tasks SET held_until = {now} + :lease_s WHERE run_id = :run_id AND position IN (SELECT position"
    f" FROM campaign_tasks WHERE {_OF_RUN} AND state = 'held' AND holder = :holder ORDER BY position {{update}})"
    " AND state = 'held' AND holder = :holder RETURNING position, takings"
)
FINISH = _sql(
    f"UPDATE campaign_tasks SET state = 'ended', holder = '', outcome = :outcome, ended_at = {{now}} WHERE {_OWN}"
)
ENDED_SINCE = _sql(
    "SELECT position, ended_at, outcome FROM campaign_tasks WHERE run_id = :run_id AND ended_at >= :since"
    " AND state = 'ended' AND outcome <> '' ORDER BY ended_at"
)
ENDED = _sql("SELECT task_id FROM campaign_tasks WHERE run_id = :run_id AND state = 'ended'")
COUNTS = _sql(f"SELECT state, count(*) FROM campaign_tasks WHERE {_OF_RUN} GROUP BY state")
LEFT = _sql(
    "SELECT EXISTS (SELECT 1 FROM campaign_tasks WHERE run_id = :run_id AND state = 'waiting'),"
    " EXISTS (SELECT 1 FROM campaign_tasks WHERE run_id = :run_id AND state = 'held')"
)
LATEST = _sql(
    "SELECT id FROM episodes WHERE run_id = :run_id AND task_id = :task_id AND namespace = :namespace"
    " ORDER BY seq DESC LIMIT 1"
)

# The campaign itself.

_MAXIMA = ", ".join(f"max_{kind}" for kind in COUNTED)
READ = _sql(
    f"SELECT state, workers, at_once, {{now}} - started_at, {{now}} - driver_at, seconds, {_MAXIMA},"
    f" {', '.join(AMOUNTS)} FROM campaigns WHERE {_OF_RUN}"
)
OPEN = _sql(
    f"INSERT INTO campaigns (run_id, state, workers, at_once, started_at, driver_at, seconds, {_MAXIMA}) VALUES"
    " (:run_id, 'running', :workers, :at_once, {now}, {now}, :seconds, "
    + ", ".join(f":max_{kind}" for kind in COUNTED)
    + ") ON CONFLICT (run_id) DO UPDATE SET state = 'running', started_at = {now}, driver_at = {now},"
    " seconds = :seconds, " + ", ".join(f"max_{kind} = :max_{kind}" for kind in COUNTED)
)
BOOK_ANEW = _sql(f"UPDATE campaigns SET {', '.join(f'{name} = :{name}' for name in AMOUNTS)} WHERE {_OF_RUN}")
FORGET_USES = _sql(f"DELETE FROM campaign_uses WHERE {_OF_RUN}")
ADD_TASK = _sql(
    "INSERT INTO campaign_tasks (run_id, position, task_id, state) VALUES (:run_id, :position, :task_id, :state)"
    " ON CONFLICT (run_id, position) DO NOTHING"
)
NOW = _sql("SELECT {now}")
DRIVEN = _sql(f"UPDATE campaigns SET driver_at = {{now}} WHERE {_OF_RUN}")
SET_STATE = _sql(f"UPDATE campaigns SET state = :state WHERE {_OF_RUN}")
END = _sql(f"UPDATE campaigns SET state = 'ended' WHERE {_OF_RUN} AND state <> 'ended'")
SET_WORKERS = _sql(f"UPDATE campaigns SET workers = :value WHERE {_OF_RUN}")
SET_AT_ONCE = _sql(f"UPDATE campaigns SET at_once = :value WHERE {_OF_RUN}")
SET_MOST = {
    name: _sql(f"UPDATE campaigns SET {column} = :value WHERE {_OF_RUN}")
    for name, column in {"seconds": "seconds", **{kind: f"max_{kind}" for kind in COUNTED}}.items()
}
SEEN = _sql(
    "INSERT INTO campaign_workers (run_id, id, place, seen_at, in_flight, said) VALUES (:run_id, :holder, :place,"
    " {now}, :in_flight, :said) ON CONFLICT (run_id, id) DO UPDATE SET seen_at = {now}, in_flight = :in_flight,"
    " said = :said"
)
IS_RETIRED = _sql("SELECT retired FROM campaign_workers WHERE run_id = :run_id AND id = :holder")
RETIRE = _sql("UPDATE campaign_workers SET retired = 1 WHERE run_id = :run_id AND id = :holder")
GONE = _sql("DELETE FROM campaign_workers WHERE run_id = :run_id AND id = :holder")
WORKERS = _sql(
    f"SELECT id, place, {{now}} - seen_at, in_flight, said, retired FROM campaign_workers WHERE {_OF_RUN} ORDER BY id"
)
REQUEUE = _sql(
    "UPDATE campaign_tasks SET state = 'waiting', holder = '', given_up = :given_up, outcome = '', ended_at = 0"
    " WHERE run_id = :run_id AND task_id = :task_id"
)
TASK_STATE = _sql("SELECT state FROM campaign_tasks WHERE run_id = :run_id AND task_id = :task_id {update}")

# What was used of a run's budget. The most that a call can cost is held before it is made, and what it did cost is
# booked in its place; what a dead worker had held for an episode is set right, from the ledger, by whoever takes it
# over.

HOLD = _sql(
    f"UPDATE campaigns SET {', '.join(f'held_{k} = held_{k} + :held_{k}' for k in COUNTED)} WHERE {_OF_RUN} AND "
    # nothing asked is nothing refused, however much is used
    + " AND ".join(
        f"(max_{k} IS NULL OR :held_{k} <= 0 OR used_{k} + held_{k} + :held_{k} <= max_{k})" for k in COUNTED
    )
)
BOOK = _sql(f"UPDATE campaigns SET {', '.join(f'{name} = {name} + :{name}' for name in AMOUNTS)} WHERE {_OF_RUN}")
NOTE_USE = _sql(
    f"INSERT INTO campaign_uses (run_id, episode_id, {', '.join(AMOUNTS)}) VALUES (:run_id, :episode_id, "
    + ", ".join(f":{name}" for name in AMOUNTS)
    + ") ON CONFLICT (run_id, episode_id) DO UPDATE SET "
    + ", ".join(f"{name} = campaign_uses.{name} + :{name}" for name in AMOUNTS)
)
USE_OF = _sql(
    f"SELECT {', '.join(AMOUNTS)} FROM campaign_uses WHERE run_id = :run_id AND episode_id = :episode_id {{update}}"
)
