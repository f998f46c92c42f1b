"""Repair from evidence: recorded wrong attempts are asked again, with what failed and without, and judged."""

from __future__ import annotations

from contextlib import aclosing
from pathlib import Path

import pytest
from cli import groundwire

from groundwire.core import ConfigError
from groundwire.core._seal import MemoryKeys
from groundwire.logs._functions import function_task
from groundwire.memory import InMemoryStore
from groundwire.models import ScriptedBackend
from groundwire.training._runs import trajectories_of
from groundwire.training.rewards._judging import PolicySample, RewardJudge, RewardRules
from groundwire.training.rewards._ledger import RewardLedger
from groundwire.training.rewards._repairing import measure_repair, wrong_attempts

HEAD = 'def twice(n: int) -> int:\n    """Twice n."""\n'
TASK = function_task("twice", HEAD, "twice", visible=["assert twice(2) == 4"], hidden="def check(f):\n    pass\n")
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


def test_the_command_says_what_it_lacks(tmp_path: Path) -> None:
    ran = groundwire("reward", "repair", "0193", "--model", "scripted:none")
    assert ran.code == 2 and "--tasks FOLDER" in ran.err
