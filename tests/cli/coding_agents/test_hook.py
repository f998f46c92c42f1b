"""The stop hook, with the JSON that each agent's documentation shows: an end is refused, bounded, and let go."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from cli import lay_out
from work_trees import committed, git, mend

from groundwire.cli.coding_agents._hook import HookCall, HookDialect, HookState, hook_start, hook_stop, state_file
from groundwire.core._errors import ConfigError

Answer = tuple[int, dict[str, Any], str]
Stop = Callable[..., Answer]


def claude_code(folder: Path, *, again: bool = False) -> dict[str, Any]:
    return {
        "session_id": "abc123",
        "transcript_path": "/home/me/.claude/projects/x/00893aaf.jsonl",
        "cwd": str(folder),
        "permission_mode": "default",
        "hook_event_name": "Stop",
        "stop_hook_active": again,
        "last_assistant_message": "All tests pass. \x1b[31m",
    }


def codex(folder: Path) -> dict[str, Any]:
    return {**claude_code(folder), "turn_id": "t1", "model": "gpt-5-codex"}


def vs_code(folder: Path) -> dict[str, Any]:
    stamp = "2026-02-09T10:30:00.000Z"
    return {
        "timestamp": stamp,
        "cwd": str(folder),
        "sessionId": "s",
        "hookEventName": "Stop",
        "stop_hook_active": False,
    }


def gemini(folder: Path) -> dict[str, Any]:
    about = {"session_id": "s", "transcript_path": "/t.json", "cwd": str(folder), "timestamp": "2026-02-09T10:30:00Z"}
    return {
        **about,
        "hook_event_name": "AfterAgent",
        "prompt": "fix",
        "prompt_response": "ok",
        "stop_hook_active": False,
    }


def cursor(folder: Path, status: str = "completed") -> dict[str, Any]:
    about = {"conversation_id": "c", "generation_id": "g", "workspace_roots": [str(folder)], "status": status}
    return {**about, "hook_event_name": "stop", "loop_count": 0}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return committed(tmp_path / "shop")


@pytest.fixture
def stop(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Stop:
    for name in ("CLAUDE_PROJECT_DIR", "CURSOR_PROJECT_DIR", "GEMINI_PROJECT_DIR"):
        monkeypatch.delenv(name, raising=False)

    def told(sent: object, *, start: bool = False, tries: int = 3, **options: Any) -> Answer:
        text = sent if isinstance(sent, str) else json.dumps(sent)
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        options = {"tests_from": "HEAD", "changed_only": False, "require_tests": False, **options}
        code = (
            hook_start(None, tests_from=options["tests_from"])
            if start
            else hook_stop(None, {"rejudge": 0}, tries=tries, **options)
        )
        said = capsys.readouterr()
        return code, json.loads(said.out) if said.out else {}, said.err

    return told


def test_a_session_ends_only_on_a_sealed_pass_and_after_so_many_refusals(project: Path, stop: Stop) -> None:
    code, answer, _ = stop(claude_code(project), tries=1)
    assert (code, answer["decision"]) == (0, "block")
    assert "tests/test_price.py::test_some: " in answer["reason"]
    assert "(refusal 1 of 1)" in answer["reason"]
    code, answer, _ = stop(claude_code(project, again=True), tries=1)
    assert (code, "decision" in answer) == (0, False), "nobody is locked in"
    assert "NOT verified: refused 1 time in a row" in answer["systemMessage"]
    mend(project)
    _, answer, _ = stop(claude_code(project / "shop"))
    assert answer["systemMessage"].startswith("groundwire: verified: 2 of 2 tests passed, signal ")
    _, answer, _ = stop(claude_code(project))
    assert answer["systemMessage"].startswith("groundwire: verified before: signal ")
    path = state_file(HookCall.read(json.dumps(claude_code(project)), None, {}))
    assert path.stat().st_mode & 0o777 == 0o600
    noted = HookState.read(path)
    HookState(noted.commit, 0, noted.passed, "0" * 32).write(path)
    _, answer, _ = stop(claude_code(project))
    assert answer["systemMessage"].startswith("groundwire: verified: "), "what the ledger does not bear out is no PASS"


def test_tests_that_were_bent_and_committed_are_not_what_judges(project: Path, stop: Stop) -> None:
    assert stop({**claude_code(project), "hook_event_name": "SessionStart", "source": "startup"}, start=True)[0] == 0
    lay_out(
        project, {"tests/test_price.py": "def test_some():\n    pass\n", "conftest.py": "collect_ignore = ['tests']\n"}
    )
    git(project, "add", "-A")
    git(project, "commit", "-qm", "all green")
    _, answer, _ = stop(claude_code(project))
    assert answer["decision"] == "block"
    assert "not used: conftest.py, tests/test_price.py. Change the code instead." in answer["reason"]


def test_a_repository_that_is_taken_away_is_no_way_out(project: Path, stop: Stop) -> None:
    stop({**claude_code(project), "hook_event_name": "SessionStart"}, start=True)
    (project / ".git").rename(project / "git")
    code, answer, _ = stop(claude_code(project), tries=1)
    assert (code, answer["decision"]) == (0, "block")
    assert "The commit can't be read" in answer["reason"]
    code, answer, error = stop(claude_code(project, again=True), tries=1)
    assert (code, answer) == (1, {}), "nobody is locked in"
    assert "The commit can't be read" in error


@pytest.mark.parametrize("require", [False, True])
def test_without_tests_it_ends_and_says_so_unless_tests_are_required(require: bool, tmp_path: Path, stop: Stop) -> None:
    empty = committed(tmp_path / "empty", {"app.py": "x = 1\n"})
    lay_out(empty, {"app.py": "x = 2\n", "test_mine.py": "def test_x():\n    pass\n"})
    _, answer, _ = stop(claude_code(empty), require_tests=require)
    assert (answer.get("decision") == "block") is require
    said = answer["reason"] if require else answer["systemMessage"]
    assert ("test_mine.py" in said) if require else "has no tests, so nothing can say whether this works" in said


def test_what_is_broken_around_the_tests_is_not_the_agents_and_stops_nobody(project: Path, stop: Stop) -> None:
    lay_out(project, {"shop/price.py": "import os\nos._exit(0)\n"})
    _, answer, _ = stop(claude_code(project))
    assert answer["decision"] == "block", "ending the runner is no way out"
    code, answer, error = stop({**claude_code(project), "cwd": "/nowhere/at/all"})
    assert (code, answer) == (1, {})
    assert "Name it with --root" in error


def test_nothing_is_judged_where_nothing_was_changed_if_so_asked(project: Path, stop: Stop) -> None:
    _, answer, _ = stop(claude_code(project), changed_only=True)
    assert answer == {"systemMessage": "groundwire: nothing was changed, so nothing was judged"}
    for status in ("aborted", "error"):
        assert stop(cursor(project, status))[:2] == (0, {})


@pytest.mark.parametrize(
    ("sent", "dialect", "expected"),
    [
        (claude_code, HookDialect.CLAUDE_CODE, {"decision": "block", "reason": "why"}),
        (codex, HookDialect.CLAUDE_CODE, {"decision": "block", "reason": "why"}),
        (gemini, HookDialect.GEMINI, {"decision": "deny", "reason": "why"}),
        (cursor, HookDialect.CURSOR, {"followup_message": "why"}),
        (
            vs_code,
            HookDialect.VS_CODE,
            {"hookSpecificOutput": {"hookEventName": "Stop", "decision": "block", "reason": "why"}},
        ),
    ],
)
def test_each_agent_is_read_and_answered_in_its_own_words(
    sent: Callable[[Path], Mapping[str, Any]], dialect: HookDialect, expected: Mapping[str, Any], project: Path
) -> None:
    call = HookCall.read(json.dumps(sent(project)), None, {})
    assert (call.dialect, call.folder, call.goes_on) == (dialect, project.resolve(), False)
    assert call.refusal("why") == expected
    there = HookCall.read(json.dumps(sent(project)), None, {"CLAUDE_PROJECT_DIR": str(project / "shop")})
    assert there.folder == (project / "shop").resolve()


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{", '"x"', "{}", '{"hook_event_name": "PreToolUse", "cwd": "."}', '{"hook_event_name": "\\u001b[31m"}',
     '{"hook_event_name": "Stop", "cwd": "a\\u0000b"}', '{"hook_event_name": "stop", "workspace_roots": [7]}'],
)  # fmt: skip
def test_what_no_agent_sends_is_refused(text: str, stop: Stop) -> None:
    with pytest.raises(ConfigError):
        HookCall.read(text, None, {})
    code, answer, error = stop(text)
    assert (code, answer) == (1, {}), "2 would be a refusal"
    assert "\x1b" not in error
