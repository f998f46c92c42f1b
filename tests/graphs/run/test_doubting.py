"""A PASS in doubt: the batch goes on, a PASS without doubt comes first, and nothing better leaves the first one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from guessing import Check, Guesser, Noter, answer

from groundwire import Task
from groundwire.core._candidates import Candidate, Tree
from groundwire.core._contexts import ToolContext
from groundwire.core._records import Intent, StopReason
from groundwire.core._signals import Signal, Verdict
from groundwire.core._tasks import Hidden
from groundwire.graphs.library._code_repair import code_repair
from groundwire.graphs.run import _rejudging as doubting
from groundwire.graphs.run._rejudging import DOUBT
from groundwire.memory import InMemoryStore


@dataclass
class Doubter(Check):
    """Doubts every answer that says "maybe"."""

    doubted: list[str] = field(default_factory=list[str])

    async def doubt(self, candidate: Candidate, task: Task, context: ToolContext) -> str:
        assert task.hidden is None, "hidden tests take no part in this"
        text = (candidate.changes.get("answer.txt") or b"").decode()
        self.doubted.append(text)
        return "it says maybe" if "maybe" in text else ""


@dataclass
class Hiding(Check):
    judges_hidden = True


async def run(task: Task, answers: Sequence[str], *, hidden: bool = False) -> tuple[Any, Doubter, Hiding, Any]:
    store, tool, last = InMemoryStore(), Doubter(), Hiding(wanted=["sure"])
    if hidden:
        task = Task(id=task.id, tree=task.tree, hidden=Hidden(("true",), Tree({"hidden/t.py": b"secret"})))
    graph = code_repair(Guesser([answers]), Noter(), tool, last, width=len(answers))
    result = await graph.compile(store=store).arun(task)
    return result, tool, last, await store.records(result.episode_id)


def doubts(records: Sequence[Any]) -> list[tuple[str, str]]:
    return [(r.digest, r.body) for r in records if isinstance(r, Intent) and r.kind == DOUBT]


async def test_a_later_pass_without_doubt_is_handed_on(task: Task) -> None:
    answers = ["wrong", "maybe right", "wrong 2", "sure right", "right too"]
    result, tool, last, records = await run(task, answers, hidden=True)
    assert tool.judged == ["nothing", *answers[:4]], "and then it is over"
    assert tool.doubted == ["maybe right", "sure right"]
    assert last.judged == ["sure right"], "hidden tests judge the one that was chosen, once"
    assert (result.verdict, result.stop_reason) == (Verdict.PASS, StopReason.VERIFIED)
    assert result.best.candidate == answer(task, "sure right")
    assert doubts(records) == [(answer(task, "maybe right").digest, "it says maybe")]
    passed = [r.candidate_digest for r in records if isinstance(r, Signal) and r.verdict is Verdict.PASS]
    assert passed[:2] == [answer(task, t).digest for t in ("maybe right", "sure right")], "both are in the ledger"


async def test_without_doubt_it_ends_at_once(task: Task) -> None:
    result, tool, _, records = await run(task, ["right", "right 2"])
    assert tool.judged == ["nothing", "right"]
    assert result.best.candidate == answer(task, "right")
    assert doubts(records) == []


async def test_where_all_are_in_doubt_the_first_stands(task: Task) -> None:
    result, tool, _, records = await run(task, ["maybe right, and so on", "maybe right", "wrong"])
    assert tool.judged == ["nothing", "maybe right, and so on", "maybe right", "wrong"]
    assert result.stop_reason is StopReason.VERIFIED
    assert result.best.candidate == answer(task, "maybe right, and so on"), "also where a later one changes less"
    assert len(doubts(records)) == 2


async def test_nothing_is_asked_where_nothing_is_left(task: Task) -> None:
    result, tool, _, _ = await run(task, ["wrong", "maybe right"])
    assert tool.doubted == []
    assert result.stop_reason is StopReason.VERIFIED


@pytest.mark.parametrize(("name", "value"), [("MOST_CANDIDATES", 2), ("MOST_S", 0.0)])
async def test_patience_ends(task: Task, monkeypatch: pytest.MonkeyPatch, name: str, value: float) -> None:
    monkeypatch.setattr(doubting, name, value)
    result, tool, _, _ = await run(task, ["maybe right", *(f"wrong {n}" for n in range(20)), "right"])
    assert 2 <= len(tool.judged) < 6
    assert result.best.candidate == answer(task, "maybe right")
