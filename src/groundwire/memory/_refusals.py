"""Errors that every store raises in the same words."""

from __future__ import annotations

from groundwire.core._errors import RecordNotFound, StorageError


def admitted_already(where: str) -> StorageError:
    """The gate may open once for a signal."""
    return StorageError(
        f"A signal that was admitted before can't be admitted again in {where}; nothing was written.",
        do="Another process works on the same episode, or it was resumed twice: let one of them go on.",
    )


def no_signal(signal_id: str, where: str) -> RecordNotFound:
    """An unknown signal."""
    return RecordNotFound(f"There is no signal {signal_id!r} in {where}.", do="Check the id, or name another database.")


def no_artifact(digest: str, where: str) -> RecordNotFound:
    """An unknown artifact."""
    return RecordNotFound(
        f"There is no artifact {digest!r} in {where}.", do="Check the digest, or name another database."
    )
