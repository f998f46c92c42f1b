"""Lessons (what was recalled, what came of it, what was decided), namespaces, prices of intents, programs, full text.

The tables that memory derives from the ledger are only made here: `groundwire.memory._derive` fills them after any
upgrade.
"""

from __future__ import annotations

import json
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

INDEXED_CHARS = 100_000
"""PostgreSQL refuses to index longer texts than about a megabyte, and no text may be refused for its length."""


def upgrade() -> None:
    """Adds everything."""
    _namespaces()
    _columns()
    _ledger()
    _derived()
    _indexes()
    _full_text()
    _close_old_trials()


def _texts(*names: str) -> list[sa.Column[str]]:
    return [sa.Column(name, sa.Text(), nullable=False) for name in names]


def _whole(*names: str) -> list[sa.Column[int]]:
    kind = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    return [sa.Column(name, kind, autoincrement=False, nullable=False) for name in names]


def _table(name: str, *columns: sa.Column[Any], key: tuple[str, ...] = ("seq",), unique: tuple[str, ...] = ()) -> None:
    constraints: list[sa.Constraint] = [sa.PrimaryKeyConstraint(*key, name=f"pk_{name}")]
    if unique:
        constraints.append(sa.UniqueConstraint(*unique, name=f"uq_{name}_{'_'.join(unique)}"))
    op.create_table(name, *columns, *constraints)


def _index(table: str, *columns: str, **options: Any) -> None:
    op.create_index(f"ix_{table}_{'_'.join(columns)}", table, list(columns), **options)


def _namespaces() -> None:
    for table in ("runs", "episodes", "reflections", "model_calls"):
        op.add_column(table, sa.Column("namespace", sa.Text(), nullable=False, server_default=""))


def _columns() -> None:
    for name in ("raw", "model", "signature"):
        op.add_column("reflections", sa.Column(name, sa.Text(), nullable=False, server_default=""))
    op.add_column("reflections", sa.Column("frames", sa.Text(), nullable=False, server_default="[]"))
    op.add_column("intents", sa.Column("usd", sa.Double(), nullable=True))
    whole = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.add_column("intents", sa.Column("tokens", whole, nullable=False, server_default="0"))
    op.add_column("model_calls", sa.Column("reused", sa.Text(), nullable=False, server_default=""))
    known = "SELECT signature FROM signals WHERE signals.id = reflections.signal_id"
    op.execute(f"UPDATE reflections SET signature = coalesce(({known}), '')")


def _ledger() -> None:
    _table(
        "recalls",
        *_whole("seq"),
        *_texts("episode_id"),
        *_whole("trial"),
        *_texts("lesson_id"),
        *_whole("rank"),
        *_texts("why", "created_at"),
        unique=("episode_id", "trial", "lesson_id"),
    )
    _table(
        "trial_ends",
        *_whole("seq"),
        *_texts("episode_id"),
        *_whole("trial"),
        *_texts("verdict", "signal_id", "created_at"),
        unique=("episode_id", "trial"),
    )
    _table(
        "program_runs",
        *_whole("seq"),
        *_texts("intent_id", "episode_id"),
        *_whole("trial"),
        *_texts("request_digest", "command", "sandbox"),
        sa.Column("exit_code", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        *_texts("ended_by", "stdout", "stderr"),
        *_whole("stdout_cut", "stderr_cut"),
        *_texts("refused", "candidate", "error"),
        sa.Column("cut_off", sa.Boolean(), nullable=False),
        sa.Column("duration_s", sa.Double(), nullable=False),
        *_texts("created_at"),
    )
    namespace = sa.Column("namespace", sa.Text(), nullable=False, server_default="")
    _table("lesson_marks", *_whole("seq"), namespace, *_texts("lesson_id", "mark", "reason", "by", "created_at"))


def _derived() -> None:
    texts = ("id", "namespace", "task_id", "family", "signature", "state", "root", "fingerprint")
    _table(
        "lessons",
        *_whole("number"),
        *_texts(*texts),
        *_whole("fresh", "trials", "passed"),
        sa.Column("expected", sa.Double(), nullable=False),
        key=("number",),
        unique=("id",),
    )
    place = ("namespace", "scope", "key")
    _table("rates", *_texts(*place), *_whole("trials", "passed"), key=place)
    _table("edit_rates", *_texts(*place, "edit"), *_whole("used", "passed"), key=(*place, "edit"))


def _indexes() -> None:
    active = sa.text("state = 'active'")
    for columns in (("task_id",), ("family",), ("family", "signature")):
        name = f"ix_lessons_{'_'.join(columns)}"
        on = ["namespace", *columns, "fresh"]
        op.create_index(name, "lessons", on, sqlite_where=active, postgresql_where=active)
    _index("lessons", "namespace", "family", "fingerprint")
    _index("lessons", "root")
    _index("recalls", "lesson_id")
    _index("program_runs", "episode_id")
    _index("lesson_marks", "lesson_id")
    _index("model_calls", "request_digest")
    # recall reads `lessons` now, and edit statistics `edit_rates`
    for name in ("ix_reflections_task_id_seq", "ix_reflections_family_seq"):
        op.drop_index(name, "reflections")
    for name in ("ix_signals_episode_id_candidate_digest_origin_verdict", "ix_signals_baseline"):
        op.drop_index(name, "signals")
    _index("signals", "episode_id", "trial")
    _index("signals", "candidate_digest")


def _full_text() -> None:
    """Its own words in each database; both are kept by the database itself, in the transaction of the row."""
    if op.get_bind().dialect.name == "postgresql":
        words = f"to_tsvector('english', left(\"text\", {INDEXED_CHARS}))"
        op.execute(f"ALTER TABLE reflections ADD COLUMN words tsvector GENERATED ALWAYS AS ({words}) STORED")
        op.execute("CREATE INDEX ix_reflections_words ON reflections USING gin (words)")
        return
    op.execute(
        "CREATE VIRTUAL TABLE lesson_words USING fts5("
        "text, content='reflections', content_rowid='seq', tokenize='porter unicode61')"
    )
    op.execute(
        "CREATE TRIGGER lesson_words_added AFTER INSERT ON reflections BEGIN"
        " INSERT INTO lesson_words(rowid, text) VALUES (new.seq, new.text); END"
    )
    op.execute(
        "CREATE TRIGGER lesson_words_gone AFTER DELETE ON reflections BEGIN"
        " INSERT INTO lesson_words(lesson_words, rowid, text) VALUES ('delete', old.seq, old.text); END"
    )
    op.execute("INSERT INTO lesson_words(lesson_words) VALUES ('rebuild')")


def _close_old_trials() -> None:
    """What the trials of older versions were given and came to, so that their lessons and edits count as well."""
    connection = op.get_bind()
    names = ("runs", "run_ends", "episodes", "episode_ends", "trials", "candidates", "artifacts", "signals")
    names += ("admissions", "reflections", "intents", "model_calls")
    highest = max(
        connection.execute(sa.text(f"SELECT coalesce(max(seq), 0) FROM {name}")).scalar_one() for name in names
    )
    recalls = connection.execute(
        sa.text("SELECT episode_id, trial, lessons, created_at FROM trials WHERE lessons <> '[]'")
    )
    rows: list[dict[str, Any]] = [
        {"episode_id": episode_id, "trial": trial, "lesson_id": lesson_id, "rank": rank, "why": "", "created_at": at}
        for episode_id, trial, lessons, at in recalls
        for rank, lesson_id in enumerate(json.loads(lessons), 1)
    ]
    highest = _number(rows, "recalls", highest)
    ended = connection.execute(sa.text(_OUTCOMES))
    ends = [dict(row._mapping) for row in ended]  # pyright: ignore[reportPrivateUsage]  # SQLAlchemy's documented name
    highest = _number(ends, "trial_ends", highest)
    if connection.dialect.name == "postgresql":
        connection.execute(sa.text("SELECT setval('ledger_seq', :highest)"), {"highest": max(highest, 1)})


_OUTCOMES = """
    SELECT s.episode_id, s.trial, min(s.created_at) AS created_at, '' AS signal_id,
           CASE WHEN sum(CASE WHEN s.verdict = 'pass' THEN 1 ELSE 0 END) > 0 THEN 'pass' ELSE 'fail' END AS verdict
    FROM signals s JOIN trials t ON t.episode_id = s.episode_id AND t.trial = s.trial
    WHERE s.verdict IN ('pass', 'fail')
      AND s.origin IN ('tests', 'execution', 'environment', 'tool_error', 'verifier')
      AND EXISTS (SELECT 1 FROM episode_ends e WHERE e.episode_id = s.episode_id)
    GROUP BY s.episode_id, s.trial ORDER BY min(s.seq)
"""


def _number(rows: list[dict[str, Any]], table: str, highest: int) -> int:
    """Inserts rows under the numbers that follow `highest`; gives back the last one."""
    if rows:
        columns: list[sa.ColumnClause[Any]] = [sa.column(name) for name in ("seq", *rows[0])]
        target = sa.table(table, *columns)
        op.bulk_insert(target, [{"seq": highest + n, **row} for n, row in enumerate(rows, 1)])
    return highest + len(rows)
