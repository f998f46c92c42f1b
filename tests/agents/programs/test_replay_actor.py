"""The replay actor: recorded programs, each once, in their order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from groundwire.agents import ReplayActor
from groundwire.core._candidates import Candidate
from groundwire.core._contexts import ActorContext
from groundwire.core._errors import CandidateError
from groundwire.core._models import Completion
from groundwire.core._recordings import Failure, Recorded, Recording

FILES = {"solution.py": "def f(): ...\n", "tests/test_f.py": "from solution import f\n"}


def recording(*programs: str, task: str = "shop") -> Recording:
    return Recording([Recorded(task=task, completion=Completion(texts=(p,))) for p in programs], source="a log")


def texts(candidates: Sequence[Candidate]) -> list[bytes | None]:
    return [c.changes["solution.py"] for c in candidates]


def after(scene: Any, programs: Sequence[str], **fields: Any) -> ActorContext:
    """What the actor is given after these programs were judged, the last one last."""
    task = scene.task(FILES)
    judged = [Candidate(task.tree.digest, {"solution.py": p.encode()}) for p in programs]
    tried = frozenset({scene.base(task).digest, *(c.digest for c in judged)})
    failing = scene.judged(judged[-1]) if judged else None
    return scene.context(task, failing=failing, tried=tried, **fields)


async def test_the_programs_come_in_order_and_each_is_a_call_in_the_ledger(scene: Any) -> None:
    actor = ReplayActor(recording("A", "B", "C"))
    assert texts(await actor.propose(after(scene, []), 1)) == [b"A"]
    (second,) = await actor.propose(after(scene, ["A"]), 1)
    assert (second.changes, second.edits, second.note) == (
        {"solution.py": b"B"},
        ("replay.program",),
        "recorded program 2",
    )
    asked = [r.messages[0].content for r in scene.call.requests]
    assert asked == ["Recorded program 1 of 3 for shop (a log).", "Recorded program 2 of 3 for shop (a log)."]
    assert [r.seed for r in scene.call.requests] == [0, 1]


async def test_several_at_once(scene: Any) -> None:
    actor = ReplayActor(recording("A", "B", "C"))
    assert texts(await actor.propose(after(scene, []), 2)) == [b"A", b"B"]
    assert texts(await actor.propose(after(scene, ["A", "B"]), 2)) == [b"C"]


async def test_when_all_were_judged_there_is_nothing_more(scene: Any) -> None:
    assert await ReplayActor(recording("A", "B")).propose(after(scene, ["A", "B"]), 1) == []
    assert await ReplayActor(recording("A", task="another")).propose(after(scene, []), 1) == []
    assert scene.call.requests == []


async def test_a_repeated_program_is_passed_over(scene: Any) -> None:
    actor = ReplayActor(recording("A", "A", "B", "A", "C", "C"))
    assert texts(await actor.propose(after(scene, ["A"]), 1)) == [b"B"]
    assert texts(await actor.propose(after(scene, ["A", "B"]), 1)) == [b"C"]
    assert await actor.propose(after(scene, ["A", "B", "C"]), 1) == []


async def test_a_log_that_ends_with_an_earlier_program_answers_with_that_one_once(scene: Any) -> None:
    actor = ReplayActor(recording("A", "B", "A"))
    assert texts(await actor.propose(after(scene, ["A", "B"]), 1)) == [b"A"]
    assert await actor.propose(after(scene, ["A", "B"], escalation=1), 1) == []


async def test_it_keeps_nothing_between_calls(scene: Any) -> None:
    actor = ReplayActor(recording("A", "B"))
    for _ in range(2):
        assert texts(await actor.propose(after(scene, ["A"]), 1)) == [b"B"]


async def test_failed_calls_of_a_recording_are_no_programs(scene: Any) -> None:
    calls = [
        Recorded(task="shop", failure=Failure("ModelRejected", "no")),
        Recorded(task="shop", completion=Completion(texts=("A", "B"))),
    ]
    assert texts(await ReplayActor(Recording(calls)).propose(after(scene, []), 5)) == [b"A", b"B"]


async def test_the_file_is_the_only_one_that_may_be_edited_or_is_named(scene: Any) -> None:
    task = scene.task({"a.py": "", "b.py": ""})
    with pytest.raises(CandidateError, match="2 files that may be edited"):
        await ReplayActor(recording("A")).propose(scene.context(task), 1)
    (candidate,) = await ReplayActor(recording("A"), path="b.py").propose(scene.context(task), 1)
    assert candidate.changes == {"b.py": b"A"}


async def test_a_program_that_is_too_large_is_refused(scene: Any) -> None:
    with pytest.raises(CandidateError, match="at most 2097152 are read"):
        await ReplayActor(recording("x" * (2 * 1024 * 1024 + 1))).propose(after(scene, []), 1)
