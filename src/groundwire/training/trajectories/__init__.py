"""What an episode's ledger holds, as one value that training data is made of: who wrote what, and what was observed."""

from groundwire.training.trajectories.episodes import (
    EXECUTED,
    Attempt,
    Change,
    Flaw,
    Problem,
    Remark,
    Seal,
    Seen,
    Trajectory,
    Trial,
    Turn,
)
from groundwire.training.trajectories.texts import Author, Message, ModelRevision, Span

__all__ = [
    "EXECUTED",
    "Attempt",
    "Author",
    "Change",
    "Flaw",
    "Message",
    "ModelRevision",
    "Problem",
    "Remark",
    "Seal",
    "Seen",
    "Span",
    "Trajectory",
    "Trial",
    "Turn",
]
