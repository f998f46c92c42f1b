"""From a changed tree to a candidate: whatever was edited, a candidate is expressed against the task's own tree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from groundwire.agents.text import plain
from groundwire.tasks import Task
from groundwire.trees import NO_MODES, Candidate, Tree

__all__ = ["MAX_FILE_BYTES", "candidate_of"]

MAX_FILE_BYTES = 2 * 1024 * 1024
NOTE_CHARS = 200


def candidate_of(
    task: Task,
    start: Tree,
    changed: Mapping[str, bytes | None],
    *,
    edits: Iterable[str],
    note: str,
    modes: Mapping[str, bool] = NO_MODES,
) -> Candidate:
    """The candidate that `changed` makes of `start`; empty (`is_base`) where that is the task's tree again.

    Args:
        task: holds the base.
        start: what was edited: the task's tree, perhaps with the best candidate so far.
        changed: path → new content, or None where the file is deleted.
        edits: names for statistics.
        note: one line for people; untrusted text in it is made printable.
        modes: path → whether it carries the executable bit from now on.
    """
    base, final = task.tree.files, start.with_changes(changed, modes)
    # a mode that is the base's is none that the candidate sets
    other = {path: path in final.executable for path in final.executable ^ task.tree.executable if path in final.files}
    paths = [path for path in sorted({*base, *final.files}) if base.get(path) != final.files.get(path) or path in other]
    return Candidate(
        base_digest=task.tree.digest,
        changes={path: final.files.get(path) for path in paths},
        edits=tuple(sorted(set(edits))),
        note=plain(note, NOTE_CHARS),
        modes=other,
    )
