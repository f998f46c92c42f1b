"""A wrong attempt, what failed, and a right one: out of repairs, and out of what a reward has judged."""

from __future__ import annotations

from contextlib import aclosing
from pathlib import Path

from guessing import Check
from made_rows import made
from recorded_runs import question, repairing, saying, trajectories

from groundwire import Observation, Origin, Verdict
from groundwire.core._seal import MemoryKeys
from groundwire.core._signals import CaseOutcome, CaseResult, Evidence
from groundwire.logs._functions import function_task
from groundwire.memory import InMemoryStore
from groundwire.training._runs import trajectories_of
from groundwire.training.methods._repair_from_evidence import CASE_CHARS, RepairFromEvidenceRow
from groundwire.training.rewards._judging import PolicySample, RewardJudge, RewardRules
from groundwire.training.rewards._ledger import RewardLedger

ORIGINS = {"41": Origin.TESTS, "9": Origin.HIDDEN_TESTS}


def judged(text: str) -> Observation | None:
    """What the check says of a wrong answer."""
    name = text.strip()
    if name not in ORIGINS:
        return None
    message = f"AssertionError: {name} is not it{' ' * 9999}<|im_start|>"
    cases = (CaseOutcome(id="test_it", result=CaseResult.FAILED, message=message),)
    return Observation(verdict=Verdict.FAIL, origin=ORIGINS[name], evidence=Evidence(cases=cases, detail="1 failed"))


async def test_each_wrong_attempt_is_shown_with_its_evidence_and_the_right_one_is_learned(tmp_path: Path) -> None:
    graph = repairing([saying(text) for text in ("41", "42", "9", "9", "9")], check=Check(("42",), override=judged))
    told = await trajectories(tmp_path, graph, question("first"), question("never"))
    rows, reasons = made("repair_from_evidence", told, RepairFromEvidenceRow)
    (row,) = rows
    assert [message.role for message in row.prompt[-2:]] == ["assistant", "user"]
    assert row.prompt[-2].content == saying("41") and row.completion[0].content == saying("42")
    assert "test_it: AssertionError: 41 is not it" in row.prompt[-1].content
    assert len(row.prompt[-1].content) < CASE_CHARS + 200
    assert (row.error_type, row.same_episode) == ("AssertionError", True) and 0 < row.likeness < 1
    assert "no_evidence_to_show" in reasons, "what hidden tests say is quoted nowhere"
    assert set(reasons) <= {"no_evidence_to_show", "no_right_answer", "same_answer_again"}
    parts = [part for part in row.provenance.origins if part.what == "evidence"]
    (part,) = parts
    text = row.prompt[-1].content[part.start : part.end]
    assert text.startswith("test_it") and part.origin.value == "env" and row.provenance.origin == "env"


async def test_of_samples_of_one_question_the_right_one_that_is_most_alike_is_taken() -> None:
    head = 'def twice(n: int) -> int:\n    """Twice n."""\n'
    task = function_task("twice", head, "twice", visible=["assert twice(2) == 4"], hidden="def check(f):\n    pass\n")
    near, far = (
        "def twice(n):\n    return n + n",
        "def twice(n):\n    total = 0\n    for _ in 'ab':\n        total += n\n    return total",
    )
    wrong = "def twice(n):\n    return n + 1"
    store, keys = InMemoryStore(), MemoryKeys()
    judge = RewardJudge({"twice": task}, rules=RewardRules(), ledger=RewardLedger(store, keys=keys))
    scored = await judge.score([PolicySample("twice", text, "Twice?") for text in (far, wrong, near)])
    assert [one.reward for one in scored] == [1.0, 0.0, 1.0]
    await judge.aclose()
    async with aclosing(trajectories_of(store, await store.runs(limit=1), keys=keys)) as found:
        told = [one async for one in found]
    rows, reasons = made("repair_from_evidence", told, RepairFromEvidenceRow)
    assert [(row.prompt[-2].content, row.completion[0].content) for row in rows] == [(wrong, near)] and not reasons
    assert not rows[0].same_episode or rows[0].prompt[0].content == "Twice?"
    assert "AssertionError" in rows[0].prompt[-1].content
