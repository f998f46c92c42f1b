"""The ledger and the reflections."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def _texts(*names: str) -> list[sa.Column[str]]:
    return [sa.Column(name, sa.Text(), nullable=False) for name in names]


def _whole(name: str, *, nullable: bool = False) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=nullable)


def _flag(name: str) -> sa.Column[bool]:
    return sa.Column(name, sa.Boolean(), nullable=False)


def _real(name: str, *, nullable: bool = False) -> sa.Column[float]:
    return sa.Column(name, sa.Double(), nullable=nullable)


def _table(name: str, *columns: sa.Column[Any], unique: tuple[str, ...] = (), index: tuple[str, ...] = ()) -> None:
    number = sa.Column("seq", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False)
    constraints: list[sa.Constraint] = [sa.PrimaryKeyConstraint("seq", name=f"pk_{name}")]
    if unique:
        constraints.append(sa.UniqueConstraint(*unique, name=f"uq_{name}_{'_'.join(unique)}"))
    op.create_table(name, number, *columns, *constraints)
    for column in index:
        _index(name, column)


def _index(table: str, *columns: str) -> None:
    op.create_index(f"ix_{table}_{'_'.join(columns)}", table, list(columns))


def upgrade() -> None:
    """Creates everything."""
    if op.get_bind().dialect.name == "postgresql":
        op.execute(sa.schema.CreateSequence(sa.Sequence("ledger_seq")))
    _runs()
    _trials()
    _verdicts()
    _calls()


def _runs() -> None:
    _table("runs", *_texts("id", "graph", "config", "version", "created_at"), unique=("id",))
    _table("run_ends", *_texts("run_id", "created_at"), index=("run_id",))
    _table(
        "episodes",
        *_texts("id", "run_id", "task_id", "family", "task", "base_digest"),
        _whole("seed"),
        *_texts("created_at"),
        unique=("id",),
        index=("run_id", "family"),
    )
    _table(
        "episode_ends",
        *_texts("episode_id", "verdict", "stop_reason", "best_candidate", "detail", "created_at"),
        index=("episode_id",),
    )


def _trials() -> None:
    _table(
        "trials",
        *_texts("episode_id"),
        _whole("trial"),
        *_texts("lessons"),
        _whole("escalation"),
        *_texts("created_at"),
        unique=("episode_id", "trial"),
    )
    _table(
        "candidates",
        *_texts("episode_id"),
        _whole("trial"),
        *_texts("digest", "actor", "edits", "note", "artifact", "created_at"),
        unique=("episode_id", "digest"),
    )
    _table(
        "artifacts", *_texts("digest", "kind"), sa.Column("body", sa.LargeBinary(), nullable=False), unique=("digest",)
    )


def _verdicts() -> None:
    _table(
        "signals",
        *_texts("id", "run_id", "episode_id"),
        _whole("trial"),
        *_texts("origin", "verdict"),
        sa.Column("reason", sa.Text(), nullable=True),
        *_texts("issuer", "candidate_digest"),
        _whole("exit_code", nullable=True),
        _whole("n_passed"),
        _whole("n_failed"),
        _flag("partial"),
        _flag("oracle"),
        *_texts("created_at", "body"),
        unique=("id",),
    )
    _index("signals", "episode_id", "candidate_digest", "origin", "verdict")
    _table(
        "admissions",
        *_texts("id", "episode_id"),
        _whole("trial"),
        *_texts("signal_id", "candidate_digest", "edge"),
        _flag("admitted"),
        *_texts("reason", "created_at"),
        unique=("episode_id", "id"),
    )
    op.create_index(
        "uq_admissions_admitted",
        "admissions",
        ["signal_id"],
        unique=True,
        sqlite_where=sa.text("admitted = 1"),
        postgresql_where=sa.text("admitted"),
    )
    _table(
        "reflections",
        *_texts("id", "episode_id"),
        _whole("trial"),
        *_texts("signal_id", "candidate_digest", "task_id", "family", "text", "by", "created_at"),
        unique=("id",),
        index=("episode_id",),
    )
    _index("reflections", "task_id", "seq")
    _index("reflections", "family", "seq")


def _calls() -> None:
    _table(
        "intents",
        *_texts("id", "episode_id"),
        _whole("trial"),
        *_texts("kind", "digest", "body", "created_at"),
        unique=("episode_id", "id"),
    )
    _table(
        "model_calls",
        *_texts("intent_id", "episode_id"),
        _whole("trial"),
        *_texts("model", "purpose", "request_digest", "completion", "error"),
        _whole("prompt_tokens"),
        _whole("completion_tokens"),
        _real("usd", nullable=True),
        _real("duration_s"),
        *_texts("created_at"),
        index=("episode_id",),
    )
