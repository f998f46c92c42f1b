"""Fixtures: the test PostgreSQL, and a schema of its own for a test. The imports are heavy, so they wait for it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from services import POSTGRES

__all__ = ["postgres_server", "postgres_url"]


@pytest.fixture(scope="session")
def postgres_server() -> str:
    assert POSTGRES, "only tests marked `postgres` may use it"
    return POSTGRES


@pytest.fixture
def postgres_url(postgres_server: str) -> Iterator[str]:
    """A schema of its own on the test server."""
    from sqlalchemy import create_engine, text
    from sqlalchemy.engine import make_url

    from groundwire.core._ids import new_id

    schema = f"test_{new_id().replace('-', '')}"
    url = make_url(postgres_server).set(drivername="postgresql+psycopg")
    engine = create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(f"CREATE SCHEMA {schema}"))
    try:
        of_schema = url.update_query_dict({"options": f"-csearch_path={schema}"})
        yield of_schema.render_as_string(hide_password=False)
    finally:
        with engine.connect() as connection:
            connection.execute(text(f"DROP SCHEMA {schema} CASCADE"))
        engine.dispose()
