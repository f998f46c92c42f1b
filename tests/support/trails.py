"""The way that an episode took through its graph, read from its ledger records."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from groundwire.core._models import Request
from groundwire.core._records import Admission, CandidateRecord, Record
from groundwire.core._signals import Signal


def trail(records: Iterable[Record]) -> list[str]:
    """`act`, then `call go_on` or `call fail`, then the gate's answer: `advance` or `refine`."""
    way: list[str] = []
    for record in records:
        match record:
            case CandidateRecord():
                way.append(record.actor)
            case Signal():
                way.append(f"{record.issuer} {record.reason or record.verdict}")
            case Admission():
                way.append(str(record.edge) if record.admitted else f"{record.edge} refused: {record.reason}")
            case _:
                pass
    return way


def turns(request: Request) -> Sequence[str]:
    """The contents of a request's messages after the system's."""
    return [message.content for message in request.messages if message.role != "system"]
