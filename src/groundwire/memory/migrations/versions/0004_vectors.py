"""Vectors of lessons, by the model that made them. Memory fills the table where it is given an embedder."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Adds the table, empty."""
    whole = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.create_table(
        "lesson_vectors",
        sa.Column("number", whole, autoincrement=False, nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("namespace", sa.Text(), nullable=False),
        sa.Column("dimensions", whole, nullable=False),
        sa.Column("vector", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("number", "model", name="pk_lesson_vectors"),
    )
