"""One meaning a word: no two modules give one name to two classes."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

import groundwire

ROOT = Path(groundwire.__file__).parent
ON_THEIR_OWN = ("demo/projects/", "memory/migrations/", "sandbox/guest/", "tools/inside/")
"""Programs of their own: what is repaired and judged in a sandbox, what moves tables."""

SHARED = {
    # the published JSON Schemas of the training rows hold this name
    "Message": {"core/_models.py", "training/_trajectories.py"},
    # a row of the table `trials`, and a row of what is measured
    "TrialRow": {"evaluation/_rows.py", "memory/_tables.py"},
}
"""Every name that two classes share, and why."""


def classes_by_name() -> Mapping[str, set[str]]:
    found: defaultdict[str, set[str]] = defaultdict(set)
    for path in sorted(ROOT.rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        if name.startswith(ON_THEIR_OWN):
            continue
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].add(name)
    return found


def test_no_two_classes_share_a_name() -> None:
    assert {name: where for name, where in classes_by_name().items() if len(where) > 1} == SHARED
