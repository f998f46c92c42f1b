"""The MCP server: what a coding agent can ask of groundwire, and what it can read.

Nothing here writes into a project. What is judged is read, copied into a sandbox and judged there.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from contextlib import aclosing, asynccontextmanager, suppress
from pathlib import Path
from typing import Annotated, Any, TypeVar

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ResourceError, ToolError
from mcp_types import CallToolResult, InputRequiredResult, Tool, ToolAnnotations
from pydantic import Field, ValidationError

from groundwire import __version__
from groundwire.cli._repair import build, open_store
from groundwire.cli._run_state import end_of_run
from groundwire.cli._verify import check_data
from groundwire.cli.coding_agents import _answers as answers
from groundwire.cli.coding_agents._judge_once import NAME, judge_once
from groundwire.cli.coding_agents._session import Projects, ToolSession, ended
from groundwire.cli.coding_agents._work_tree import WorkTree, commit_of
from groundwire.core._errors import ConfigError, GroundwireError, RecordNotFound
from groundwire.core._records import EpisodeEnd, EpisodeRecord, Record, RunRecord, TrialRecord
from groundwire.core._seal import FileKeys, verify
from groundwire.core._settings import Settings
from groundwire.core._signals import Origin, Signal
from groundwire.core._signatures import failure_frames, failure_signature
from groundwire.core._text import first_problem, plain
from groundwire.graphs.run._outside_reflection import episode_of, reflect_from_outside
from groundwire.memory._checking import check_run

Done = TypeVar("Done")
GONE = "groundwire.gone"
"""Of an HTTP request's scope: an `asyncio.Event` that is set when its client has gone."""
REPORT_CHARS = 20_000
PROGRESS_S = 0.3
RUNS_LOOKED_AT = 200
INSTRUCTIONS = (
    "Whether code works is said by the project's own tests, run in a sandbox and sealed; your own word counts for"
    " nothing. After a change call `verify`; only its PASS is one. What fails may be known: `recall`. What a failure"
    " taught you is kept by `reflect`, with the failing signal's id. `repair` searches for a small patch by itself."
)
FIX = (
    "Make the tests of {project} pass, by its own tests' word alone.\n"
    "1. Call `verify`. Where it passes, stop and say so.\n"
    "2. Call `recall` with the failing signal's id, and read what is known.\n"
    "3. Change the code, never tests or their configuration: other tests than those of the commit are not used.\n"
    "4. Call `verify` again. On a FAIL call `reflect` with that signal's id and one or two sentences about what was"
    " wrong with the change, and go on at 3; after five failures in a row stop, and say what fails.\n"
    "5. Say that it works only where `verify` gave PASS, and name that signal."
)

Project = Annotated[
    str,
    Field(
        max_length=4096,
        description="Folder of the project, absolute or relative to the server's root. Left out: that root itself.",
    ),
]
SignalId = Annotated[
    str, Field(max_length=64, pattern=r"^[0-9A-Za-z-]*$", description="Id of a failing signal, as `verify` gave it.")
]
Seconds = Annotated[float, Field(gt=0, le=86_400, description="The most wall seconds that it may take.")]
Ctx = Context[Any, Any]


class GroundwireServer:
    """What the tools of one server share.

    Args:
        projects: the folders that it is for.
        session: what its calls may use.
        flags: settings that the user gave.
        tests_from: a commit, branch or tag whose tests judge, `HEAD` as it is now, or `worktree`.
    """

    def __init__(self, projects: Projects, session: ToolSession, flags: Mapping[str, Any], *, tests_from: str) -> None:
        self.projects = projects
        self.session = session
        self.flags = {**flags, "actor_command": None}
        self._tests_from = tests_from
        self._lock = asyncio.Lock()
        # as it is when the server starts: a commit that the agent makes changes no test that judges it
        self._commits = {root: commit_of(root, tests_from) for root in projects.roots}

    async def verify(self, project: str, patch: str, seconds: float, ctx: Ctx) -> answers.VerifyAnswer:
        """See the tool."""
        folder = self.projects.folder(project)

        async def work(limit: float, tell: Callable[[str], None]) -> answers.VerifyAnswer:
            tree = await asyncio.to_thread(self.read, folder, patch, min(limit, seconds))
            async with self._store() as store:
                told = {"by": "mcp", "folder": str(folder)}
                return answers.verify_answer(await judge_once(tree, store, asked=told, told=_teller(tell)), folder)

        return await self._run(work, ctx)

    async def repair(self, project: str, seconds: float, ctx: Ctx) -> answers.RepairAnswer:
        """See the tool."""
        folder = self.projects.folder(project)

        async def work(limit: float, tell: Callable[[str], None]) -> answers.RepairAnswer:
            tree = await asyncio.to_thread(self.read, folder, "", min(limit, seconds))
            settings, task = tree.settings, tree.to_repair
            async with self._store() as store:
                app = build(settings, task, store)
                asked = {"folder": str(folder), "settings": settings.model_dump(mode="json", exclude={"db"})}
                run_id = await app.start_run({"cli": {**asked, "apply": False, "patch_file": None}, "by": "mcp"})
                result = await app.arun(
                    task, run_id=run_id, seed=settings.seed, observers=(_teller(tell),), on_error="end"
                )
                await end_of_run(store, run_id)
            return answers.repair_answer(result, folder, tests_from=tree.tests_from, left_out=tree.left_out)

        return await self._run(work, ctx)

    async def recall(self, project: str, question: str, signal_id: str, most: int) -> answers.RecallAnswer:
        """See the tool."""
        folder = self.projects.folder(project)
        task = (await asyncio.to_thread(self.read, folder, "", 1.0)).task
        async with self._store() as store:
            signature, frames = "", ()
            if signal_id:
                evidence = (await self._signal(store, signal_id)).evidence
                signature, frames = failure_signature(evidence), failure_frames(evidence)
                question = question or evidence.detail
            found = await store.recall(
                task.id, task.family, signature=signature, frames=frames, text=question, window=most
            )
        return answers.RecallAnswer(lessons=[answers.lesson_said(lesson) for lesson in found])

    async def reflect(self, signal_id: str, text: str, by: str) -> answers.ReflectAnswer:
        """See the tool."""
        if not text.strip():
            raise ConfigError("The reflection is empty.", do="Say what was wrong, and what to do the next time.")
        async with self._lock, self._store() as store:
            await self._signal(store, signal_id)
            written = await reflect_from_outside(store, signal_id, text, by=plain(by, limit=80) or "mcp client")
        return answers.ReflectAnswer(lesson_id=written.id, signal_id=signal_id)

    async def audit(self, project: str, ctx: Ctx) -> answers.AuditAnswer:
        """See the tool."""
        path = self.projects.path(project)

        async def work(limit: float, tell: Callable[[str], None]) -> answers.AuditAnswer:
            tell("reading the source")
            # its own process: it reads what a stranger may have written, and is killed with the call
            command = [sys.executable, "-m", "groundwire", "audit", "--source", "--format", "markdown", "--", str(path)]
            folder = path if path.is_dir() else path.parent
            code, out = await ended(command, folder, {**os.environ, "PYTHONSAFEPATH": "1"})
            lines = "\n".join(plain(line, limit=400) for line in out.decode("utf-8", "replace").splitlines())
            return answers.AuditAnswer(exit_code=code, report=lines[:REPORT_CHARS])

        return await self._run(work, ctx)

    async def history(self, project: str, most: int) -> answers.HistoryAnswer:
        """See the tool."""
        folder = self.projects.folder(project) if project else None
        found: list[answers.RunSaid] = []
        async with self._store() as store:
            for run in await store.runs(limit=RUNS_LOOKED_AT):
                episodes = [episode for episode in await store.episodes(run.id) if self._is_ours(episode, folder)]
                if not episodes:
                    continue
                ends = [end for end in await store.ends(run.id) if isinstance(end, EpisodeEnd)]
                end = next((e for e in ends if e.episode_id == episodes[0].id), None)
                found.append(
                    answers.RunSaid(
                        run_id=run.id,
                        project=answers.name(_folder_of(episodes[0]) or ""),
                        graph=answers.name(run.graph),
                        created_at=f"{run.created_at[:19]}Z",
                        verdict=str(end.verdict) if end else "not ended",
                        reason=_reason_of(run, end) if end else "",
                    )
                )
                if len(found) == most:
                    break
        return answers.HistoryAnswer(runs=found)

    async def signal_text(self, signal_id: str, page: int = 1) -> str:
        """A signal as JSON, and whether it is as it was sealed.

        Args:
            signal_id: its id.
            page: which of its failing cases, twenty at a time.
        """
        async with self._store() as store:
            signal = await self._signal(store, signal_id)
            try:
                verify(signal, FileKeys().load(signal.run_id))
                is_sealed, why = True, ""
            except GroundwireError as error:
                is_sealed, why = False, error.what
        failing, more = answers.failing_cases(signal, page)
        about = signal.model_dump(
            mode="json", include={"id", "run_id", "episode_id", "trial", "verdict", "origin", "issuer", "created_at"}
        )
        about |= {"candidate_digest": signal.candidate_digest, "isolation": signal.isolation}
        about |= {"as_sealed": is_sealed, "why_not": why, "detail": plain(signal.evidence.detail, limit=600)}
        if signal.origin is not Origin.HIDDEN_TESTS:
            about |= {"cases": len(signal.evidence.cases), "failing": [case.model_dump() for case in failing]}
            about |= {"more_failing": more, "command": [answers.name(part) for part in signal.command]}
        return json.dumps(about, indent=2)

    async def report_text(self, run_id: str) -> str:
        """A run as JSON: whether all of it is as it was written, and how its episodes ended."""
        async with self._store() as store:
            episodes = await store.episodes(run_id)
            if not episodes or not all(self._is_ours(episode, None) for episode in episodes):
                raise RecordNotFound(f"There is no run {plain(run_id)} here.", do="Call  history")
            said = check_data(await check_run(store, run_id, keys=FileKeys()))
        said["findings"] = [{k: plain(str(v), limit=400) for k, v in f.items()} for f in said["findings"]]
        return json.dumps(said, indent=2, default=str)

    def read(self, folder: Path, patch: str, seconds: float) -> WorkTree:
        """A project as it stands, with the settings that hold for it.

        Args:
            folder: its root.
            patch: a change that is judged with it.
            seconds: the most wall seconds that judging it may take.

        Raises:
            TaskError, ConfigError: it can't be judged.
        """
        tree = WorkTree.read(folder, self.flags, tests_from=self._commit(folder), patch=patch)
        # a project may say what judges it, and never which model is paid
        own = {"model": self.flags.get("model"), "max_seconds": min(seconds, tree.settings.max_seconds or seconds)}
        return WorkTree(tree.settings.model_copy(update=own), tree.task, tree.candidate, tree.tests_from, tree.left_out)

    # --- what they share

    def _commit(self, folder: Path) -> str:
        if folder not in self._commits:
            root = next(root for root in self.projects.roots if folder.is_relative_to(root))
            pinned = self._commits[root]
            try:
                found = commit_of(folder, pinned) if pinned else ""
            except GroundwireError:  # a repository of its own
                found = ""
            self._commits[folder] = found or commit_of(folder, self._tests_from)
        return self._commits[folder]

    @asynccontextmanager
    async def _store(self) -> AsyncGenerator[Any]:
        async with aclosing(open_store(Settings.resolve(self.flags))) as store:
            yield store

    async def _signal(self, store: Any, signal_id: str) -> Signal:
        """A signal about one of the projects; of any other nothing is said, not even that there is one."""
        signal = None
        with suppress(RecordNotFound):
            signal = await store.signal(signal_id)
            if not self._is_ours(await episode_of(store, signal), None):
                signal = None
        if signal is None:
            raise RecordNotFound(f"There is no signal {plain(signal_id)} here.", do="Call `verify`: it gives one.")
        return signal

    def _is_ours(self, episode: EpisodeRecord, folder: Path | None) -> bool:
        of = _folder_of(episode)
        return self.projects.holds(of) and (folder is None or of == str(folder))

    async def _run(self, work: Callable[[float, Callable[[str], None]], Coroutine[Any, Any, Done]], ctx: Ctx) -> Done:
        """Does the work of a call within the session's limits, and tells the client how far it is."""
        lines: list[str] = []
        told = asyncio.create_task(_tell(lines, ctx))
        request = getattr(ctx.request_context, "request", None)
        gone: asyncio.Event | None = getattr(request, "scope", {}).get(GONE) if request is not None else None
        try:
            done = await self.session.run(lambda seconds: work(seconds, lines.append), gone=gone)
        finally:
            told.cancel()
        if lines:
            await ctx.report_progress(len(lines), None, lines[-1])
        return done


def _folder_of(episode: EpisodeRecord) -> str | None:
    return json.loads(episode.task).get("folder")


def _reason_of(run: RunRecord, end: EpisodeEnd) -> str:
    return answers.reason_said(end.stop_reason) if run.graph == NAME else str(end.stop_reason)


def _teller(tell: Callable[[str], None]) -> Callable[[Record], None]:
    counted = [0]

    def note(record: Record) -> None:
        match record:
            case TrialRecord():
                tell(f"trial {record.trial}")
            case Signal(origin=Origin.HIDDEN_TESTS):
                tell("the hidden tests were asked")
            case Signal():
                counted[0] += 1
                tell(f"{counted[0]} judged: {len(record.evidence.passed())}/{len(record.evidence.cases)} tests pass")
            case _:
                pass

    return note


async def _tell(lines: list[str], ctx: Ctx) -> None:
    """Passes on the newest line of what is told, not more often than a person reads."""
    sent = 0
    while True:
        await asyncio.sleep(PROGRESS_S)
        if len(lines) > sent:
            sent = len(lines)
            await ctx.report_progress(sent, None, lines[-1])


async def _safely(work: Coroutine[Any, Any, Done]) -> Done:
    """An error of ours is what the client reads; any other one is the server's, and not told."""
    try:
        return await work
    except GroundwireError as error:
        raise ToolError(plain(f"{error.what} {error.do}", limit=1000)) from error
    except (TimeoutError, ConnectionAbortedError) as error:
        raise ToolError(plain(str(error) or "it took too long, and was ended")) from error


class _ForModels(MCPServer):
    """Tells a model in a line what was wrong with its arguments, and describes tools without the indentation of their
    source. Refuses an argument that a tool does not have: what was meant by it would silently not hold."""

    async def list_tools(self) -> list[Tool]:
        """See `MCPServer`."""
        tools = await super().list_tools()
        return [t.model_copy(update={"description": " ".join((t.description or "").split())}) for t in tools]

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """See `MCPServer`."""
        tools = {tool.name: tool for tool in await self.list_tools()}
        if name not in tools:
            raise ToolError(f"There is no tool {plain(name, limit=80)}. There are: {', '.join(tools)}.")
        known: dict[str, Any] = tools[name].input_schema.get("properties", {})
        if unknown := sorted(arguments.keys() - known.keys()):
            raise ToolError(f"{name} has no argument {plain(', '.join(unknown))}. It has: {', '.join(known)}.")
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            if isinstance(error.__cause__, ValidationError):
                raise ToolError(f"{name}: {plain(first_problem(error.__cause__), limit=400)}") from error
            raise


def make_server(own: GroundwireServer) -> MCPServer:
    """The MCP server with its tools, resources and prompts.

    Args:
        own: what does the work.
    """
    server = _ForModels("groundwire", instructions=INSTRUCTIONS, version=__version__, log_level="ERROR")
    looks = ToolAnnotations(read_only_hint=True, open_world_hint=False)

    @server.tool(annotations=looks)
    async def verify(  # pyright: ignore[reportUnusedFunction]
        ctx: Ctx,
        project: Project = "",
        patch: Annotated[
            str, Field(max_length=1_048_576, description="A change to judge with the work tree, as git diff has it.")
        ] = "",
        max_seconds: Seconds = 600,
    ) -> answers.VerifyAnswer:
        """Judges a work tree by the project's own tests, in a sandbox: verdict, failing cases, controls, and the id of
        the sealed signal. The only word that counts on whether something works."""
        return await _safely(own.verify(project, patch, max_seconds, ctx))

    @server.tool(annotations=looks)
    async def repair(  # pyright: ignore[reportUnusedFunction]
        ctx: Ctx, project: Project = "", max_seconds: Seconds = 300
    ) -> answers.RepairAnswer:
        """Searches for a small patch with which the project's tests pass. Nothing is applied: the answer holds the
        patch, verified."""
        return await _safely(own.repair(project, max_seconds, ctx))

    @server.tool(annotations=looks)
    async def recall(  # pyright: ignore[reportUnusedFunction]
        project: Project = "",
        question: Annotated[str, Field(max_length=4000, description="What fails, in words.")] = "",
        signal_id: SignalId = "",
        most: Annotated[int, Field(ge=1, le=10, description="The most lessons.")] = 3,
    ) -> answers.RecallAnswer:
        """Lessons that earlier failures of this project, or of its family, have taught; with a failing signal's id
        those of the same failure first."""
        return await _safely(own.recall(project, question, signal_id, most))

    @server.tool(annotations=ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=False))
    async def reflect(  # pyright: ignore[reportUnusedFunction]
        signal_id: Annotated[SignalId, Field(min_length=1)],
        text: Annotated[str, Field(min_length=1, max_length=4000, description="What was wrong, what to do next time.")],
        by: Annotated[str, Field(max_length=200, description="Who says so: your model's name.")] = "",
    ) -> answers.ReflectAnswer:
        """Keeps what a failure taught, as a lesson. Refused without a failing signal that verifies: once a signal,
        and never after a PASS."""
        return await _safely(own.reflect(signal_id, text, by))

    @server.tool(annotations=looks)
    async def audit(  # pyright: ignore[reportUnusedFunction]
        ctx: Ctx,
        project: Annotated[
            str,
            Field(max_length=4096, description="A folder or a Python file to read; left out: the server's root."),
        ] = "",
    ) -> answers.AuditAnswer:
        """Says of each loop of an agent's graph in this folder, or file, whether anything outside the model decides
        that it goes round. Reads the source; runs nothing."""
        return await _safely(own.audit(project, ctx))

    @server.tool(annotations=looks)
    async def history(  # pyright: ignore[reportUnusedFunction]
        project: Project = "", most: Annotated[int, Field(ge=1, le=50, description="The most runs.")] = 10
    ) -> answers.HistoryAnswer:
        """The newest runs on these projects, and what they came to."""
        return await _safely(own.history(project, most))

    async def read(work: Coroutine[Any, Any, str]) -> str:
        try:
            return await work
        except GroundwireError as error:
            raise ResourceError(plain(f"{error.what} {error.do}", limit=1000)) from error

    @server.resource("groundwire://signals/{signal_id}", mime_type="application/json")
    async def signal(signal_id: str) -> str:  # pyright: ignore[reportUnusedFunction]
        """A signal: verdict, failing cases, and whether it is as it was sealed."""
        return await read(own.signal_text(signal_id))

    @server.resource("groundwire://signals/{signal_id}/{page}", mime_type="application/json")
    async def failing_page(signal_id: str, page: int) -> str:  # pyright: ignore[reportUnusedFunction]
        """The same with more of its failing cases: twenty at a time, counted from 1."""
        return await read(own.signal_text(signal_id, max(1, page)))

    @server.resource("groundwire://reports/{run_id}", mime_type="application/json")
    async def report(run_id: str) -> str:  # pyright: ignore[reportUnusedFunction]
        """A run: whether its records are as they were written, and how its episodes ended."""
        return await read(own.report_text(run_id))

    @server.prompt()
    def grounded_fix(project: str = "this project") -> str:  # pyright: ignore[reportUnusedFunction]
        """A loop in which only the project's tests say when it is done."""
        return FIX.format(project=plain(project, limit=200))

    @server.prompt()
    def lesson_from(signal_id: str) -> str:  # pyright: ignore[reportUnusedFunction]
        """What to write down after a failure."""
        return (
            f"Read the resource groundwire://signals/{plain(signal_id, limit=64)}. Then call `reflect` with this id and"
            " one or two sentences: what in your change was wrong, and what to do when this failure comes up again. No"
            " praise, no plan."
        )

    return server
