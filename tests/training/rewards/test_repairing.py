"""Repair from evidence: recorded wrong attempts are asked again, with what failed and without, and judged."""

from __future__ import annotations

import json
from contextlib import aclosing
from pathlib import Path

import pytest
from cli import Ran, groundwire, lay_out

from groundwire import Task
from groundwire.core import ConfigError
from groundwire.core._seal import MemoryKeys
from groundwire.logs._functions import function_task
from groundwire.memory import InMemoryStore, SqlStore
from groundwire.models import ScriptedBackend
from groundwire.training._runs import trajectories_of
from groundwire.training.rewards._judging import PolicySample, RewardJudge, RewardRules
from groundwire.training.rewards._ledger import RewardLedger
from groundwire.training.rewards._repairing import measure_repair, wrong_attempts

HEAD = 'def twice(n: int) -> int:\n    """Twice n."""\n'
TASK = function_task("twice", HEAD, "twice", visible=["assert twice(2) == 4"], hidden="def check(f):\n    pass\n")
TESTS = """import unittest
from solution import twice
class Twice(unittest.TestCase):
    def test_two(self):
        assert twice(2) == 4
"""
COMMAND = '[tests]\ncommand = "python -S -m unittest tests.test_f"\n'
RIGHT, OFF, NAMED = ("def twice(n):\n    return " + body for body in ("2 * n", "n", "m"))


async def test_shares_are_told_by_kind_of_error_with_the_evidence_and_without() -> None:
    store, keys = InMemoryStore(), MemoryKeys()
    judge = RewardJudge({"twice": TASK}, rules=RewardRules(), ledger=RewardLedger(store, keys=keys))
    written = [PolicySample("twice", text, "Write twice.") for text in (OFF, NAMED, RIGHT, OFF)]
    assert [one.reward for one in await judge.score(written)] == [0.0, 0.0, 1.0, 0.0]
    async with aclosing(trajectories_of(store, await store.runs(limit=1), keys=keys)) as found:
        attempts = list(wrong_attempts([one async for one in found]))
    assert {one.error_type for one in attempts} == {"AssertionError", "NameError"} and len(attempts) == 2
    assert attempts[0].with_evidence[:-2] == attempts[0].question
    assert "AssertionError" in attempts[0].with_evidence[-1].content

    # with evidence the name is mended and the value is not; asked once more, neither is
    backend = ScriptedBackend([OFF, RIGHT, OFF, "no program"])
    shares = await measure_repair(backend, attempts, judge)
    told = {(one.error_type, one.evidence): (one.right, one.answers) for one in shares}
    assert told == {
        ("all", True): (1, 2), ("all", False): (0, 2), ("AssertionError", True): (0, 1),
        ("AssertionError", False): (0, 1), ("NameError", True): (1, 1), ("NameError", False): (0, 1),
    }  # fmt: skip
    assert shares[0].share == 0.5 and shares[0].low < 0.5 < shares[0].high
    (run,) = await store.runs(limit=1)
    async with aclosing(trajectories_of(store, [run], keys=keys)) as found:
        assert sum(len(list(one.turns)) for one in [one async for one in found]) == 8, "all answers are in the ledger"
    with pytest.raises(ConfigError, match="no wrong attempt"):
        await measure_repair(backend, [], judge)
    await judge.aclose()


async def test_a_measurement_that_was_cut_off_asks_for_nothing_twice(tmp_path: Path) -> None:
    files = {"solution.py": HEAD + "    raise NotImplementedError\n", "tests/test_f.py": TESTS, "task.toml": COMMAND}
    folder = lay_out(tmp_path / "twice", files)
    async with aclosing(SqlStore()) as store:
        judge = RewardJudge({"twice": Task.from_folder(folder)}, rules=RewardRules(), ledger=RewardLedger(store))
        await judge.score([PolicySample("twice", text, "Write twice.") for text in (OFF, NAMED)])
        await judge.aclose()
        (run,) = await store.runs(limit=1)
    asked = ("reward", "repair", run.id, "--tasks", folder, "--model", f"scripted:{tmp_path / 'model.jsonl'}", "--json")

    def repair(*answers: str) -> Ran:
        (tmp_path / "model.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in answers))
        return groundwire(*asked, env={"GROUNDWIRE_MODEL_CALLS": "allow"})

    cut_off = repair(OFF, RIGHT)  # and nothing for the questions without evidence
    assert cut_off.data["attempts"] == 2 and cut_off.data["shares"][0]["right"] == 1
    assert cut_off.data["shares"][1]["no_verdict"] == 2, cut_off.err
    whole = repair("no program", OFF)
    assert "2 answers asked for and judged before" in whole.err
    assert [(one["right"], one["answers"]) for one in whole.data["shares"][:2]] == [(1, 2), (0, 2)]
    again = repair("nobody asks for this")
    assert again.data["shares"] == whole.data["shares"] and "4 answers asked for and judged before" in again.err


def test_the_command_says_what_it_lacks(tmp_path: Path) -> None:
    ran = groundwire("reward", "repair", "0193", "--model", "scripted:none")
    assert ran.code == 2 and "--tasks FOLDER" in ran.err
