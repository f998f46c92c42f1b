"""After a run, nothing that was hidden is anywhere: every file that was written, every prompt, every log record.

The candidate reaches for the hidden tests as well as it can: while these run, it prints every file that it sees.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from groundwire import Budget, EpisodeResult, StopReason, Task
from groundwire.agents import CommandActor, LLMActor, LLMCritic, RuleCritic
from groundwire.core._contexts import Actor, Critic
from groundwire.core._records import Record
from groundwire.graphs.library._code_repair import code_repair
from groundwire.memory import SqlStore
from groundwire.models import ScriptedBackend
from groundwire.tools import HiddenTests, Pytest

CANARIES = [f"ZEBRA-{word}-4711" for word in ("comment", "docstring", "message", "parameter", "output", "data")]
TOKEN = "gwcanary" + "5eed" * 8
NAME = "test_zebra_counts_4711"
SECRET = f'''
"""{CANARIES[1]}"""
import pytest
from shop.price import total

# {CANARIES[0]}
@pytest.mark.parametrize("what", ["{CANARIES[3]}"])
def {NAME}(what):
    print("{CANARIES[4]}")
    assert total([5, 5, 5]) == 15, "{CANARIES[2]}"
'''
BUGGY = "def total(prices):\n    return 0\n"
VISIBLE = """
import os
from shop.price import total

def test_total():
    assert total([1, 2]) == 3

def test_there_is_nothing_to_find():
    for folder, _, names in os.walk(os.getcwd()):
        for name in names:
            with open(os.path.join(folder, name), "rb") as file:
                assert b"ZEB" + b"RA" not in file.read()
"""
NOSY = """import pathlib


def total(prices):
    for path in sorted(pathlib.Path(".").rglob("*")):
        if path.is_file():
            print(path, path.read_bytes())
    return min(sum(prices), 3)
"""


def edit(code: str) -> str:
    return f"The sum is wrong.\n\nFILE: shop/price.py\n```\n{code}```\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    for name, text in {
        "shop/__init__.py": "",
        "shop/price.py": BUGGY,
        "tests/test_price.py": VISIBLE,
        "secret/test_secret.py": SECRET,
        "secret/data.json": f'["{CANARIES[5]}"]',
    }.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


@pytest.fixture(autouse=True)
def known_token(monkeypatch: pytest.MonkeyPatch) -> None:
    def token_hex(size: int) -> str:
        return "5eed" * (size // 2)

    monkeypatch.setattr("secrets.token_hex", token_hex)


async def run(project: Path, actor: Actor, critic: Critic, observers: list[Any], trials: int = 4) -> EpisodeResult:
    """A repair whose candidate passes the visible tests and fails the hidden ones, ledger and checkpoints on disk."""
    home = project.parent
    task = Task.from_folder(
        project, test="python -m pytest -q tests", hidden="python -m pytest -q secret", hidden_dir="secret"
    )
    store = SqlStore(f"sqlite:///{home / 'ledger.db'}")
    try:
        async with AsyncSqliteSaver.from_conn_string(str(home / "checkpoints.db")) as saver:
            app = code_repair(actor, critic, Pytest(), HiddenTests()).compile(
                store=store, checkpointer=saver, durability="sync", budget=Budget(trials=trials)
            )
            return await app.arun(task, observers=observers)
    finally:
        await store.aclose()


def written_below(home: Path, *, but: Path) -> Iterator[tuple[Path, bytes]]:
    for path in home.rglob("*"):
        if path.is_file() and not path.is_relative_to(but):
            yield path, path.read_bytes()


def assert_nothing_hidden(
    home: Path, project: Path, result: EpisodeResult, records: list[Record], logs: str, prompts: str
) -> None:
    shown = result.hidden_evidence
    assert shown is not None
    seen = shown.model_dump_json()
    # in a box of their own no traceback shows their source: what they print and assert is there all the same
    for secret in (*CANARIES[2:5], NAME):
        assert secret in seen, "the hidden tests said it, so it could have leaked"
    files = list(written_below(home, but=project / "secret"))
    assert {"ledger.db", "checkpoints.db"} <= {path.name for path, _ in files}
    for secret in (*CANARIES, TOKEN, NAME):
        for path, content in files:
            assert secret.encode() not in content, path
        for name, text in {"a log": logs, "a prompt": prompts, "a record": repr(records)}.items():
            assert secret not in text, name
    assert (result.account.hidden_accesses, result.account.steering) == (1, 0)


async def test_after_a_run_with_a_model_nothing_hidden_is_anywhere(
    project: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    actor_model = ScriptedBackend([edit("def total(prices):\n    return 1\n"), edit(NOSY)])
    critic_model = ScriptedBackend(["I returned a constant; I should add the prices up."])
    records: list[Record] = []
    result = await run(project, LLMActor(actor_model), LLMCritic(critic_model), [records.append])
    assert (result.stop_reason, result.reflections) == (StopReason.HIDDEN_FAILED, 1)
    requests: list[Any] = [*actor_model.requests, *critic_model.requests]  # pyright: ignore[reportUnknownMemberType]
    assert len(requests) == 3
    assert_nothing_hidden(project.parent, project, result, records, caplog.text, repr(requests))


async def test_a_program_that_looks_through_its_folder_finds_nothing_hidden(
    project: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    script = tmp_path / "agent.py"
    script.write_text(
        "import os, pathlib, sys\n"
        "for folder, _, names in os.walk('.'):\n"
        "    for name in names:\n"
        "        print(open(os.path.join(folder, name), 'rb').read())\n"
        "print(sys.stdin.read(), dict(os.environ))\n"
        f"pathlib.Path('shop/price.py').write_text({NOSY!r})\n"
    )
    records: list[Record] = []
    actor = CommandActor(f"{sys.executable} {script}")
    result = await run(project, actor, RuleCritic(), [records.append])
    assert result.stop_reason is StopReason.HIDDEN_FAILED, result.detail
    assert_nothing_hidden(project.parent, project, result, records, caplog.text, "")
