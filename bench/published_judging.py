"""Published programs judged by us: each in a fresh process; and all in one `globals()`, as Reflexion's code did it."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from pathlib import Path

from groundwire.core import (
    Backend,
    Candidate,
    Completion,
    ConfigError,
    Isolation,
    Limits,
    Request,
    Sandbox,
    Task,
    ToolContext,
    Tree,
    Verdict,
)
from groundwire.graphs import Sandboxes
from groundwire.logs import SOLUTION
from groundwire.tools import HiddenTests, Unittest

__all__ = ["SECONDS", "Journal", "Program", "judge_all", "judge_together"]

SECONDS = 5.0
WALL_FACTOR = 24.0
TOGETHER = (Path(__file__).parent / "published_together.py").read_bytes()
LIMITS = Limits(cpu_s=SECONDS, wall_s=WALL_FACTOR * SECONDS)


@dataclass(frozen=True)
class Program:
    """A program of a log, with what judges it.

    Args:
        task: with the row's hidden tests, and the visible ones where the log has them.
        text: the whole program.
        visible: True where the visible tests judge it as well.
    """

    task: Task
    text: str
    visible: bool = False

    @property
    def key(self) -> str:
        """The same for the same program and tests: judged once, in whichever log it stands."""
        hidden = self.task.hidden.tree.digest if self.task.hidden else ""
        visible = self.task.tree.files["tests/test_visible.py"].decode() if self.visible else ""
        return hashlib.sha256("\0".join((self.text, hidden, visible)).encode()).hexdigest()


@dataclass(frozen=True)
class Judged:
    """What a program came to: verdicts, and the wall seconds of the hidden judging."""

    hidden: str
    visible: str
    seconds: float


class Journal:
    """What was judged so far, a line each, so that a run that was cut off goes on.

    Args:
        path: None: kept in memory only.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self.known: dict[str, Judged] = {}
        if path is not None and path.is_file():
            for line in path.read_text(encoding="utf-8").splitlines():
                if line.endswith("}"):
                    fields = json.loads(line)
                    key = fields.pop("key")
                    self.known[key] = Judged(**fields)

    def add(self, key: str, judged: Judged) -> None:
        """One more."""
        self.known[key] = judged
        if self._path is not None:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(f"{json.dumps({'key': key, **judged.__dict__})}\n")


async def judge_all(programs: Sequence[Program], journal: Journal, *, workers: int) -> AsyncGenerator[Judged]:
    """Judges what the journal does not know, `workers` at a time, each program in a fresh fork; yields them as they
    come."""
    wanted = {p.key: p for p in programs if p.key not in journal.known}
    boxes = Sandboxes(None)
    gate = asyncio.Semaphore(workers)

    async def one(key: str, program: Program) -> Judged:
        async with gate:
            judged = await _judge(program, boxes)
            journal.add(key, judged)
            return judged

    try:
        running = [asyncio.create_task(one(key, program)) for key, program in wanted.items()]
        for ready in asyncio.as_completed(running):
            yield await ready
    finally:
        await boxes.aclose()


async def _judge(program: Program, boxes: Sandboxes) -> Judged:
    task = program.task

    async def sandbox() -> Sandbox:
        return await boxes.open(None)

    context = ToolContext(sandbox=sandbox, call=_no_model)
    candidate = Candidate(task.tree.digest, {SOLUTION: program.text.encode()})
    hidden = await HiddenTests(isolation=Isolation.IN_PROCESS).judge(candidate, task, context)
    seen: Verdict | str = ""
    if program.visible:
        seen = (await Unittest().judge(candidate, task, context)).verdict
    return Judged(str(hidden.verdict), str(seen), round(hidden.duration_s, 2))


async def _no_model(backend: Backend, request: Request) -> Completion:
    raise ConfigError(f"{backend.model} was asked ({request.purpose}); nothing here asks a model.")


async def judge_together(programs: Sequence[tuple[str, str]]) -> list[bool]:
    """All programs with their tests, one after the other, in one process and one `globals()`.

    Args:
        programs: (program, source that judges it) in the file's order.

    Returns:
        For each if it ran without an exception, within 5 s.
    """
    boxes = Sandboxes(None)
    lines = "".join(f"{json.dumps([program, test])}\n" for program, test in programs)
    tree = Tree({"together.py": TOGETHER, "programs.jsonl": lines.encode()})
    limits = Limits(cpu_s=1200, wall_s=3600)
    try:
        sandbox = await boxes.open(None)
        done = await sandbox.run(["python", "-S", "together.py"], tree, limits, collect=["verdicts"])
    finally:
        await boxes.aclose()
    verdicts = done.files.get("verdicts", b"").decode().split()
    if len(verdicts) != len(programs):
        raise SystemExit(f"the shared process ended after {len(verdicts)} of {len(programs)}: {done.stderr[-500:]!r}")
    return [verdict == "1" for verdict in verdicts]
