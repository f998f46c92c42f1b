"""Judging outside of an episode: `groundwire task check`, and how strong the tests of a verified patch are."""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from groundwire.cli._parts import GraphParts
from groundwire.cli._text import print_line
from groundwire.core._candidates import Candidate, Tree
from groundwire.core._contexts import ToolContext
from groundwire.core._errors import ConfigError, GroundwireError, TaskError
from groundwire.core._models import Backend, Completion, Request
from groundwire.core._paths import expand_user
from groundwire.core._records import Store
from groundwire.core._sandboxes import Sandbox
from groundwire.core._settings import Settings
from groundwire.core._signals import Isolation, Observation, Verdict
from groundwire.core._tasks import Task
from groundwire.core._text import plain
from groundwire.graphs.run._sandboxes import Sandboxes
from groundwire.graphs.run._strength import Strength, keep_strength, measure_strength
from groundwire.tools import HiddenTests, Separation, tool_for


@asynccontextmanager
async def _context(settings: Settings, task: Task) -> AsyncGenerator[ToolContext]:
    """What a tool works with where no episode runs; a model can't be asked."""
    boxes = Sandboxes(GraphParts.sandbox_of(settings))

    async def sandbox() -> Sandbox:
        return await boxes.open(task.python)

    async def no_model(backend: Backend, request: Request) -> Completion:
        raise ConfigError(f"{backend.model} can't be asked ({request.purpose}) where no episode runs.")

    try:
        yield ToolContext(sandbox=sandbox, call=no_model, confirming=True, seed=settings.seed)
    finally:
        await boxes.aclose()


# --- how strong the tests of a verified patch are


async def strength_after(
    settings: Settings, task: Task, candidate: Candidate, store: Store, episode_id: str
) -> Strength | None:
    """Measures it and writes it to the ledger; the verdict is there already and stays what it is.

    Returns:
        None where it is not asked for, or can't be measured.
    """
    if not settings.test_strength or settings.model_tests or candidate.is_base:
        return None
    try:
        async with _context(settings, task) as context:
            # what passes is nobody's answer: one process will do
            tool = tool_for(task.command, report=settings.report, separation=Separation(at_most=Isolation.IN_PROCESS))
            strength = await measure_strength(tool, candidate, task, context, n=settings.test_strength)
    except GroundwireError:
        return None  # it says something of the tests, and may not cost what was verified
    await keep_strength(store, episode_id, strength)
    return strength


# --- whether a task tells a solution from none


def check_task(path: Path, settings: Settings, *, solution: Path | None, as_json: bool) -> int:
    """Says whether a task fails without a solution and, where one is given, passes with it.

    Returns:
        0 if so, 1 if not, 3 where a judging came to no verdict.
    """
    task = Task.from_folder(
        path, test=settings.test, hidden=settings.hidden, hidden_dir=settings.hidden_dir, python=settings.python
    )
    soundness = _soundness(task, None if solution is None else _solution(task, solution), settings)
    if as_json:
        json.dump(soundness.as_data(), sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        _print(Console(highlight=False), soundness)
    return soundness.exit_code


def check_rows(path: Path, repos: Path, settings: Settings, *, as_json: bool) -> int:
    """Says of each row whether its task fails as it is and passes with its own solution, and why one can't be had.

    Args:
        path: rows in SWE-bench's form, or that of a set like it.
        repos: folder of git clones.
        settings: where they are judged.
        as_json: a line for each.

    Returns:
        0 if all do, 1 if one does not or can't be had, 3 where a judging came to no verdict.
    """
    from groundwire.benchmarks import SweBench

    console = Console(highlight=False)
    benchmark = SweBench(expand_user(repos))
    own_images = settings.image == Settings.model_fields["image"].default
    codes: set[int] = set()
    for row, where in benchmark.rows(expand_user(path)):
        try:
            item, solution = benchmark.solved(row, where)
        except TaskError as error:
            codes.add(1)
            if as_json:
                print_line({"task_id": row.instance_id, "ok": False, "exit_code": 1, "error": error.what})
            else:
                console.print(Text(plain(row.instance_id), style="bold"))
                console.print(Text(f"✗ {plain(str(error), limit=600)}", style="bold red"), soft_wrap=True)
            continue
        image = item.image if own_images and item.image else settings.image
        soundness = _soundness(item.task, solution, settings.model_copy(update={"image": image}))
        codes.add(soundness.exit_code)
        if as_json:
            print_line({**soundness.as_data(), **({"image": item.image} if item.image else {})})
        else:
            _print(console, soundness)
    return max(codes, default=1) if codes <= {0, 1} else 3


@dataclass(frozen=True)
class _Soundness:
    """What came of a task without a solution, and with one.

    Args:
        task: which.
        seen: by `empty` and `solution`, what each tool says.
    """

    task: Task
    seen: Mapping[str, Mapping[str, Observation]]

    @property
    def came(self) -> Mapping[str, Verdict]:
        return {name: _together(found) for name, found in self.seen.items()}

    @property
    def fits(self) -> bool:
        return all(verdict is WANTED[name] for name, verdict in self.came.items())

    @property
    def exit_code(self) -> int:
        return 0 if self.fits else 3 if Verdict.NONE in self.came.values() else 1

    def as_data(self) -> dict[str, Any]:
        said = {name: {by: _data(o) for by, o in found.items()} for name, found in self.seen.items()}
        about = {"task_id": self.task.id, "ok": self.fits, "exit_code": self.exit_code, "verdicts": self.came}
        return {**about, **said}


WANTED = {"empty": Verdict.FAIL, "solution": Verdict.PASS}


def _soundness(task: Task, solution: Candidate | None, settings: Settings) -> _Soundness:
    asked = {"empty": Candidate(task.tree.digest, {})}
    if solution is not None:
        asked["solution"] = solution

    async def judge() -> dict[str, dict[str, Observation]]:
        async with _context(settings, task) as context:
            return {name: await _judged(task, candidate, context, settings) for name, candidate in asked.items()}

    return _Soundness(task, asyncio.run(judge()))


async def _judged(task: Task, candidate: Candidate, context: ToolContext, settings: Settings) -> dict[str, Observation]:
    """What the visible tests say, then the hidden ones, where there are any."""
    tool = tool_for(task.command, report=settings.report, separation=Separation(required=settings.require_two_boxes))
    found = {"tests": await tool.judge(candidate, task.public(), context)}
    if task.hidden is not None:
        found["hidden"] = await HiddenTests(require_two_boxes=settings.require_two_boxes).judge(
            candidate, task, context
        )
    return found


def _together(found: Mapping[str, Observation]) -> Verdict:
    verdicts = [observation.verdict for observation in found.values()]
    if Verdict.FAIL in verdicts:
        return Verdict.FAIL
    return Verdict.NONE if Verdict.NONE in verdicts else Verdict.PASS


def _solution(task: Task, given: Path) -> Candidate:
    """A solution that was given as a patch, or as a folder with the files that it changes.

    Raises:
        TaskError: it changes what a candidate may not, changes nothing, or the patch does not apply.
    """
    after = Tree.from_folder(given) if given.is_dir() else _after_patch(task.tree, given)
    changes: dict[str, bytes | None] = {p: c for p, c in after.files.items() if task.tree.files.get(p) != c}
    if not given.is_dir():
        changes.update((path, None) for path in task.tree.files if path not in after.files)
    if task.hidden is not None:  # a whole folder may hold them too
        changes = {path: content for path, content in changes.items() if path not in task.hidden.tree.files}
    forbidden = sorted(path for path in changes if not task.may_edit(path))
    if forbidden:
        raise TaskError(
            f"The solution changes what no candidate may: {plain(', '.join(forbidden), limit=200)}.",
            do="Leave these out, or name them in the task's `editable`.",
        )
    if not changes:
        raise TaskError(f"The solution {given} changes nothing.", do="Give a patch, or a folder with the right files.")
    return Candidate(task.tree.digest, changes)


def _after_patch(tree: Tree, patch: Path) -> Tree:
    try:
        text = patch.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise TaskError(f"The patch {patch} can't be read: {error}.", do="Give a patch as git writes it.") from error
    return patched(tree, text, str(patch))


def patched(tree: Tree, text: str, where: str) -> Tree:
    """The tree that a patch makes of another one.

    Args:
        tree: what it applies to.
        text: the patch, as git writes it.
        where: what it is called where it does not apply.

    Raises:
        TaskError: it does not apply.
    """
    from groundwire.benchmarks._git_trees import apply_patch

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "task"
        for path, content in tree.files.items():
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
            if path in tree.executable:
                target.chmod(0o755)
        apply_patch(folder, text, where)
        return Tree.from_folder(folder)


def _data(observation: Observation) -> dict[str, Any]:
    evidence = observation.evidence
    return {
        "verdict": observation.verdict,
        "reason": observation.reason,
        "detail": evidence.detail,
        "passed": len(evidence.passed()),
        "cases": len(evidence.cases),
        "isolation": observation.isolation,
        "crossings": evidence.crossings.model_dump(mode="json") if evidence.crossings else None,
        "controls": evidence.controls.model_dump(mode="json") if evidence.controls else None,
    }


def _print(console: Console, soundness: _Soundness) -> None:
    console.print(Text(plain(soundness.task.id), style="bold"))
    said = {"empty": "without a solution", "solution": "with the solution"}
    for name, found in soundness.seen.items():
        came = soundness.came[name]
        fits = came is WANTED[name]
        verb = {Verdict.PASS: "passes", Verdict.FAIL: "fails", Verdict.NONE: "no verdict"}[came]
        line = Text(f"{'✓' if fits else '✗'} {said[name]}: {verb}", style="green" if fits else "bold red")
        console.print(line.append("" if fits else f", and has to {WANTED[name]}"))
        for by, observation in found.items():
            detail = plain(observation.evidence.detail, limit=300)
            console.print(Text(f"    {by}: {observation.verdict}   {detail}", style="dim"), soft_wrap=True)
