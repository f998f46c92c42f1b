"""What an episode's ledger holds, as one value that training data is made of: who wrote what, and what was observed."""

from groundwire.training.trajectories.episodes import Flaw, Problem, Trajectory, Trial
from groundwire.training.trajectories.judged import EXECUTED, Attempt, Change, Remark, Seal, Seen
from groundwire.training.trajectories.texts import Author, Message, ModelRevision, Span
from groundwire.training.trajectories.turns import Turn

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
