"""The reward: what the task's own tests say, in the real sandbox, as trainers call for it."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from cli import groundwire
from processes import open_files
from sandboxes_here import opened

from groundwire import Candidate, Task, Tree
from groundwire.core import ConfigError, ExecResult, SandboxCrashed, SandboxUnavailable, Verdict
from groundwire.core._errors import StorageError
from groundwire.core._records import Record, RunEnd
from groundwire.core._signals import Isolation, NoVerdict
from groundwire.logs._functions import function_task
from groundwire.memory import InMemoryStore, SqlStore
from groundwire.training import TaskReward, reward
from groundwire.training._runs import trajectories_of

SECRET = 86028157
"""Stands in the hidden tests alone."""


def doubling(number: int) -> Task:
    head = f'def double{number}(n: int) -> int:\n    """Twice n.\n\n    >>> double{number}(2)\n    4\n    """\n'
    hidden = f"def check(f):\n    assert f({SECRET}) == {2 * SECRET}\n    assert f(0) == 0\n"
    visible = [f"assert double{number}(2) == 4", f"assert double{number}(1) == 2"]
    return function_task(f"double/{number}", head, f"double{number}", visible=visible, hidden=hidden)


TASKS = [doubling(number) for number in range(3)]


def answer(number: int, body: str) -> str:
    return f"```python\ndef double{number}(n):\n    {body}\n```"


RIGHT, WRONG, FITTED, HALF = "return n * 2", "return n", "return {1: 2, 2: 4}.get(n, 7)", "return 4"
FORGED = "class Same(int):\n        __eq__ = lambda self, other: True\n        __hash__ = None\n    return Same()"


@pytest.fixture(scope="module")
def judged() -> Iterator[TaskReward]:
    with reward(TASKS) as made:
        yield made


def test_the_tests_of_each_task_decide_and_the_hidden_ones_where_there_are_any(judged: TaskReward) -> None:
    bodies = [RIGHT, WRONG, FITTED, RIGHT]
    ids = [f"double/{n % 3}" for n in range(len(bodies))]
    texts = [answer(n % 3, body) for n, body in enumerate(bodies)]
    scored = judged.score(["p"] * 4, texts, task_id=ids, completion_ids=[[1]] * 4, trainer_state=object())
    assert [one.reward for one in scored] == [1.0, 0.0, 0.0, 1.0]
    assert scored[0].isolation is Isolation.TWO_BOXES
    assert str(SECRET) not in repr(scored), "nothing of hidden tests comes back"
    messages = [[{"role": "assistant", "content": text}] for text in texts]
    assert asyncio.run(judged.acall(completions=messages, task_id=ids)) == [1.0, 0.0, 0.0, 1.0]


def test_an_object_that_equals_everything_earns_nothing(judged: TaskReward) -> None:
    (one,) = judged.score(completions=[answer(0, FORGED)], task_id="double/0")
    assert (one.reward is None and one.reason in (NoVerdict.CHECK_CANNOT_FAIL, NoVerdict.UNFIT)) or one.reward == 0.0


def test_what_the_policy_is_to_blame_for_is_wrong_and_what_it_is_not_is_masked(judged: TaskReward) -> None:
    hostile = [
        "no program", answer(0, "while True: pass"), answer(0, "import os; os._exit(0)"), answer(0, "raise SystemExit"),
        "FILE: tests/test_visible.py\n```\n```\n", "x" * 500_000, None, 7,
    ]  # fmt: skip
    scored = judged.score(completions=hostile, task_id="double/0")
    assert [one.reward for one in scored[:2]] == [0.0, 0.0] and scored[0].problem == "it holds no program"
    assert all(not one.reward for one in scored[2:4])
    assert [one.reward for one in scored[4:6]] == [0.0, 0.0]
    assert [one.reward for one in scored[6:]] == [None, None], "there is nothing that could be wrong"


def test_what_is_asked_wrongly_is_said(judged: TaskReward) -> None:
    text = answer(0, RIGHT)
    with pytest.raises(ConfigError, match="knows no task 'double/9'"):
        judged(completions=[text], task_id=["double/9"])
    with pytest.raises(ConfigError, match="without the column 'task_id'; the columns were: answer, level"):
        judged(completions=[text], answer=["x"], level=[1])
    with pytest.raises(ConfigError, match="2 completions, 2 prompts and 1 values"):
        judged(completions=[text, text], task_id=["double/0"])
    with pytest.raises(ConfigError, match="without completions"):
        judged(["p"], task_id=["double/0"])
    with pytest.raises(ConfigError, match="Two tasks have the id"):
        reward([TASKS[0], doubling(0)])
    with pytest.raises(ConfigError, match="no"):
        reward([])
    with pytest.raises(ConfigError, match="case_s"):
        reward(TASKS, case_s=0)


def test_partial_credit_is_given_where_it_is_asked_for_alone() -> None:
    texts = [answer(0, HALF), answer(0, RIGHT), "FILE: tests/test_visible.py\n```\n```\n"]
    with reward(TASKS, partial=True, hidden=False) as made:
        halves = made(completions=[answer(0, "return 4"), *texts[1:]], task_id="double/0")
    assert halves == [0.5, 1.0, 0.0]


class Broken:
    """A sandbox that opens, and is gone when it is needed."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def run(self, *_: Any, **__: Any) -> ExecResult:
        raise SandboxCrashed("It is gone.")


def test_a_sandbox_that_is_gone_is_no_verdict_and_none_at_all_is_an_error() -> None:
    inner = asyncio.run(opened("subprocess"))
    with reward(TASKS, sandbox=Broken(inner)) as made:  # pyright: ignore[reportArgumentType]
        (one,) = made.score(completions=[answer(0, RIGHT)], task_id="double/0")
    assert (one.reward, one.reason) == (None, NoVerdict.SANDBOX)
    asyncio.run(inner.aclose())
    with reward(TASKS, sandbox="docker") as made, pytest.MonkeyPatch.context() as patched:
        patched.setenv("DOCKER_HOST", "unix:///nowhere.sock")
        with pytest.raises(SandboxUnavailable):
            made(completions=[answer(0, RIGHT)], task_id="double/0")


def test_all_that_was_judged_is_in_the_ledger_sealed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    store = SqlStore(f"sqlite:///{tmp_path / 'ledger.db'}")
    texts = [answer(0, RIGHT), answer(0, WRONG), answer(0, WRONG), answer(1, WRONG)]
    ids = ["double/0"] * 3 + ["double/1"]
    with reward(TASKS, store=store, model="tiny") as made:
        scored = made.score(["Double it."] * 4, texts, task_id=ids)

    async def read() -> Any:
        async with aclosing(store):
            (run,) = await store.runs(limit=2)
            return run, [one async for one in trajectories_of(store, [run])], await store.signal(scored[0].signals[-1])

    run, told, signal = asyncio.run(read())
    assert json.loads(run.config)["model"] == "tiny" and signal.verdict is Verdict.PASS
    assert scored[1].signals == scored[2].signals, "equal programs are judged once"
    rewards = {one.task: sorted(a.reward for t in one.trials for a in t.attempts) for one in told}
    assert rewards == {"double/0": [0.0, 1.0], "double/1": [0.0]}
    assert all(not one.flaws for one in told), [one.flaws for one in told]
    turns = [turn for one in told for trial in one.trials for turn in trial.turns]
    assert {turn.prompt[-1].content for turn in turns} == {"Double it."}
    ran = groundwire("verify", run.id, "--db", store.url, env={**os.environ, "XDG_STATE_HOME": str(tmp_path / "state")})
    assert ran.code == 0, ran.out


def test_sandboxes_are_closed_where_the_run_s_end_can_not_be_written() -> None:
    class Full(InMemoryStore):
        async def append(self, *records: Record) -> None:
            if any(isinstance(record, RunEnd) for record in records):
                raise StorageError("The disk is full.", do="Free space.")
            await super().append(*records)

    before = homes()
    with pytest.raises(StorageError, match="disk is full"), reward(TASKS, store=Full()) as made:
        made(completions=[answer(0, RIGHT)], task_id="double/0")
        assert homes() - before
    assert homes() == before


def homes() -> set[Path]:
    """Of the sandboxes that this process has open."""
    return {file.parent for file in open_files() if file.parent.name.startswith("groundwire-boxes-")}


def test_a_reward_that_was_closed_says_so() -> None:
    made = reward(TASKS)
    made.close()
    with pytest.raises(ConfigError, match="was closed"):
        made(completions=["x"], task_id="double/0")


def test_a_store_in_memory_has_its_keys_there() -> None:
    store = InMemoryStore()
    with reward(TASKS, store=store) as made:
        assert made(completions=["x"], task_id="double/0") == [0.0]


def test_tasks_of_any_runner(tmp_path: Path) -> None:
    tree = Tree({"m.py": b"x = 1\n", "test_m.py": b"from m import x\ndef test_x():\n    assert x == 2\n"})
    task = Task("pytest", tree=tree, command=("pytest", "-q"))
    plain = Task("plain", tree=Tree({"m.py": b""}), command=("python", "-c", "import m; m.x"), editable=("m.py",))
    assert Candidate(tree.digest, {}).is_base
    with reward([task, plain]) as made:
        texts = ["x = 2", "x = 3", "x = 2", "y = 2"]
        assert made(completions=texts, task_id=["pytest", "pytest", "plain", "plain"]) == [1.0, 0.0, 1.0, 0.0]
