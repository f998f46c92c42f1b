"""One meaning a word: no two modules give one name to two classes."""

from __future__ import annotations

from pathlib import Path

import groundwire

ROOT = Path(groundwire.__file__).parent
APART = ("auditing/", "demo/projects/", "memory/migrations/", "sandbox/guest/", "tools/inside/")
"""Programs of their own: what runs in a sandbox, what is repaired there, what moves tables; and the auditor."""
SHARED = {
    # published JSON Schemas name these: a trainer's files would change with them
    "Message": {"core/_models.py", "training/_trajectories.py"},
    "Place": {"memory/_place.py", "training/methods/_glad.py"},
    # a table's row is named after its table
    "TrialRow": {"evaluation/_rows.py", "memory/_tables.py"},
}
