"""`groundwire hook`: a coding agent's session ends only on a sealed PASS for the tree as it then is.

An agent asks its hook before it ends: Claude Code, Codex and VS Code by `Stop`, Gemini CLI by `AfterAgent`, Cursor by
`stop`. What each sends and reads is in its own documentation (docs/coding-agents.md names the pages). Nobody is locked
in: after a number of refusals in a row the session ends, and the user is told that nothing was verified; and what is
wrong with the hook itself stops nobody.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import sys
import time
from collections.abc import Mapping
from contextlib import aclosing, suppress
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, cast

from platformdirs import user_state_path

from groundwire.cli._repair import open_store
from groundwire.cli.coding_agents._judge_once import JudgedTree, judge_once
from groundwire.cli.coding_agents._work_tree import WorkTree, commit_of, top_of
from groundwire.core._errors import ConfigError, GroundwireError, TaskError
from groundwire.core._paths import write_private
from groundwire.core._seal import FileKeys, verify
from groundwire.core._settings import Settings
from groundwire.core._signals import NoVerdict, Verdict
from groundwire.core._tasks import COLLECTED, lone_tests
from groundwire.core._text import plain, plural

MOST_INPUT_BYTES = 4 * 1024 * 1024
"""An agent may send its whole last answer."""
CASES_SHOWN = 8
KEPT_DAYS = 14
NOT_THE_AGENTS = frozenset({NoVerdict.SANDBOX, NoVerdict.RUNNER_MISSING})
"""No verdict for reasons that lie in the machine: sending the agent back would change nothing."""
FOLDER_VARIABLES = ("CLAUDE_PROJECT_DIR", "CURSOR_PROJECT_DIR", "GEMINI_PROJECT_DIR")


class HookDialect(StrEnum):
    """How an agent wants to be answered."""

    CLAUDE_CODE = "claude-code"
    """Codex too."""
    VS_CODE = "vscode"
    GEMINI = "gemini"
    CURSOR = "cursor"


@dataclass(frozen=True)
class HookCall:
    """What an agent has sent.

    Args:
        dialect: how it wants to be answered.
        session: its session.
        folder: the project.
        goes_on: True if it goes on because it was refused its end before.
        was_cut_off: True if the user, or an error, ended its work: there is nothing to refuse.
    """

    dialect: HookDialect
    session: str
    folder: Path
    goes_on: bool
    was_cut_off: bool

    @classmethod
    def read(cls, text: str, root: Path | None, variables: Mapping[str, str]) -> HookCall:
        """Reads the JSON that an agent sends.

        Args:
            text: the JSON.
            root: the project, where the user named it.
            variables: of the environment, in which agents name it.

        Raises:
            ConfigError: it is nothing that one of the agents sends.
        """
        try:
            said: object = json.loads(text)
        except ValueError as error:
            raise ConfigError(f"What the hook was sent is no JSON: {error}.", do="An agent calls it.") from error
        if not isinstance(said, dict):
            raise ConfigError("What the hook was sent is no JSON object.", do="An agent calls it.")
        sent = cast("dict[str, Any]", said)
        event = str(sent.get("hook_event_name") or sent.get("hookEventName") or "")
        session = str(sent.get("session_id") or sent.get("sessionId") or sent.get("conversation_id") or "")
        roots: object = sent.get("workspace_roots")
        first = cast("list[object]", roots)[0] if isinstance(roots, list) and roots else ""
        named = next((variables[name] for name in FOLDER_VARIABLES if variables.get(name)), "")
        given = root or Path(str(named or first or sent.get("cwd") or "."))
        try:
            folder = given.resolve() if root or named or first else top_of(given.resolve())
            is_folder = folder.is_dir()
        except (OSError, ValueError):
            folder, is_folder = given, False
        if not is_folder:
            raise ConfigError(f"The project {plain(str(given))!r} is not a folder.", do="Name it with --root.")
        return cls(
            dialect=_dialect(event, sent),
            session=session,
            folder=folder,
            goes_on=bool(sent.get("stop_hook_active") or sent.get("loop_count")),
            was_cut_off=sent.get("status") in ("aborted", "error"),
        )

    def refusal(self, reason: str) -> dict[str, Any]:
        """What sends the agent back to work.

        Args:
            reason: what it is told.
        """
        match self.dialect:
            case HookDialect.CURSOR:
                return {"followup_message": reason}
            case HookDialect.GEMINI:
                return {"decision": "deny", "reason": reason}
            case HookDialect.VS_CODE:
                return {"hookSpecificOutput": {"hookEventName": "Stop", "decision": "block", "reason": reason}}
            case HookDialect.CLAUDE_CODE:
                return {"decision": "block", "reason": reason}

    def leave(self, said: str) -> dict[str, Any]:
        """What lets it end, and tells its user why.

        Args:
            said: what the user is told.
        """
        if self.dialect is HookDialect.CURSOR:  # it shows none
            return {}
        return {"systemMessage": plain(f"groundwire: {said}", limit=1000)}


def _dialect(event: str, sent: Mapping[str, Any]) -> HookDialect:
    if event in ("stop", "sessionStart"):
        return HookDialect.CURSOR
    if event == "AfterAgent":
        return HookDialect.GEMINI
    if event in ("Stop", "SubagentStop", "SessionStart"):
        return HookDialect.VS_CODE if "timestamp" in sent or "sessionId" in sent else HookDialect.CLAUDE_CODE
    raise ConfigError(
        f"The hook answers no event {plain(event)!r}.", do="Set it for Stop, AfterAgent or stop, or for the start."
    )


# What is known of a session from one call to the next.


@dataclass(frozen=True)
class HookState:
    """What the hook noted of a session.

    Args:
        commit: whose tests judge; None: not noted yet; empty: those of the work tree.
        refused: how often in a row its end was refused.
        passed: digest of what passed last.
        signal: the signal that says so.
    """

    commit: str | None = None
    refused: int = 0
    passed: str = ""
    signal: str = ""

    @classmethod
    def read(cls, path: Path) -> HookState:
        """Reads what was noted; nothing where there is nothing, or it can't be read."""
        try:
            said = json.loads(path.read_text(encoding="utf-8"))
            return cls(said["commit"], int(said["refused"]), str(said["passed"]), str(said["signal"]))
        except (OSError, ValueError, KeyError, TypeError):
            return cls()

    def write(self, path: Path) -> None:
        """Notes it, for this user alone."""
        with suppress(OSError):  # what can't be noted is found out anew
            write_private(path, json.dumps(asdict(self)).encode(), below=path.parent)


def state_file(call: HookCall) -> Path:
    """Where a session's state is."""
    name = hashlib.sha256(f"{call.session}\0{call.folder}".encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return user_state_path("groundwire") / "hooks" / f"{name}.json"


def _forget_old(folder: Path) -> None:
    before = time.time() - KEPT_DAYS * 86_400
    with suppress(OSError):
        for path in folder.glob("*.json"):
            if path.stat().st_mtime < before:
                path.unlink()


# The hooks.


def hook_start(root: Path | None, *, tests_from: str) -> int:
    """Notes whose tests judge the session that begins; commits of the agent's own change nothing then.

    Returns:
        0; 1 where something is wrong with the hook, which stops nobody.
    """
    try:
        call = HookCall.read(_input(), root, os.environ)
        path = state_file(call)
        _forget_old(path.parent)
        HookState(commit=commit_of(call.folder, tests_from)).write(path)
    except GroundwireError as error:
        return _wrong(error)
    print("{}")
    return 0


def hook_stop(
    root: Path | None, flags: Mapping[str, Any], *, tests_from: str, tries: int, changed_only: bool, require_tests: bool
) -> int:
    """Answers an agent that wants to end.

    Args:
        root: the project; None: what the agent says.
        flags: settings.
        tests_from: whose tests judge, where `hook_start` has not noted it.
        tries: refusals in a row.
        changed_only: lets it end unjudged where nothing differs from the commit.
        require_tests: refuses its end where the project has no tests.

    Returns:
        0; 1 where something is wrong with the hook, which stops nobody.
    """
    try:
        call = HookCall.read(_input(), root, os.environ)
        path = state_file(call)
        state = HookState.read(path)
        if state.commit is None:
            state = replace(state, commit=commit_of(call.folder, tests_from))
        if not call.goes_on:
            state = replace(state, refused=0)
        answer, state = asyncio.run(_answer(call, state, flags, tries, changed_only, require_tests))
        state.write(path)
    except GroundwireError as error:
        return _wrong(error)
    print(json.dumps(answer))
    return 0


async def _answer(
    call: HookCall, state: HookState, flags: Mapping[str, Any], tries: int, changed_only: bool, require_tests: bool
) -> tuple[dict[str, Any], HookState]:
    if call.was_cut_off:
        return {}, state
    try:
        work = await asyncio.to_thread(WorkTree.read, call.folder, flags, tests_from=state.commit or "")
    except TaskError as error:
        # the commit was there when it was noted
        if not state.commit or state.refused >= tries:
            raise
        refused = replace(state, refused=state.refused + 1)
        return call.refusal(plain(f"groundwire: {error.what} {error.do}", limit=1000)), refused
    if changed_only and state.commit and work.candidate.is_base and not work.left_out:
        return call.leave("nothing was changed, so nothing was judged"), state
    judging = f"{work.task.describe()}\0{work.candidate.digest}"
    digest = hashlib.sha256(judging.encode("utf-8", "surrogatepass")).hexdigest()
    async with aclosing(open_store(Settings.resolve(flags))) as store:
        if state.passed == digest and await _still_stands(store, state.signal, work.candidate.digest):
            return call.leave(f"verified before: signal {state.signal}"), replace(state, refused=0)
        judged = await judge_once(work, store, asked={"by": "hook", "folder": str(call.folder)})
    signal_id = judged.signal.id if judged.signal else ""
    if judged.result.verdict is Verdict.PASS:
        unused = f"; not used: {_named(work.left_out)}" if work.left_out else ""
        passed = replace(state, refused=0, passed=digest, signal=signal_id)
        return call.leave(f"verified: {judged.result.detail}, signal {signal_id}{unused}"), passed
    why_not = _not_the_agents(judged, require_tests=require_tests)
    if why_not:
        return call.leave(f"NOT verified: {why_not}"), replace(state, refused=0)
    if state.refused >= tries:
        said = f"NOT verified: refused {plural(tries, 'time')} in a row, and let go. {_found(judged)}"
        return call.leave(said), replace(state, refused=0)
    refused = replace(state, refused=state.refused + 1)
    then = "You are not done: the project's tests decide that. Mend the code, then end again."
    return call.refusal(f"{_found(judged)}\n{then} (refusal {refused.refused} of {tries})"), refused


async def _still_stands(store: Any, signal_id: str, candidate: str) -> bool:
    """True if a signal of the ledger is a PASS of this very candidate, and as it was sealed."""
    try:
        signal = await store.signal(signal_id)
        verify(signal, FileKeys().load(signal.run_id))
    except GroundwireError:
        return False
    return signal.verdict is Verdict.PASS and signal.candidate_digest == candidate


def _not_the_agents(judged: JudgedTree, *, require_tests: bool) -> str:
    """Why there is no verdict, where the agent can do nothing about it; empty where it can."""
    signal, task = judged.signal, judged.work.task
    if judged.result.error is not None:
        return plain(f"{judged.result.error.what} {judged.result.error.do}", limit=600)
    if signal is None or signal.verdict is not Verdict.NONE:
        return ""
    if signal.reason in NOT_THE_AGENTS:
        return plain(f"{signal.reason}: {signal.evidence.detail}", limit=600)
    has_tests = any(task.matches(path, COLLECTED) for path in task.tree.files) or bool(lone_tests(task.tree))
    if signal.reason is NoVerdict.NOTHING_COLLECTED and not has_tests and not require_tests:
        where = f"the commit {task_commit[:12]}" if (task_commit := judged.work.tests_from) else "the project"
        return f"{where} has no tests, so nothing can say whether this works"
    return ""


def _found(judged: JudgedTree) -> str:
    signal, result, work = judged.signal, judged.result, judged.work
    lines = [f"groundwire: {result.verdict if result.verdict is Verdict.FAIL else 'no verdict'}: {result.detail}"]
    failed = signal.evidence.failed() if signal is not None and result.hidden is None else ()
    lines += [f"{case.id}: {_last_line(case.message)}" for case in failed[:CASES_SHOWN]]
    if len(failed) > CASES_SHOWN:
        lines.append(f"… and {len(failed) - CASES_SHOWN} more")
    if work.left_out:
        lines.append(f"Your changes to these were not used: {_named(work.left_out)}. Change the code instead.")
    if signal is not None:
        lines.append(f"signal {signal.id}")
    return "\n".join(plain(line, limit=400) for line in lines)


def _last_line(message: str) -> str:
    return next((line for line in reversed(message.strip().splitlines()) if line.strip()), "it failed")


def _named(paths: tuple[str, ...]) -> str:
    more = f" and {len(paths) - CASES_SHOWN} more" if len(paths) > CASES_SHOWN else ""
    return plain(", ".join(paths[:CASES_SHOWN]), limit=600) + more


def _input() -> str:
    return sys.stdin.buffer.read(MOST_INPUT_BYTES).decode("utf-8", "replace")


def _wrong(error: GroundwireError) -> int:
    """1, never 2, by which agents are refused their end."""
    print(f"groundwire hook: {plain(f'{error.what} {error.do}', limit=1000)}", file=sys.stderr)
    return 1
