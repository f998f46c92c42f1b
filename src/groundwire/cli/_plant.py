"""`groundwire plant`: bugs planted in projects that work, as examples of repair, without any model."""

from __future__ import annotations

import asyncio
import json
import shlex
import shutil
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from groundwire.agents.patching._edit_blocks import render_answer
from groundwire.agents.patching._llm_actor import LLMActor
from groundwire.agents.search._planting import PlantedBug, edit_between, plant_bugs
from groundwire.cli._parts import GraphParts
from groundwire.cli._repair import open_store
from groundwire.core._candidates import Candidate, Tree
from groundwire.core._contexts import ActorContext, EagerTool, Judged, ToolContext
from groundwire.core._errors import CandidateError, ConfigError, GroundwireError, TaskError
from groundwire.core._models import Backend, Completion, Request
from groundwire.core._sandboxes import Sandbox
from groundwire.core._seal import MemoryKeys, Mint
from groundwire.core._settings import Settings
from groundwire.core._signals import Observation, Verdict
from groundwire.core._tasks import DEFAULT_COMMAND, Task
from groundwire.core._text import plain
from groundwire.graphs.run._sandboxes import Sandboxes
from groundwire.models import ScriptedBackend
from groundwire.tools import tool_for
from groundwire.training.rewards._ledger import RewardLedger, WrittenCompletion

TEACHER = "groundwire/planted-bugs"
"""Who the answers are said to be of: no model wrote them."""
PROMPT = "The project worked, and a change has broken it. Repair it."
CONTEXT_TOKENS = 6000


@dataclass(frozen=True)
class AskedPlanting:
    """What is planted.

    Args:
        projects: folders of projects whose tests pass.
        bugs: how many in each, at most; some are noticed by no test.
        held_out: globs of names of projects that nothing is taught of: their bugs become task folders.
        tasks_out: where to.
        as_json: print one JSON object.
    """

    projects: Sequence[Path]
    bugs: int
    held_out: Sequence[str] = ()
    tasks_out: Path | None = None
    as_json: bool = False


@dataclass
class PlantedCount:
    """What became of a project's bugs.

    Args:
        project: its name.
        planted: bugs that were tried.
        noticed: of these, those that a test failed by.
        taught: of these, those that are in the ledger as repairs.
        held_out: written as task folders, in their place.
        left_out: why the others were left out, and how many.
    """

    project: str
    planted: int = 0
    noticed: int = 0
    taught: int = 0
    held_out: int = 0
    left_out: Counter[str] = field(default_factory=Counter[str])


def run_planting(asked: AskedPlanting, settings: Settings) -> int:
    """Plants, judges and writes.

    Returns:
        0; 1 where no test noticed any bug.

    Raises:
        TaskError: a project can't be read, or its own tests don't pass.
        ConfigError: two projects have one name, or a held-out one has nowhere to go.
        StorageError: the ledger can't be written.
    """
    tasks = [
        Task.from_folder(path, test=settings.test, python=settings.python, prompt=PROMPT) for path in asked.projects
    ]
    tasks = [replace(task.public(), folder=task.folder) for task in tasks]
    twice = [name for name, count in Counter(task.id for task in tasks).items() if count > 1]
    if twice:
        raise ConfigError(f"Two projects are called {twice[0]!r}.", do="Give each an id in its task.toml.")
    if any(_is_held_out(task, asked) for task in tasks) and asked.tasks_out is None:
        raise ConfigError("Bugs of held-out projects have nowhere to go.", do="Give  --tasks-out FOLDER.")
    began = time.monotonic()
    counts, run_id = asyncio.run(_planted(asked, settings, tasks))
    seconds = time.monotonic() - began
    _tell(asked, counts, run_id, seconds)
    return 0 if any(one.taught or one.held_out for one in counts) else 1


def _is_held_out(task: Task, asked: AskedPlanting) -> bool:
    return any(fnmatchcase(task.id, glob) for glob in asked.held_out)


async def _planted(asked: AskedPlanting, settings: Settings, tasks: Sequence[Task]) -> tuple[list[PlantedCount], str]:
    boxes = Sandboxes(GraphParts.sandbox_of(settings))
    config: Mapping[str, Any] = {"planted": [task.id for task in tasks], "bugs": asked.bugs, "seed": settings.seed}
    async with aclosing(open_store(settings)) as store:
        ledger = RewardLedger(store, model=TEACHER, config=config, graph="plant")
        try:
            counts = [await _of_project(task, asked, settings, boxes, ledger) for task in tasks]
            run_id = ledger.run_id
        finally:
            await ledger.aclose()
            await boxes.aclose()
    return counts, run_id


async def _of_project(
    task: Task, asked: AskedPlanting, settings: Settings, boxes: Sandboxes, ledger: RewardLedger
) -> PlantedCount:
    async def sandbox() -> Sandbox:
        return await boxes.open(task.python)

    context = ToolContext(sandbox=sandbox, call=_no_model, trial=1, seed=settings.seed)
    tool = tool_for(task.command, report=settings.report)
    whole = await tool.judge(Candidate(task.tree.digest, {}), task, context)
    if whole.verdict is not Verdict.PASS:
        raise TaskError(
            f"The tests of {plain(task.id)} don't pass before anything is planted: {plain(whole.evidence.detail)}",
            do="Plant bugs in a project that works; name its tests with --test.",
        )
    held_out = _is_held_out(task, asked)
    source = ""
    if not held_out:
        episode = await ledger.begin(task, [], baseline=whole)
        await ledger.end(episode, {})
        source = episode.baseline.id if episode.baseline else ""
    repeats = whole.model_copy(update={"taken_from": source, "duration_s": 0.0})
    count = PlantedCount(task.id)
    bugs = await asyncio.to_thread(plant_bugs, task, asked.bugs, settings.seed)
    assert isinstance(tool, EagerTool), "every tool of a command judges many at once"
    looks = tool.judge_each([bug.candidate for bug in bugs], task, context)
    async with aclosing(looks):
        async for number, seen in looks:
            count.planted += 1
            why = _why_not(seen)
            if why:
                count.left_out[why] += 1
                continue
            count.noticed += 1
            broken = _broken(task, bugs[number])
            if held_out and asked.tasks_out is not None:
                _write_task(broken, asked.tasks_out, task)
                count.held_out += 1
                continue
            try:
                await _teach(broken, bugs[number], task, seen, repeats, ledger)
                count.taught += 1
            except CandidateError:
                count.left_out["no edit undoes it by its text"] += 1
    return count


def _why_not(seen: Observation) -> str:
    if seen.verdict is Verdict.PASS:
        return "no test notices it"
    if seen.verdict is Verdict.NONE:
        return f"no verdict: {seen.reason}"
    return "out of time" if seen.evidence.late else ""


def _broken(task: Task, bug: PlantedBug) -> Task:
    name = f"{task.id}-{bug.candidate.digest[:12]}"
    return replace(task, id=name, family=task.id, tree=bug.candidate.applied_to(task.tree), folder=None)


async def _teach(
    broken: Task, bug: PlantedBug, task: Task, seen: Observation, repeats: Observation, ledger: RewardLedger
) -> None:
    """Writes the repair as an actor would have made it: asked as it is, answered with the edit that undoes the bug.

    Args:
        broken: the project with the bug.
        bug: the bug.
        task: the project without it.
        seen: what the tests said of the bug.
        repeats: what they said of the project without it, which the repair gives back byte by byte.
        ledger: where to.

    Raises:
        CandidateError: the answer, read as an actor's is, is not the project as it was.
    """
    now, wanted = (tree.files[bug.path].decode("utf-8", "replace") for tree in (broken.tree, task.tree))
    answer = render_answer([edit_between(bug.path, now, wanted)])
    base = Candidate(broken.tree.digest, {})
    signal = Mint("", MemoryKeys().create("")).signal(
        seen, episode_id="", trial=0, issuer="tests", candidate_digest=base.digest
    )
    asked: list[Request] = []

    async def call(backend: Backend, request: Request) -> Completion:
        asked.append(request)
        return Completion(texts=(answer,), model=TEACHER)

    actor = LLMActor(
        ScriptedBackend([], model=TEACHER), answer="edits", repairs=0, resamples=0, context_tokens=CONTEXT_TOKENS
    )
    judged = Judged(base, signal)
    context = ActorContext(broken, broken.tree, call, best=judged, baseline=judged, failing=judged)
    try:
        (repair,) = await actor.propose(context, 1)
    except GroundwireError as error:
        raise CandidateError(error.what) from error
    if repair.applied_to(broken.tree).digest != task.tree.digest:
        raise CandidateError("The edit does not give the project back.")
    written = WrittenCompletion("", answer, repair, request=asked[0])
    episode = await ledger.begin(broken, [written], baseline=seen)
    await ledger.end(episode, {repair.digest: {"tests": repeats}})


def _write_task(broken: Task, folder: Path, task: Task) -> None:
    """A held-out bug as a task folder, to be evaluated on.

    Raises:
        ConfigError: it can't be written.
    """
    target = folder / broken.id
    try:
        if target.exists():
            shutil.rmtree(target)
        _lay(broken.tree, target)
        if "task.toml" not in broken.tree.files:
            command = json.dumps(shlex.join(task.command or DEFAULT_COMMAND))
            said = f"id = {json.dumps(broken.id)}\nfamily = {json.dumps(task.id)}\nprompt = {json.dumps(PROMPT)}\n"
            (target / "task.toml").write_text(f"{said}\n[tests]\ncommand = {command}\n", encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{target} can't be written: {error.strerror}.", do="Name another folder.") from error


def _lay(tree: Tree, target: Path) -> None:
    for path, content in tree.files.items():
        file = target / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        if path in tree.executable:
            file.chmod(0o755)


async def _no_model(backend: Backend, request: Request) -> Completion:
    raise ConfigError(f"{backend.model} can't be asked ({request.purpose}) where bugs are planted.")


def _tell(asked: AskedPlanting, counts: Sequence[PlantedCount], run_id: str, seconds: float) -> None:
    taught = sum(one.taught for one in counts)
    rate = 3600 * taught / seconds if seconds else 0.0
    if asked.as_json:
        projects = [{**vars(one), "left_out": dict(one.left_out)} for one in counts]
        told = {"run": run_id, "taught": taught, "seconds": seconds, "an_hour": rate, "projects": projects}
        json.dump(told, sys.stdout, indent=2)
        sys.stdout.write("\n")
        return
    console = Console(highlight=False)
    for one in counts:
        console.print(
            Text(
                f"{plain(one.project)}: {one.planted} planted, {one.noticed} noticed by a test, {one.taught} taught,"
                f" {one.held_out} held out"
            ),
            soft_wrap=True,
        )
        for why, many in one.left_out.most_common():
            console.print(Text(f"    {many} left out: {plain(why)}", style="dim"), soft_wrap=True)
    if taught:
        console.print(Text(f"run {run_id}: {taught} repairs, {rate:.0f} an hour"), soft_wrap=True)
        hint = f"groundwire export {run_id[:13]} --format sft --out rows.jsonl"
        console.print(Text(hint, style="dim"), soft_wrap=True)
