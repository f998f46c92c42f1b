"""The ledger's tables. Rows are only ever added, but for what a person forgets or a retention rule drops.

`seq` is one sequence over all tables: it is the order of writing, within an episode and over all. `namespace` is the
store's own and is stamped on what may come back into another run. Every other column of a table is a field of its
record, by the same name and in the same order, which inserts rely on; a signal is kept as its canonical JSON (`body`),
byte for byte as it was sealed, beside the columns that queries need. What memory concludes from these rows is in
`groundwire.memory._derived_tables`.

Each index costs every append a page, so admissions and intents, only ever asked for by their episode, have one where
others have two.

There are no foreign keys, on purpose: a ledger must never refuse an observation because something else is missing, and
lessons outlive the episodes they came from.
"""

from __future__ import annotations

from typing import Any, ClassVar

from sqlalchemy import (
    BigInteger,
    Boolean,
    Double,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Sequence,
    Table,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from groundwire.memory._statements import SEQUENCE


class Base(DeclarativeBase):
    """Root of the tables."""

    type_annotation_map: ClassVar[dict[Any, Any]] = {
        int: BigInteger().with_variant(Integer(), "sqlite"),
        str: Text(),
        float: Double(),
        bool: Boolean(),
        bytes: LargeBinary(),
    }
    metadata = MetaData(
        naming_convention={
            "pk": "pk_%(table_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        }
    )


class Numbered:
    """A row of the ledger: numbered in the order of writing, over all tables."""

    seq: Mapped[int] = mapped_column(primary_key=True, autoincrement=False, sort_order=-1)


class Named:
    """A row that belongs to one namespace (a tenant): no other one's lessons, statistics or answers come from it."""

    namespace: Mapped[str] = mapped_column(server_default="", sort_order=1)


Sequence(SEQUENCE, metadata=Base.metadata)


class RunRow(Numbered, Named, Base):
    """See `RunRecord`."""

    __tablename__ = "runs"

    id: Mapped[str] = mapped_column(unique=True)
    graph: Mapped[str]
    config: Mapped[str]
    version: Mapped[str]
    created_at: Mapped[str]


class RunEndRow(Numbered, Base):
    """See `RunEnd`."""

    __tablename__ = "run_ends"

    run_id: Mapped[str] = mapped_column(index=True)
    created_at: Mapped[str]


class EpisodeRow(Numbered, Named, Base):
    """See `EpisodeRecord`."""

    __tablename__ = "episodes"

    id: Mapped[str] = mapped_column(unique=True)
    run_id: Mapped[str] = mapped_column(index=True)
    task_id: Mapped[str]
    family: Mapped[str] = mapped_column(index=True)
    task: Mapped[str]
    base_digest: Mapped[str]
    seed: Mapped[int]
    created_at: Mapped[str]


class EpisodeEndRow(Numbered, Base):
    """See `EpisodeEnd`. An episode that was resumed has several; the last one counts."""

    __tablename__ = "episode_ends"

    episode_id: Mapped[str] = mapped_column(index=True)
    verdict: Mapped[str]
    stop_reason: Mapped[str]
    best_candidate: Mapped[str]
    detail: Mapped[str]
    created_at: Mapped[str]


class TrialRow(Numbered, Base):
    """See `TrialRecord`."""

    __tablename__ = "trials"
    __table_args__ = (UniqueConstraint("episode_id", "trial"),)

    episode_id: Mapped[str]
    trial: Mapped[int]
    lessons: Mapped[str]
    """JSON list of reflection ids."""
    escalation: Mapped[int]
    created_at: Mapped[str]


class RecallRow(Numbered, Base):
    """See `Recall`."""

    __tablename__ = "recalls"
    __table_args__ = (UniqueConstraint("episode_id", "trial", "lesson_id"),)

    episode_id: Mapped[str]
    trial: Mapped[int]
    lesson_id: Mapped[str] = mapped_column(index=True)
    rank: Mapped[int]
    why: Mapped[str]
    created_at: Mapped[str]


class TrialEndRow(Numbered, Base):
    """See `TrialEnd`."""

    __tablename__ = "trial_ends"
    __table_args__ = (UniqueConstraint("episode_id", "trial"),)

    episode_id: Mapped[str]
    trial: Mapped[int]
    verdict: Mapped[str]
    signal_id: Mapped[str]
    created_at: Mapped[str]


class CandidateRow(Numbered, Base):
    """See `CandidateRecord`."""

    __tablename__ = "candidates"
    __table_args__ = (UniqueConstraint("episode_id", "digest"),)

    episode_id: Mapped[str]
    trial: Mapped[int]
    digest: Mapped[str]
    actor: Mapped[str]
    edits: Mapped[str]
    """Canonical JSON list of edit names: few distinct ones, so that statistics group by it."""
    note: Mapped[str]
    artifact: Mapped[str]
    created_at: Mapped[str]


class SignalRow(Numbered, Base):
    """See `Signal`."""

    __tablename__ = "signals"
    __table_args__ = (Index(None, "episode_id", "trial"),)

    id: Mapped[str] = mapped_column(unique=True)
    run_id: Mapped[str]
    episode_id: Mapped[str]
    trial: Mapped[int]
    origin: Mapped[str]
    verdict: Mapped[str]
    reason: Mapped[str | None]
    issuer: Mapped[str]
    candidate_digest: Mapped[str] = mapped_column(index=True)
    exit_code: Mapped[int | None]
    n_passed: Mapped[int]
    """Cases that ran and do not count against the candidate."""
    n_failed: Mapped[int]
    """Cases that count against it."""
    signature: Mapped[str] = mapped_column(server_default="")
    """What kind of failure it is (`groundwire.core._signatures`)."""
    partial: Mapped[bool]
    oracle: Mapped[bool]
    created_at: Mapped[str]
    body: Mapped[str]
    """`Signal.to_json()`, verbatim: the seal covers it."""


class AdmissionRow(Numbered, Base):
    """See `Admission`."""

    __tablename__ = "admissions"
    # The one guarantee that two processes can't both act on one signal.
    __table_args__ = (
        UniqueConstraint("episode_id", "id"),
        Index(
            "uq_admissions_admitted",
            "signal_id",
            unique=True,
            sqlite_where=text("admitted = 1"),
            postgresql_where=text("admitted"),
        ),
    )

    id: Mapped[str]
    episode_id: Mapped[str]
    trial: Mapped[int]
    signal_id: Mapped[str]
    candidate_digest: Mapped[str]
    edge: Mapped[str]
    admitted: Mapped[bool]
    reason: Mapped[str]
    created_at: Mapped[str]


class ReflectionRow(Numbered, Named, Base):
    """See `ReflectionRecord`."""

    __tablename__ = "reflections"

    id: Mapped[str] = mapped_column(unique=True)
    episode_id: Mapped[str] = mapped_column(index=True)
    trial: Mapped[int]
    signal_id: Mapped[str]
    candidate_digest: Mapped[str]
    task_id: Mapped[str]
    family: Mapped[str]
    text: Mapped[str]
    """Verbatim."""
    raw: Mapped[str] = mapped_column(server_default="")
    by: Mapped[str]
    model: Mapped[str] = mapped_column(server_default="")
    signature: Mapped[str] = mapped_column(server_default="")
    frames: Mapped[str] = mapped_column(server_default="[]")
    """JSON list."""
    created_at: Mapped[str]


class LessonMarkRow(Numbered, Named, Base):
    """See `LessonMark`."""

    __tablename__ = "lesson_marks"

    lesson_id: Mapped[str] = mapped_column(index=True)
    mark: Mapped[str]
    reason: Mapped[str]
    by: Mapped[str]
    created_at: Mapped[str]


class IntentRow(Numbered, Base):
    """See `Intent`."""

    __tablename__ = "intents"
    __table_args__ = (UniqueConstraint("episode_id", "id"),)

    id: Mapped[str]
    episode_id: Mapped[str]
    trial: Mapped[int]
    kind: Mapped[str]
    digest: Mapped[str]
    body: Mapped[str]
    usd: Mapped[float | None]
    tokens: Mapped[int] = mapped_column(server_default="0")
    created_at: Mapped[str]


class ModelCallRow(Numbered, Named, Base):
    """See `ModelCall`."""

    __tablename__ = "model_calls"

    intent_id: Mapped[str]
    episode_id: Mapped[str] = mapped_column(index=True)
    trial: Mapped[int]
    model: Mapped[str]
    purpose: Mapped[str]
    request_digest: Mapped[str] = mapped_column(index=True)
    completion: Mapped[str]
    error: Mapped[str]
    prompt_tokens: Mapped[int]
    completion_tokens: Mapped[int]
    usd: Mapped[float | None]
    duration_s: Mapped[float]
    reused: Mapped[str] = mapped_column(server_default="")
    created_at: Mapped[str]


class ProgramRunRow(Numbered, Base):
    """See `ProgramRun`."""

    __tablename__ = "program_runs"

    intent_id: Mapped[str]
    episode_id: Mapped[str] = mapped_column(index=True)
    trial: Mapped[int]
    request_digest: Mapped[str]
    command: Mapped[str]
    """JSON list."""
    sandbox: Mapped[str]
    exit_code: Mapped[int | None]
    ended_by: Mapped[str]
    stdout: Mapped[str]
    stderr: Mapped[str]
    stdout_cut: Mapped[int]
    stderr_cut: Mapped[int]
    refused: Mapped[str]
    """JSON list."""
    candidate: Mapped[str]
    error: Mapped[str]
    cut_off: Mapped[bool]
    duration_s: Mapped[float]
    created_at: Mapped[str]


class ArtifactRow(Numbered, Base):
    """See `Artifact`."""

    __tablename__ = "artifacts"

    digest: Mapped[str] = mapped_column(unique=True)
    kind: Mapped[str]
    body: Mapped[bytes]


class LinkRow(Numbered, Base):
    """See `Link`. Its episode may be the run itself."""

    __tablename__ = "links"
    __table_args__ = (Index(None, "run_id", "episode_id", "number"),)

    run_id: Mapped[str]
    episode_id: Mapped[str]
    number: Mapped[int]
    body: Mapped[str]
    seal: Mapped[str]


TABLES: dict[str, Table] = {name: table for name, table in Base.metadata.tables.items() if "seq" in table.c}
"""The ledger's, by name."""
