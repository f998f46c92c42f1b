"""What kind of failure each signal is, so that edit statistics and lessons can be looked up by it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from groundwire.core._signals import Signal
from groundwire.core._signatures import failure_signature

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

BATCH = 500


def upgrade() -> None:
    """The column, filled from the signals' bodies, and its index over baselines."""
    op.add_column("signals", sa.Column("signature", sa.Text(), nullable=False, server_default=""))
    _fill()
    first = sa.text("trial = 0")
    op.create_index(
        "ix_signals_baseline", "signals", ["signature", "episode_id"], sqlite_where=first, postgresql_where=first
    )


def _fill() -> None:
    signals = sa.table("signals", sa.column("seq", sa.BigInteger), sa.column("body"), sa.column("signature"))
    connection, last = op.get_bind(), -1
    while rows := connection.execute(
        sa.select(signals.c.seq, signals.c.body).where(signals.c.seq > last).order_by(signals.c.seq).limit(BATCH)
    ).all():
        known = [(seq, failure_signature(Signal.from_json(body).evidence)) for seq, body in rows]
        values = [{"at": seq, "kind": kind} for seq, kind in known if kind]
        if values:
            change = signals.update().where(signals.c.seq == sa.bindparam("at"))
            connection.execute(change.values(signature=sa.bindparam("kind")), values)
        last = rows[-1].seq
