"""Experience: where actions led in worlds. The table is only made here: `groundwire.memory._derive` fills it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

KEY = ("namespace", "scope", "key", "place", "move", "led_to")


def upgrade() -> None:
    """Adds the table, empty, and the index by which the newest rows of a circle are found."""
    whole = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.create_table(
        "experience",
        *(sa.Column(name, sa.Text(), nullable=False) for name in (*KEY, "action", "status")),
        *(sa.Column(name, whole, nullable=False) for name in ("choices", "times", "trials", "won")),
        sa.Column("why", sa.Text(), nullable=False),
        sa.Column("fresh", whole, nullable=False),
        sa.PrimaryKeyConstraint(*KEY, name="pk_experience"),
    )
    op.create_index("ix_experience_namespace_scope_key_fresh", "experience", ["namespace", "scope", "key", "fresh"])
