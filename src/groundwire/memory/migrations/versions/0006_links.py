"""Links: one at the end of each write, over its records and the link before. Older episodes have none."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Adds the table, empty."""
    whole = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.create_table(
        "links",
        sa.Column("seq", whole, autoincrement=False, nullable=False),
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("episode_id", sa.Text(), nullable=False),
        sa.Column("number", whole, nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("seal", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("seq", name="pk_links"),
    )
    op.create_index("ix_links_run_id_episode_id_number", "links", ["run_id", "episode_id", "number"])
