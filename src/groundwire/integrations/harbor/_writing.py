"""Our tasks as tasks of Harbor's: their folders, for whoever runs them there."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from pathlib import Path

from groundwire.core._candidates import Candidate, Tree
from groundwire.core._errors import StorageError, TaskError
from groundwire.core._sandboxes import MIB
from groundwire.core._tasks import ANSWER_KEY, DEFAULT_COMMAND, HARBOR_VERIFIER, Task
from groundwire.integrations.harbor._task import CONFIG, INSTRUCTION, SOLUTION, TEST_SCRIPT
from groundwire.integrations.harbor._verification import DOCKERFILE, ENVIRONMENT

SCHEMA = "1.4"
IMAGE = "python:3.12-slim"
PLACE = "/app"
PROJECT = "project"
LAID = "tests/laid"
"""Below `tests/`: the files that are laid over the project before it is judged, those of visible and hidden tests."""
_DOCKERFILE = """\
FROM {image}
WORKDIR {place}
RUN python3 -m pytest --version || python3 -m pip install pytest
COPY {project}/ {place}/
"""
_SCRIPT = """\
#!/bin/sh
# The project's own tests first, then those that were hidden; the reward is 1 where all of them pass.
cd {place} || exit 1
cp -r /{laid}/. {place}/
reward=1
{commands}
mkdir -p /logs/verifier
echo "$reward" > /logs/verifier/reward.txt
"""


def write_harbor_task(
    task: Task, folder: Path, *, image: str = IMAGE, org: str = "groundwire", solution: Candidate | None = None
) -> Path:
    """Writes a task in Harbor's form.

    The project lies in the image without its hidden tests; the verifier lays all test files over it again, so that
    none that was changed judges, and runs the task's commands. The image gets pytest where it has none.

    Args:
        task: judged by a command; questions and worlds have none.
        folder: where its own folder, named by its id, is made; it must not be there yet.
        image: that the project runs in.
        org: the first part of the package's name.
        solution: a verified candidate, for Harbor's oracle.

    Returns:
        The task's folder.

    Raises:
        TaskError: no command judges it.
        StorageError: the folder is there already, or can't be written.
    """
    if task.command in (ANSWER_KEY, HARBOR_VERIFIER) or (task.hidden and task.hidden.command == ANSWER_KEY):
        raise TaskError(
            f"{task.id} is judged by no command, so it has no test script.", do="Export tasks that have tests."
        )
    name = re.sub(r"[^a-z0-9._-]+", "-", task.id.lower()).strip("-._") or "task"
    root = folder / name
    try:
        root.mkdir(parents=True)
        for path, (content, executable) in _files(task, f"{org}/{name}", image, solution).items():
            target = root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
            if executable:
                target.chmod(0o755)
    except OSError as error:
        raise StorageError(f"{root} can't be written: {error.strerror}.", do="Name another folder.") from error
    return root


def _files(task: Task, package: str, image: str, solution: Candidate | None) -> Mapping[str, tuple[bytes, bool]]:
    written: dict[str, tuple[bytes, bool]] = {
        INSTRUCTION: (f"{task.prompt.strip()}\n\nThe project is in {PLACE}.\n".encode(), False),
        CONFIG: (_config(task, package).encode(), False),
        f"{ENVIRONMENT}/{DOCKERFILE}": (
            _DOCKERFILE.format(image=image, place=PLACE, project=PROJECT).encode(),
            False,
        ),
        # a folder that git keeps, also where a task begins with nothing
        f"{ENVIRONMENT}/{PROJECT}/.keep": (b"", False),
        TEST_SCRIPT: (_script(task).encode(), True),
        f"{LAID}/.keep": (b"", False),
    }
    written |= _tree(task.tree, f"{ENVIRONMENT}/{PROJECT}")
    written |= _tree(_tests_of(task), LAID)
    if solution is not None:
        made = solution.applied_to(task.tree)
        removed = [path for path, content in solution.changes.items() if content is None]
        gone = f"rm -f -- {shlex.join(f'{PLACE}/{path}' for path in removed)}\n" if removed else ""
        changed = {path: made.files[path] for path, content in solution.changes.items() if content is not None}
        script = f"#!/bin/sh\nset -e\n{gone}cp -r /{SOLUTION}/files/. {PLACE}/\n"
        written[f"{SOLUTION}/solve.sh"] = (script.encode(), True)
        written[f"{SOLUTION}/files/.keep"] = (b"", False)
        written |= _tree(Tree(changed, made.executable & changed.keys()), f"{SOLUTION}/files")
    return written


def _tree(tree: Tree, folder: str) -> dict[str, tuple[bytes, bool]]:
    return {f"{folder}/{path}": (content, path in tree.executable) for path, content in tree.files.items()}


def _tests_of(task: Task) -> Tree:
    """The files of all tests, visible and hidden: what judges, whatever became of them in the project."""
    visible = {path: content for path, content in task.tree.files.items() if task.is_test(path)}
    hidden: Mapping[str, bytes] = task.hidden.tree.files if task.hidden else {}
    executable = task.tree.executable | (task.hidden.tree.executable if task.hidden else frozenset[str]())
    files = {**visible, **hidden}
    return Tree(files, executable & files.keys())


def _script(task: Task) -> str:
    commands = [task.command or DEFAULT_COMMAND, *([task.hidden.command] if task.hidden else [])]
    lines = "\n".join(f"{shlex.join(_found(command))} || reward=0" for command in commands)
    return _SCRIPT.format(place=PLACE, laid=LAID, commands=lines)


def _found(command: tuple[str, ...]) -> tuple[str, ...]:
    """The command as it is found in an image: by its interpreter, which may be called `python3` alone."""
    if command[0] == "pytest":
        return ("python3", "-m", *command)
    return ("python3", *command[1:]) if command[0] == "python" else command


def _config(task: Task, package: str) -> str:
    family = json.dumps(task.family or "groundwire", ensure_ascii=False)
    return f"""\
schema_version = "{SCHEMA}"

[task]
name = "{package}"

[metadata]
category = {family}

[verifier]
timeout_sec = {max(60.0, 2 * task.limits.wall_s)}

[environment]
memory_mb = {max(512, task.limits.memory_bytes // MIB)}
network_mode = "{"public" if task.limits.network else "no-network"}"
"""
