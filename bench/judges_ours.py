"""What groundwire makes of a candidate, and what a bare exit code makes of it; both in the same kind of sandbox."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from adversarial.targets import Files, Project

from groundwire.core import Candidate, Hidden, Isolation, Limits, Task, Tree, Verdict
from groundwire.core._contexts import Tool, ToolContext
from groundwire.core._models import Backend, Completion, Request
from groundwire.core._sandboxes import Sandbox
from groundwire.core._signals import Observation
from groundwire.tools import HiddenTests, Separation, tool_for

LIMITS = Limits(wall_s=30, cpu_s=30)


def tree_of(files: Files) -> Tree:
    """The files as a tree."""
    return Tree({path: text.encode() if isinstance(text, str) else text for path, text in files.items()})


def task_of(project: Project) -> Task:
    """The project as a task of groundwire's."""
    hidden = Hidden(project.hidden_command, tree_of(project.hidden)) if project.hidden else None
    return Task("judged", tree=tree_of(project.files), command=project.command, hidden=hidden, limits=LIMITS)


def candidate_of(task: Task, files: Files) -> Candidate:
    """What is handed in."""
    return Candidate(task.tree.digest, dict(tree_of(files).files))


@dataclass(frozen=True)
class Said:
    """What a judge says.

    Args:
        passed: whether it calls the candidate right.
        unforgeable: False where it says itself that this can be forged.
        why: in a line.
    """

    passed: bool
    unforgeable: bool = True
    why: str = ""

    def as_data(self) -> Mapping[str, Any]:
        """For a line of JSON."""
        return {"passed": self.passed, "unforgeable": self.unforgeable, "why": self.why}


async def _no_model(backend: Backend, request: Request) -> Completion:
    raise AssertionError("no judge of this bench asks a model")


class Ours:
    """Judges as a run does: the base tree first, then the candidate, a PASS confirmed with controls.

    Where there are hidden tests these alone decide, though a run would ask the visible ones first: nothing is called
    right here that a run would not.

    Args:
        sandbox: where.
        in_process: takes the second box away, to show what it is there for.
    """

    def __init__(self, sandbox: Sandbox, *, in_process: bool = False) -> None:
        self._sandbox = sandbox
        self._in_process = in_process
        self._known: tuple[str, Tool] = ("", HiddenTests())

    async def _open(self) -> Sandbox:
        return self._sandbox

    async def __call__(self, project: Project, files: Files) -> Said:
        """Judges one candidate."""
        found = await self.observe(project, files)
        verified = found.verdict is Verdict.PASS
        why = found.reason.value if found.reason else found.evidence.detail
        return Said(verified, found.isolation is Isolation.TWO_BOXES, why.partition("\n")[0][:200])

    async def observe(self, project: Project, files: Files) -> Observation:
        """What is seen of it."""
        task = task_of(project)
        context = ToolContext(sandbox=self._open, call=_no_model, confirming=True)
        tool = await self._tool(task, context)
        return await tool.judge(candidate_of(task, files), task, context)

    async def _tool(self, task: Task, context: ToolContext) -> Tool:
        key = task.describe()
        if key != self._known[0]:
            most = Isolation.IN_PROCESS if self._in_process else Isolation.TWO_BOXES
            tool: Tool = (
                HiddenTests(isolation=most)
                if task.hidden
                else tool_for(task.command, separation=Separation(at_most=most))
            )
            await tool.judge(Candidate(task.tree.digest, {}), task, context)
            self._known = (key, tool)
        return self._known[1]


class ExitStatus:
    """Runs the tests beside the candidate, and takes exit status 0 for a pass.

    Args:
        sandbox: where; nothing but the walls around it is groundwire's.
    """

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox

    async def __call__(self, project: Project, files: Files) -> Said:
        """Judges one candidate."""
        tree, command, env = laid_out(project, files)
        done = await self._sandbox.run(command, tree, LIMITS, env=env)
        return Said(done.exit_code == 0, False, f"exit status {done.exit_code}")


def laid_out(project: Project, files: Files) -> tuple[Tree, list[str], dict[str, str]]:
    """What lies there once a candidate is handed in and the hidden tests are laid over it, and what runs them."""
    given = {**project.files, **files, **project.hidden}
    tree = Tree({p: c for p, c in tree_of(given).files.items() if not _is_blocked(p, given)})
    command, env = list(project.hidden_command or project.command), dict[str, str]()
    if command[0] == "env":
        name, _, value = command[1].partition("=")
        command, env = command[2:], {name: value}
    return tree, command, env


def _is_blocked(path: str, files: Files) -> bool:
    """A file that lies where another path needs a folder."""
    return any(other.startswith(f"{path}/") for other in files)
