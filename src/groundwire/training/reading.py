"""A trajectory out of one episode's records; every flaw that it has is named."""

from __future__ import annotations

from collections.abc import Sequence

from groundwire.errors import CandidateError, RecordNotFound, SealError
from groundwire.mint import FileKeys, Keys
from groundwire.records import EpisodeRecord, RunRecord, Store
from groundwire.training.gathering import Gathered
from groundwire.training.trajectories import Change, Trajectory
from groundwire.trees import Candidate

__all__ = ["read_trajectory"]


async def read_trajectory(
    store: Store, run: RunRecord, episode: EpisodeRecord, *, keys: Keys | None = None
) -> Trajectory:
    """Reads one episode, however flawed it is; `Trajectory.problems` says what is wrong with it.

    Args:
        store: the ledger.
        run: the episode's run.
        episode: the episode.
        keys: where the runs' keys are; default: the user's own.

    Raises:
        StorageError: the ledger can't be read.
    """
    records = await store.records(episode.id)
    bodies: dict[str, Sequence[Change]] = {}
    reader = Gathered(run, episode, records, keys or FileKeys())
    for digest, artifact in reader.bodies():
        try:
            bodies[digest] = _changes(await store.artifact(artifact), digest)
        except RecordNotFound:
            reader.lacks(f"the body of candidate {digest[:12]}…")
        except (CandidateError, SealError) as error:
            reader.broken(error.what)
    return reader.trajectory(bodies)


def _changes(body: bytes, digest: str) -> Sequence[Change]:
    candidate = Candidate.from_bytes(body)
    if candidate.digest != digest:
        raise SealError(f"The body of candidate {digest[:12]}… is not the one that was judged.")
    return [
        Change(path=path, content=_text(content), deleted=content is None)
        for path, content in sorted(candidate.changes.items())
    ]


def _text(content: bytes | None) -> str | None:
    try:
        return None if content is None else content.decode()
    except UnicodeDecodeError:
        return None
