"""Rewards behind an address: what is asked and answered, who is let in, and that nobody's work goes on for nobody."""

from __future__ import annotations

import asyncio
import json
import signal
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cli import begin, groundwire, lay_out

from groundwire.logs._functions import function_task
from groundwire.training.rewards import _serving
from groundwire.training.rewards._judging import RewardJudge, RewardRules

TOKEN = "a-token-that-is-long"
HEAD = 'def one() -> int:\n    """One."""\n'
TASKS = {"one": function_task("one", HEAD, "one", visible=["assert one() == 1"], hidden="def check(f):\n    pass\n")}
RIGHT = "def one():\n    return 1"


async def ask(
    body: bytes, *, method: str = "POST", path: str = "/v1/rewards", case_s: float = 2.0, **told: Any
) -> tuple[int, Any]:
    """One request to the application itself; `leaves`: the client goes away behind it."""
    judge = RewardJudge(TASKS, rules=RewardRules(case_s=case_s))
    app = _serving.reward_app(judge, token=TOKEN, about={"tasks": 1})
    headers = {"host": "127.0.0.1:1", "authorization": f"Bearer {TOKEN}"} | told.get("headers", {})
    scope = {
        "type": "http", "method": method, "path": path, "query_string": b"", "root_path": "", "scheme": "http",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }  # fmt: skip
    parts = iter([{"type": "http.request", "body": body, "more_body": False}])
    sent: list[Any] = []

    async def receive() -> Any:
        for part in parts:
            return part
        if told.get("leaves"):
            await asyncio.sleep(told["leaves"])
            return {"type": "http.disconnect"}
        return await asyncio.Event().wait()

    async def send(message: Any) -> None:
        sent.append(message)

    await app(scope, receive, send)
    await judge.aclose()
    text = b"".join(message.get("body", b"") for message in sent)
    return sent[0]["status"], json.loads(text) if text else None


def items(*completions: Any, task_id: str = "one") -> bytes:
    return json.dumps({"items": [{"task_id": task_id, "completion": text} for text in completions]}).encode()


async def test_a_batch_is_rewarded_in_its_order() -> None:
    status, said = await ask(items(RIGHT, "def one():\n    return 2", None, [{"role": "assistant", "content": RIGHT}]))
    assert status == 200 and [one["reward"] for one in said["rewards"]] == [1.0, 0.0, None, 1.0]
    first = said["rewards"][0]
    assert (first["verdict"], first["reason"], first["isolation"]) == ("pass", None, "two_boxes")
    assert set(first) == {
        "reward", "verdict", "reason", "detail", "problem", "candidate", "isolation", "signals",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("status", "body", "headers"),
    [
        (401, items(RIGHT), {"authorization": "Bearer x"}),
        (401, items(RIGHT), {"authorization": ""}),
        (421, items(RIGHT), {"host": "evil.example:1"}),
        (400, b"", {}), (400, b"\xff", {}), (400, b"[]", {}), (400, b'{"items": 1}', {}),
        (400, b'{"items": [{"task_id": "one"}]}', {}), (400, b'{"items": [], "more": 1}', {}),
        (400, items(RIGHT, task_id="two"), {}),
        (400, b"[" * 100_000, {}),
    ],
)  # fmt: skip
async def test_what_is_not_answered(status: int, body: bytes, headers: dict[str, str]) -> None:
    came, said = await ask(body, headers=headers)
    assert came == status and said["error"]["what"]


async def test_too_much_at_once_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_serving, "MOST_BYTES", 10)
    assert (await ask(items(RIGHT)))[0] == 413
    assert (await ask(json.dumps({"items": [{"task_id": "one", "completion": ""}] * 5000}).encode()))[0] == 413


async def test_who_goes_away_ends_what_was_judged_for_him() -> None:
    began = time.monotonic()
    status, said = await ask(items("def one():\n    while True: pass"), case_s=300, leaves=0.5)
    assert (status, said) == (499, None) and time.monotonic() - began < 100


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    files = {
        "m.py": "def one():\n    return 0\n",
        "test_m.py": "from m import one\ndef test():\n    assert one() == 1\n",
    }
    return lay_out(tmp_path / "tasks" / "first", files).parent


@pytest.fixture
def served(folder: Path) -> Iterator[Any]:
    process = begin("reward", "serve", "--tasks", folder, "--json")
    assert process.stdout is not None
    yield json.loads(process.stdout.readline())
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)


@pytest.mark.slow
def test_the_command_serves_a_folder_of_tasks(served: Any) -> None:
    def post(token: str) -> Any:
        request = urllib.request.Request(
            f"{served['url']}/v1/rewards",
            data=items("def one():\n    return 1", task_id="first"),
            headers={"Authorization": f"Bearer {token}"},
        )
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)

    assert served["tasks"] == 1 and [one["reward"] for one in post(served["token"])["rewards"]] == [1.0]
    with pytest.raises(urllib.error.HTTPError) as refused:
        post("x" * 20)
    assert refused.value.code == 401
    refused.value.close()


def test_a_command_without_tasks_says_what_to_give(tmp_path: Path) -> None:
    for flags in ((), ("--bench", "mbpp"), ("--tasks", tmp_path, "--bench", "mbpp", "--data", tmp_path)):
        ran = groundwire("reward", "serve", *flags)
        assert ran.code == 2 and "--tasks FOLDER" in ran.err
    assert groundwire("reward", "serve", "--tasks", tmp_path / "none").code == 2
    short = groundwire("reward", "serve", "--tasks", tmp_path, env={"GROUNDWIRE_REWARD_TOKEN": "abc"})
    assert short.code == 2
