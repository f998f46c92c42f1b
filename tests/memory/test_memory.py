from __future__ import annotations

import subprocess
import sys

import groundwire.memory


def test_public_names() -> None:
    for name in ("InMemoryStore", "SqlStore"):
        assert getattr(groundwire.memory, name).__name__ == name


def test_the_in_memory_store_needs_no_sqlalchemy() -> None:
    script = (
        "import sys; from groundwire.memory import InMemoryStore; InMemoryStore();"
        "print([name for name in ('sqlalchemy', 'alembic', 'psycopg', 'tenacity') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
