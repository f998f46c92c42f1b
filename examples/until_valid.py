"""Retry until valid: your own function asks, pydantic decides, and its complaint is in what the function gets next.

python examples/until_valid.py
"""

from pydantic import BaseModel, Field, ValidationError

from groundwire import ActorContext, FeedbackGraph, Task
from groundwire.tools import Check

REPLIES = iter(['{"guests": 0}', '{"guests": 2}'])


class Booking(BaseModel):
    """What an answer has to be."""

    guests: int = Field(gt=0)


def ask(context: ActorContext) -> str:
    """Stands for a call of your own; `context.failing` holds what was wrong with the last answer."""
    if context.failing:
        print("told:", context.failing.signal.evidence.cases[0].message.splitlines()[2].partition(" [")[0].strip())
    return next(REPLIES)


valid = Check(lambda candidate: Booking.model_validate_json(candidate.text), fails_on=ValidationError, name="valid")
result = FeedbackGraph.loop(ask, valid).compile().run(Task.of("A table for two."))
print(result.verdict, result.trials, result.text)
