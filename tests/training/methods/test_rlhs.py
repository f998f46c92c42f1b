"""Row 85, RLHS: no rating before the outcome, and both times in the row."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest
from guessing import ANSWER, Check
from method_rows import made
from recorded_runs import repairing, saying, trajectories

from groundwire import FeedbackGraph, Origin, Task
from groundwire.agents import LLMActor
from groundwire.core._candidates import Candidate
from groundwire.core._errors import ConfigError
from groundwire.models import ScriptedBackend
from groundwire.tools._person import Person
from groundwire.training.methods._rlhs import Hindsight, RlhsRow

NOON, LATER = "2026-01-31T12:00:00+00:00", "2026-01-31T12:00:01+00:00"


def test_no_label_before_the_outcome_is_set() -> None:
    asked = Hindsight()
    with pytest.raises(ConfigError, match="before the outcome"):
        asked.rate(True, at=LATER, by="anna")
    asked.set_outcome(0.0, at=NOON, by="test")
    rated = asked.rate(False, at=LATER, by="anna")
    assert (rated.label, rated.outcome, rated.outcome_at, rated.rated_at) == (False, 0.0, NOON, LATER)
    with pytest.raises(ConfigError, match="was known only"):
        asked.rate(True, at="2026-01-31T12:59:59+01:00", by="anna")
    for value, at in ((1.0, NOON), (2.0, NOON), (1.0, "noon"), (1.0, "2026-01-31T12:00:00")):
        fresh = asked if at == NOON and value == 1.0 else Hindsight()
        with pytest.raises(ConfigError):
            fresh.set_outcome(value, at=at, by="test")


def rated(*order: str, answers: tuple[str, ...]) -> FeedbackGraph:
    """Answers that a check and a person judge, one after the other."""

    def content(candidate: Candidate, task: Task) -> str:
        return "" if b"4" in (candidate.changes[ANSWER] or b"") else "I had hoped for more."

    graph = FeedbackGraph(trust=[Origin.HUMAN])
    graph.add_actor("write", LLMActor(ScriptedBackend(answers), answer="whole"))
    tools = {"test": Check(("42",)), "person": Person(content)}
    for before, name in zip(("write", *order), order, strict=False):
        graph.add_tool(name, tools[name])
        graph.add_edge(before, name)
    return graph


async def test_a_person_who_is_asked_when_the_tests_have_run(tmp_path: Path) -> None:
    told = await trajectories(tmp_path, rated("test", "person", answers=(saying("42"),)), trials=1)
    (row,), reasons = made("rlhs", told, RlhsRow)
    assert not reasons and (row.label, row.outcome, row.agrees) == (True, 1.0, True)
    assert (row.rated_by, row.rater, row.outcome_by) == ("person", Origin.HUMAN, "test")
    assert datetime.fromisoformat(row.outcome_at) <= datetime.fromisoformat(row.rated_at)
    by = {signal.id: signal for signal in told[0].signals}
    assert by[row.rating].created_at == row.rated_at and [by[s].issuer for s in row.provenance.signals] == ["test"]


async def test_a_rating_that_does_not_bear_out_what_came_of_it(tmp_path: Path) -> None:
    told = await trajectories(tmp_path, rated("test", "person", answers=(saying("40"),)), trials=1)
    (row,), _ = made("rlhs", told, RlhsRow)
    assert (row.label, row.outcome, row.agrees) == (True, 0.0, False)


async def test_a_rating_that_was_given_first_is_no_row(tmp_path: Path) -> None:
    told = await trajectories(tmp_path, rated("person", "test", answers=(saying("42"),)), trials=1)
    assert made("rlhs", told, RlhsRow) == ([], ["rated_before_the_outcome"])
    assert made("rlhs", await trajectories(tmp_path, repairing([saying("42")])), RlhsRow) == ([], ["not_rated"])
