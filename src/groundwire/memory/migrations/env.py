"""Run by Alembic on the connection that `groundwire.memory._engine` hands over, in its transaction."""

from __future__ import annotations

from alembic import context

from groundwire.memory._engine import VERSION_TABLE
from groundwire.memory._tables import Base

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Base.metadata,
    version_table=VERSION_TABLE,
)
with context.begin_transaction():
    context.run_migrations()
