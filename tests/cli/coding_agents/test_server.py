"""The MCP server through the SDK's own client: what each tool gives, and what a hostile client does not get."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest
from cli import lay_out
from mcp import Client
from processes import left_of, seen
from work_trees import committed, git, mend

from groundwire.cli._replay import replay_run
from groundwire.cli.coding_agents._server import GroundwireServer, make_server
from groundwire.cli.coding_agents._session import Projects, ToolLimits, ToolSession, ended
from groundwire.core._errors import BudgetExceeded, ConfigError

ESC = "\x1b[31m"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return committed(tmp_path / "shop")


@asynccontextmanager
async def connected(
    project: Path, *, tests_from: str = "HEAD", limits: ToolLimits | None = None, **flags: Any
) -> AsyncGenerator[Client]:
    own = GroundwireServer(Projects([project]), ToolSession(limits or ToolLimits()), flags, tests_from=tests_from)
    async with Client(make_server(own)) as client:
        yield client


async def called(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    assert result.structured_content is not None
    return result.structured_content


async def resource(client: Client, name: str) -> Any:
    (content,) = (await client.read_resource(f"groundwire://{name}")).contents
    return json.loads(cast("Any", content).text)


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    result = await client.call_tool(tool, arguments)
    assert result.is_error, result.structured_content
    text = "".join(getattr(part, "text", "") for part in result.content)
    assert ESC not in text
    return text


async def test_a_grounded_loop_from_failure_to_lesson_to_pass(project: Path) -> None:
    async with connected(project) as client:
        told: list[str | None] = []

        async def hear(progress: float, total: float | None, message: str | None) -> None:
            told.append(message)

        first = await client.call_tool("verify", {}, progress_callback=hear)
        failed: Any = first.structured_content
        assert (failed["verdict"], failed["passed"], failed["cases"]) == ("fail", 1, 2)
        # tests fail, which the verdict says; what is judged can be named to the next tool
        assert (failed["reason"], failed["project"]) == ("", str(project))
        (case,) = failed["failing"]
        assert case["id"] == "tests/test_price.py::test_some"
        assert "assert total([1, 2]) == 3" in case["message"]
        assert failed["hidden_tests"] is None
        assert told[-1:] == ["1 judged: 1/2 tests pass"]

        text = f"It subtracts where it has to add.{ESC}"
        lesson = await called(client, "reflect", signal_id=failed["signal_id"], text=text, by="a model")
        assert "one failure, one reflection" in await refused(
            client, "reflect", signal_id=failed["signal_id"], text="And I was brilliant."
        )
        recalled = await called(client, "recall", signal_id=failed["signal_id"])
        assert [found["id"] for found in recalled["lessons"]] == [lesson["lesson_id"]]
        assert ESC not in json.dumps(recalled)

        mend(project)
        lay_out(project, {"tests/test_price.py": "def test_some(): pass\n"})
        passed = await called(client, "verify", project=str(project))
        assert (passed["verdict"], passed["unforgeable"]) == ("pass", True)
        assert passed["controls"] == {"can_fail": 2, "not_controlled": 0, "cannot_fail": []}
        assert passed["left_out"] == ["tests/test_price.py"]
        assert "no FAIL" in await refused(client, "reflect", signal_id=passed["signal_id"], text="I am great.")

        runs = (await called(client, "history"))["runs"]
        assert [(run["verdict"], run["graph"]) for run in runs] == [("pass", "judge_once"), ("fail", "judge_once")]
        assert {run["project"] for run in runs} == {str(project)} and [run["reason"] for run in runs] == [
            "verified",
            "",
        ]
        signal = await resource(client, f"signals/{passed['signal_id']}")
        assert (signal["verdict"], signal["as_sealed"]) == ("pass", True)
        report = await resource(client, f"reports/{failed['run_id']}")
        assert (report["holds"], report["authentic"]) == (True, True), "the reflection is in the chain as well"
    for run in runs:  # also of the one that a reflection was added to after its end
        assert await asyncio.to_thread(replay_run, run["run_id"], {}, verify=True, unverified=False, as_json=True) == 0


async def test_a_repair_gives_a_patch_and_writes_nothing(project: Path) -> None:
    async with connected(project) as client:
        repaired = await called(client, "repair", max_seconds=120)
        assert (repaired["verdict"], repaired["changed_files"]) == ("pass", ["shop/price.py"])
        assert git(project, "status", "--porcelain") == ""
        assert "+        result += price" in repaired["patch"]


async def test_sixty_long_failures_make_a_short_answer_and_pages(project: Path) -> None:
    case = 'def test_{0:02}():\n    assert "{1}" == {0}, "\\n".join(["{1}"] * 30)\n'
    tests = "".join(case.format(number, "a long line " * 15) for number in range(60))
    lay_out(project, {"tests/test_many.py": tests})
    git(project, "add", "-A")
    git(project, "commit", "-qm", "sixty")
    async with connected(project) as client:
        answer = await client.call_tool("verify", {})
        judged: Any = answer.structured_content
        assert (len(judged["failing"]), judged["more_failing"]) == (20, 41)
        assert len(json.dumps(judged)) < 16_000
        assert all(case["message"] for case in judged["failing"])
        seen = list[str]()
        for page in ("", "/2", "/3", "/4"):
            seen += [case["id"] for case in (await resource(client, f"signals/{judged['signal_id']}{page}"))["failing"]]
        assert len(seen) == len(set(seen)) == 61 and seen[:20] == [case["id"] for case in judged["failing"]]
        assert not (await resource(client, f"signals/{judged['signal_id']}/9"))["failing"]


async def test_what_was_wrong_with_a_call_is_a_line_that_says_what_to_do(project: Path) -> None:
    async with connected(project) as client:
        empty = await refused(client, "reflect", signal_id="", text="x")
        assert empty == "reflect: signal_id: String should have at least 1 character."
        assert "There is no tool fix. There are: verify, repair" in await refused(client, "fix")
        patch = "*** Begin Patch\n*** Update File: shop/price.py\n-x\n+y\n*** End Patch"
        assert "Give a unified diff, as `git diff` prints it" in await refused(client, "verify", patch=patch)


async def test_hidden_tests_never_leave(project: Path) -> None:
    lay_out(
        project,
        {"secret/test_h.py": "from shop.price import total\n\n\ndef test_zebra():\n    assert total([7]) == 70\n"},
    )
    mend(project)
    async with connected(project, hidden_dir="secret") as client:
        judged = await called(client, "verify")
        assert (judged["verdict"], judged["hidden_tests"], judged["failing"]) == ("fail", "fail", [])
        signal = (await client.read_resource(f"groundwire://signals/{judged['signal_id']}")).contents[0]
        report = (await client.read_resource(f"groundwire://reports/{judged['run_id']}")).contents[0]
        why = await refused(client, "reflect", signal_id=judged["signal_id"], text="a guess")
        for said in (json.dumps(judged), str(signal), str(report), why):
            own = said.replace(str(project), "")
            assert not [word for word in ("zebra", "test_h", "secret", "== 70") if word in own]
        assert "hidden tests steer nothing" in why


async def test_the_list_has_schemas_and_says_what_only_reads(project: Path) -> None:
    async with connected(project) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(tools) == {"verify", "repair", "recall", "reflect", "audit", "history"}
        assert all(tool.output_schema and tool.description for tool in tools.values())
        assert not any("\n" in (tool.description or "") for tool in tools.values())
        undescribed = [
            (tool.name, name)
            for tool in tools.values()
            for name, about in tool.input_schema["properties"].items()
            if not about.get("description")
        ]
        assert not undescribed
        assert [name for name, tool in tools.items() if not tool.annotations.read_only_hint] == ["reflect"]  # type: ignore[union-attr]
        assert {prompt.name for prompt in (await client.list_prompts()).prompts} == {"grounded_fix", "lesson_from"}
        prompt = await client.get_prompt("grounded_fix", {"project": ESC})
        assert ESC not in str(prompt)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"project": "/etc"}, "none of the folders"),
        ({"project": "{root}/../other"}, "none of the folders"),
        ({"project": "{root}x"}, "none of the folders"),
        ({"project": "../shop"}, "none of the folders"),
        ({"project": "a\0b"}, "none of the folders"),
        ({"project": "link"}, "through a link"),
        ({"project": "link/shop"}, "through a link"),
        ({"project": f"{ESC}"}, "no file or folder"),
        ({"project": "shop/price.py"}, "not a folder"),
        ({"project": "x" * 5000}, "4096"),
        ({"patch": "x" * 1_048_577}, "1048576"),
        ({"patch": 7}, "string"),
        ({"max_seconds": -1}, "greater than 0"),
        ({"max_seconds": "inf"}, "less than or equal"),
        ({"max_seconds": float("nan")}, "number"),
        ({"folder": "/elsewhere", f"{ESC}": 1}, "has no argument"),
    ],
)
async def test_arguments_out_of_bounds_run_nothing(
    arguments: Mapping[str, Any], why: str, project: Path, tmp_path: Path
) -> None:
    committed(tmp_path / "other")
    (project / "link").symlink_to(tmp_path / "other")
    given = {k: v.replace("{root}", str(project)) if isinstance(v, str) else v for k, v in arguments.items()}
    async with connected(project) as client:
        assert why in await refused(client, "verify", **given)
        assert (await called(client, "history"))["runs"] == []


async def test_a_folder_of_another_user_is_refused(
    project: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    projects, real = Projects([tmp_path]), Path.stat

    def stat(path: Path, **options: Any) -> os.stat_result:
        found = real(path, **options)
        if path != project:
            return found
        return os.stat_result([*found[:4], os.getuid() + 1, *found[5:]])

    monkeypatch.setattr(Path, "stat", stat)
    with pytest.raises(ConfigError, match="another user"):
        projects.folder("shop")


async def test_what_is_known_of_other_projects_is_not_told(project: Path, tmp_path: Path) -> None:
    other = committed(tmp_path / "other")
    async with connected(other) as client:
        failed = await called(client, "verify")
    async with connected(project) as client:
        assert (await called(client, "history"))["runs"] == []
        for there in (failed["signal_id"], "nothing-of-the-kind"):
            assert f"no signal {there} here" in await refused(client, "reflect", signal_id=there, text="x")
            assert f"no signal {there} here" in await refused(client, "recall", signal_id=there)
        for uri in (f"signals/{failed['signal_id']}", f"reports/{failed['run_id']}", "reports/../signals/x"):
            with pytest.raises(Exception, match=r"There is no|Unknown resource|not found"):
                await client.read_resource(f"groundwire://{uri}")
        assert "pattern" in await refused(client, "reflect", signal_id=f"a{ESC}", text="x")


async def test_a_project_does_not_say_which_model_is_paid(project: Path) -> None:
    lay_out(project, {"pyproject.toml": '[tool.groundwire]\nmodel = "openai/gpt-5"\nmax_seconds = 1\n'})
    git(project, "add", "-A")
    git(project, "commit", "-qm", "a model")
    own = GroundwireServer(Projects([project]), ToolSession(ToolLimits()), {}, tests_from="HEAD")
    settings = own.read(project, "", 60).settings
    assert (settings.model, settings.max_seconds) == (None, 1)


async def test_an_audit_reads_and_runs_nothing(project: Path) -> None:
    lay_out(
        project,
        {
            "agent.py": "open('ran', 'w')\nfrom openai import OpenAI\n"
            "from langgraph.graph import END, START, StateGraph\n"
            "def ask(s):\n    return {'ok': OpenAI().chat.completions.create(messages=[]).choices[0].message.content}\n"
            "g = StateGraph(dict)\ng.add_node('a', ask)\ng.add_edge(START, 'a')\n"
            "g.add_conditional_edges('a', lambda s: 'a' if s['ok'] == 'no' else END)\n"
        },
    )
    async with connected(project) as client:
        audited = await called(client, "audit", project="agent.py")
        assert audited["exit_code"] == 1
        assert "ungrounded-loop" in audited["report"]
        assert not (project / "ran").exists()


async def test_budgets_of_a_session_and_a_call(project: Path) -> None:
    limits = ToolLimits(call_seconds=60, total_seconds=60, calls=1)
    async with connected(project, limits=limits) as client:
        await called(client, "audit")
        assert "1 calls are used up" in await refused(client, "verify")
    session = ToolSession(ToolLimits(call_seconds=0.05))

    async def forever(_seconds: float) -> None:
        await asyncio.sleep(3600)

    with pytest.raises(TimeoutError, match="longer than"):
        await session.run(forever, gone=None)
    session.seconds = session.limits.total_seconds
    with pytest.raises(BudgetExceeded):
        await session.run(forever, gone=None)


async def test_what_a_client_that_has_gone_asked_for_is_ended() -> None:
    session, gone, cleaned = ToolSession(ToolLimits()), asyncio.Event(), asyncio.Event()

    async def works(_seconds: float) -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            await asyncio.sleep(0)
            cleaned.set()

    asyncio.get_running_loop().call_soon(gone.set)
    with pytest.raises(ConnectionAbortedError, match="has gone"):
        await session.run(works, gone=gone)
    assert cleaned.is_set()


async def test_a_program_is_killed_with_all_that_it_started(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "told")
    running = asyncio.create_task(ended(["sh", "-c", "sleep 60 & echo $! > told; wait"], tmp_path, dict(os.environ)))
    child = int(await asyncio.to_thread((tmp_path / "told").read_text))
    below = seen([child])
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert below and not await asyncio.to_thread(left_of, below)


async def test_a_program_that_ends_by_itself_as_it_is_killed_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its end is known to the kernel a moment before it is known to asyncio."""
    os.mkfifo(tmp_path / "told")
    real = os.killpg

    def late(group: int, number: int) -> None:
        real(group, number)
        assert not left_of(seen([group]))
        raise ProcessLookupError

    running = asyncio.create_task(ended(["sh", "-c", "echo > told; sleep 60"], tmp_path, dict(os.environ)))
    await asyncio.to_thread((tmp_path / "told").read_text)
    monkeypatch.setattr(os, "killpg", late)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
