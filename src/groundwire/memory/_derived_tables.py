"""What memory concludes from the ledger. All of it can be dropped and made again from the ledger's rows, and is when
the schema changes; it is kept because recall must answer in milliseconds however long the ledger is.
"""

from __future__ import annotations

from sqlalchemy import Index, Table, text
from sqlalchemy.orm import Mapped, mapped_column

from groundwire.memory._tables import Base


def _active(*columns: str) -> Index:
    """Over what is recalled only, so that no number of repeats can fill a window."""
    condition = text("state = 'active'")
    name = f"ix_lessons_{'_'.join(columns[:-1])}"
    return Index(name, "namespace", *columns, sqlite_where=condition, postgresql_where=condition)


class LessonRow(Base):
    """A reflection as recall sees it; its text stays in `reflections`, under the same `number`."""

    __tablename__ = "lessons"
    __table_args__ = (
        _active("task_id", "fresh"),
        _active("family", "fresh"),
        _active("family", "signature", "fresh"),
        Index(None, "namespace", "family", "fingerprint"),
    )

    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    """`seq` of the reflection."""
    id: Mapped[str] = mapped_column(unique=True)
    namespace: Mapped[str]
    task_id: Mapped[str]
    family: Mapped[str]
    signature: Mapped[str]
    state: Mapped[str]
    """`groundwire.memory._policy.State`."""
    root: Mapped[str] = mapped_column(index=True)
    """Id of the first lesson that says the same; its own id where it is the first."""
    fingerprint: Mapped[str]
    """See `groundwire.memory._policy`."""
    fresh: Mapped[int]
    """`seq` of the last sign that it is worth something: it was written, said again, or a trial with it passed."""
    trials: Mapped[int]
    """Trials with a verdict that it was recalled for, since it was last released."""
    passed: Mapped[int]
    """Of these, how many passed."""
    expected: Mapped[float]
    """Of these, how many would have passed at the rate of their tasks at that time."""


class RateRow(Base):
    """How often trials pass."""

    __tablename__ = "rates"

    namespace: Mapped[str] = mapped_column(primary_key=True)
    scope: Mapped[str] = mapped_column(primary_key=True)
    """`groundwire.memory._policy.Scope`."""
    key: Mapped[str] = mapped_column(primary_key=True)
    """The task's id, or the family's name."""
    trials: Mapped[int]
    passed: Mapped[int]


class EditRateRow(Base):
    """How often candidates that used an edit pass."""

    __tablename__ = "edit_rates"

    namespace: Mapped[str] = mapped_column(primary_key=True)
    scope: Mapped[str] = mapped_column(primary_key=True)
    """`groundwire.memory._policy.Scope`."""
    key: Mapped[str] = mapped_column(primary_key=True)
    """The family's name, or how the baseline failed; empty for all."""
    edit: Mapped[str] = mapped_column(primary_key=True)
    used: Mapped[int]
    passed: Mapped[int]


class ExperienceRow(Base):
    """Where an action led in a world (`groundwire.memory._experience`), once for the task and once for its family."""

    __tablename__ = "experience"
    __table_args__ = (Index(None, "namespace", "scope", "key", "fresh"),)

    namespace: Mapped[str] = mapped_column(primary_key=True)
    scope: Mapped[str] = mapped_column(primary_key=True)
    """`groundwire.memory._policy.Scope`."""
    key: Mapped[str] = mapped_column(primary_key=True)
    """The task's id, or the family's name."""
    place: Mapped[str] = mapped_column(primary_key=True)
    """See `groundwire.core._experience.place_of`."""
    move: Mapped[str] = mapped_column(primary_key=True)
    """Digest of the action."""
    led_to: Mapped[str] = mapped_column(primary_key=True)
    """A place, or how it ended there."""
    action: Mapped[str]
    status: Mapped[str]
    choices: Mapped[int]
    times: Mapped[int]
    trials: Mapped[int]
    won: Mapped[int]
    why: Mapped[str]
    fresh: Mapped[int]
    """`seq` of the end of the trial that did this last."""


class LessonVectorRow(Base):
    """What a lesson means, as numbers of one embedding model; there are none where memory was given no embedder."""

    __tablename__ = "lesson_vectors"

    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    """The lesson's."""
    model: Mapped[str] = mapped_column(primary_key=True)
    """`NAME@REVISION`; vectors of two models are never compared."""
    namespace: Mapped[str]
    dimensions: Mapped[int]
    vector: Mapped[bytes]
    """See `groundwire.memory._meaning`."""


DERIVED: dict[str, Table] = {
    name: Base.metadata.tables[name] for name in ("lessons", "rates", "edit_rates", "experience", "lesson_vectors")
}
"""By name."""
