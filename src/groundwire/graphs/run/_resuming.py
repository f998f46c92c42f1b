"""Finding an episode in the ledger to go on with it, and the files that it began from."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from groundwire.core._candidates import Tree
from groundwire.core._environments import START
from groundwire.core._errors import ConfigError, RecordNotFound, SealError, TaskError
from groundwire.core._masking import Masker
from groundwire.core._records import Artifact, EpisodeRecord, Store, tree_key
from groundwire.core._tasks import Hidden, Task

# Finding an episode of the ledger, to go on with it.


async def find_episode(store: Store, run_id: str | None, episode_id: str, task: Task) -> EpisodeRecord:
    """The record of an episode about this very task.

    Raises:
        ConfigError: its run was not named.
        RecordNotFound: the run has no such episode, or it is about other files.
    """
    if run_id is None:
        raise ConfigError("To go on with an episode, its run must be named.", do="Give run_id as well.")
    for record in await store.records(episode_id):  # not those of all its run's episodes, which may be many
        if isinstance(record, EpisodeRecord) and record.run_id == run_id:
            if record.base_digest != task.tree.digest:
                raise RecordNotFound(
                    f"Episode {episode_id} is about other files than the task has now.",
                    do="Restore the files as they were, or start a new run.",
                )
            return record
    raise RecordNotFound(f"Run {run_id} has no episode {episode_id}.", do="List them:  groundwire show RUN")


def as_recorded(task: Task, record: EpisodeRecord) -> Task:
    """The task, with its globs read as they were when the episode began."""
    return replace(task, stars_cross=stars_crossed(json.loads(record.task)))


def stars_crossed(told: Mapping[str, Any]) -> bool:
    """Whether `*` in the globs of a recorded task stood for `/` too; it did before the record said so."""
    return bool(told.get("stars_cross", True))


# The files that an episode began from, kept in the ledger, so that it can be run again when they have changed.

MAX_BYTES = 1024 * 1024
"""Of all files together; a larger project is read from its folder again, if that has not changed."""


class BaseTrees:
    """Hands out each tree for the ledger once a process.

    Args:
        store: the ledger; one that ends with the process gets only those of worlds, whose first scene memory learns
            from, since nothing of it is replayed later.
    """

    def __init__(self, store: Store) -> None:
        self._lasting = store.durable
        self._known: set[str] = set()

    async def of(self, task: Task) -> Sequence[Artifact]:
        """The task's files, unless the ledger has them or can't keep them."""
        wanted = self._lasting or START in task.tree.files
        if not wanted or task.tree.digest in self._known:
            return ()
        self._known.add(task.tree.digest)
        # looking for secrets takes a tenth of a second for each half megabyte
        kept = await asyncio.to_thread(kept_tree, task.tree)
        return () if kept is None else (kept,)


def kept_tree(tree: Tree) -> Artifact | None:
    """The tree as an artifact; None where it is too large, or holds a secret, which no ledger keeps."""
    if sum(map(len, tree.files.values())) > MAX_BYTES:
        return None
    if not Masker().finds_none(content.decode("latin-1") for content in tree.files.values()):
        return None
    return Artifact(digest=tree_key(tree.digest), kind="tree", body=tree.to_bytes())


async def task_of(record: EpisodeRecord, store: Store) -> Task:
    """The task of an episode, from the ledger alone, or from its folder where the files were not kept.

    Its hidden tests are known by name only: what they said is in the ledger.

    Raises:
        RecordNotFound: the files are not in the ledger, and those of the folder have changed or are gone.
        SealError: the files in the ledger are not those that it names.
    """
    told = json.loads(record.task)
    hidden = told["hidden"]
    return Task(
        id=told["id"],
        family=told["family"],
        prompt=told["prompt"],
        tree=await _tree(record, store),
        command=tuple(told["command"]),
        editable=tuple(told["editable"]),
        test_files=tuple(told["test_files"]),
        stars_cross=stars_crossed(told),
        kind=told.get("kind", "repair"),
        hidden=Hidden(tuple(hidden["command"]), Tree({})) if hidden else None,
    )


async def _tree(record: EpisodeRecord, store: Store) -> Tree:
    try:
        kept = await store.artifact(tree_key(record.base_digest))
    except RecordNotFound:
        return _from_folder(record)
    try:
        tree = Tree.from_bytes(kept)
    except TaskError as error:
        raise _changed(record) from error
    if tree.digest != record.base_digest:
        raise _changed(record)
    return tree


def _changed(record: EpisodeRecord) -> SealError:
    return SealError(
        f"The files that episode {record.id} began from are not those that the ledger names.",
        do="The record was changed after it was written; restore the database from a copy.",
    )


def _from_folder(record: EpisodeRecord) -> Tree:
    told = json.loads(record.task)
    folder, hidden = told["folder"], told["hidden"]
    if folder:
        try:
            task = Task.from_folder(folder, hidden=" ".join(hidden["command"]) if hidden else None)
        except TaskError:
            task = None
        if task is not None and task.tree.digest == record.base_digest:
            return task.tree
    raise RecordNotFound(
        f"The files that episode {record.id} began from are gone: they are not in the ledger (too large, or holding a"
        f" secret), and {folder or 'they came from no folder'}{' has others now' if folder else ''}.",
        do="Restore the files as they were." if folder else "Replay it where its task is:  await app.areplay(task, …)",
    )
