"""What is neither pass nor fail, with the real parts: real pytest in real sandboxes, real trouble.

The cases are of public bug reports: the same patch judged differently (SWE-bench#418), a container that is gone while
the agent goes on spending (mini-swe-agent#803), a missing result scored as zero (OpenEnv#1025), and programs without
any test that counted as passing (LDB's logs).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest
from guessing import Guesser, Noter
from services import IMAGE

from groundwire import Budget, EpisodeResult, FeedbackGraph, NoVerdict, Rules, StopReason, Task, Tree, Verdict
from groundwire.core._contexts import Tool
from groundwire.core._sandboxes import Limits, Sandbox
from groundwire.core._signals import Signal
from groundwire.memory import InMemoryStore
from groundwire.sandbox import open_sandbox
from groundwire.sandbox._docker_engine import owner
from groundwire.tools import Command, Pytest


class Ran:
    """An episode and who was asked in it."""

    def __init__(self, result: EpisodeResult, signals: list[Signal], actor: Guesser, critic: Noter) -> None:
        self.result, self.signals, self.actor, self.critic = result, signals, actor, critic

    def nobody_was_asked(self) -> bool:
        return not self.actor.seen and not self.critic.seen


async def judge(
    files: Mapping[str, str],
    tool: Tool,
    *,
    sandbox: Sandbox | None = None,
    rules: Rules | None = None,
    wall_s: float = 30,
) -> Ran:
    """The project as it stands, in a loop that would refine it."""
    actor, critic, store = Guesser([["x"]]), Noter(), InMemoryStore()
    graph = FeedbackGraph().add_actor("write", actor).add_tool("test", tool).add_critic("reflect", critic)
    graph.add_edge("write", "test").refine("test", via="reflect", to="write").set_entry("test")
    tree = Tree({path: text.encode() for path, text in files.items()})
    app = graph.compile(store=store, sandbox=sandbox, rules=rules, budget=Budget(trials=2))
    result = await app.arun(Task(id="case", tree=tree, limits=Limits(wall_s=wall_s)))
    records = await store.records(result.episode_id)
    return Ran(result, [r for r in records if isinstance(r, Signal)], actor, critic)


async def test_a_coin_flip_is_found_out_and_never_reflected_on() -> None:
    coin = "import os\n\ndef test_steady():\n    pass\n\ndef test_coin():\n    assert os.urandom(1)[0] % 2\n"
    # thirty-one equal flips in a row happen once in a thousand million times
    ran = await judge({"test_coin.py": coin}, Pytest(), rules=Rules(rejudge_fails=30, rejudge_passes=30))
    assert (ran.result.stop_reason, ran.result.verdict, ran.result.exit_code) == (
        StopReason.NO_VERDICT,
        Verdict.NONE,
        3,
    )
    assert ran.result.account.flaky == ("test_coin.py::test_coin",)
    assert ran.result.account.rejudged == len(ran.signals) - 1 > 0
    assert ran.result.account.rejudged_s > 0
    assert ran.signals[-1].reason is NoVerdict.FLAKY
    assert "test_coin.py::test_coin" in ran.result.detail
    assert ran.nobody_was_asked()


@pytest.mark.parametrize(
    ("after", "reason", "retries"),
    [("os._exit(1)", NoVerdict.REPORT_MISSING, 1), ("assert False", NoVerdict.REPORT_MALFORMED, 0)],
)
async def test_a_deleted_report_is_no_verdict_and_not_a_fail(after: str, reason: NoVerdict, retries: int) -> None:
    deletes = f"import os\n\ndef test_a():\n    os.unlink('/box/out/report.jsonl')\n    {after}\n"
    ran = await judge({"test_a.py": deletes}, Pytest())
    assert (ran.result.stop_reason, ran.result.verdict) == (StopReason.NO_VERDICT, Verdict.NONE)
    assert [s.reason for s in ran.signals] == [reason] * (1 + retries)
    assert ran.result.account.retries == retries
    assert ran.nobody_was_asked()


async def test_a_report_that_the_command_never_wrote_is_no_verdict_and_not_a_fail() -> None:
    files = {"check.py": "import os, sys\nopen('r.xml', 'w').write('<testsuite/>')\nos.unlink('r.xml')\nsys.exit(1)\n"}
    ran = await judge(files, Command(("python", "check.py"), report="r.xml"))
    assert (ran.result.stop_reason, ran.signals[-1].reason) == (StopReason.NO_VERDICT, NoVerdict.REPORT_MISSING)
    assert ran.result.account.retries == 1
    assert ran.nobody_was_asked()


@pytest.mark.parametrize("text", ["", "def helper():\n    return 1\n"])
async def test_zero_tests_are_no_verdict_and_not_a_pass(text: str) -> None:
    ran = await judge({"test_empty.py": text, "mod.py": ""}, Pytest())
    assert (ran.result.stop_reason, ran.result.verdict, ran.result.patch) == (StopReason.NO_VERDICT, Verdict.NONE, "")
    (signal,) = ran.signals
    assert (signal.reason, ran.result.account.retries) == (NoVerdict.NOTHING_COLLECTED, 0)
    assert ran.nobody_was_asked()


async def test_a_runner_that_hangs_after_its_tests_is_no_verdict() -> None:
    files = {
        "conftest.py": "import time\n\ndef pytest_sessionfinish():\n    time.sleep(60)\n",
        "test_a.py": "def test_a():\n    pass\n",
    }
    ran = await judge(files, Pytest(), wall_s=1.5)
    assert (ran.result.stop_reason, ran.result.account.retries) == (StopReason.NO_VERDICT, 1)
    assert [s.reason for s in ran.signals] == [NoVerdict.LIMIT_HIT] * 2
    assert ran.nobody_was_asked()


# --- a container that is killed


async def killed(times: int) -> Ran:
    """A judging of two seconds in Docker, whose container is killed the first `times` times."""
    sandbox = await open_sandbox("docker", image=IMAGE)
    killer = asyncio.create_task(asyncio.to_thread(_kill, times))
    try:
        return await judge(
            {"check.py": "import time\ntime.sleep(2)\n"}, Command(("python", "check.py")), sandbox=sandbox,
            rules=Rules(rejudge_passes=0),
        )  # fmt: skip
    finally:
        await killer
        await sandbox.aclose()


def _kill(times: int) -> None:
    import time

    import docker  # pyright: ignore[reportMissingTypeStubs]

    client: Any = docker.from_env()
    done: set[str] = set()
    deadline = time.monotonic() + 60
    while len(done) < times and time.monotonic() < deadline:
        for container in client.containers.list(filters={"label": "groundwire.owner"}, ignore_removed=True):
            if container.labels["groundwire.owner"] == owner() and container.id not in done:
                container.kill()
                done.add(container.id)
        time.sleep(0.05)
    client.close()


@pytest.mark.docker
async def test_a_container_that_is_gone_for_good_stops_the_loop_before_anybody_is_paid() -> None:
    ran = await killed(2)
    assert (ran.result.stop_reason, ran.result.verdict, ran.result.exit_code) == (
        StopReason.NO_VERDICT,
        Verdict.NONE,
        3,
    )
    assert [s.reason for s in ran.signals] == [NoVerdict.SANDBOX, NoVerdict.SANDBOX]
    assert ran.result.account.retries == 1
    assert "looked 2 times" in ran.result.detail
    assert ran.nobody_was_asked()


@pytest.mark.docker
async def test_a_container_that_is_gone_once_costs_a_retry() -> None:
    ran = await killed(1)
    assert (ran.result.stop_reason, ran.result.account.retries) == (StopReason.ALREADY_PASSING, 1)
    assert [s.reason for s in ran.signals] == [NoVerdict.SANDBOX, None]
