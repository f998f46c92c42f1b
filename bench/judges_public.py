"""Public judges of code, each in an environment of its own, within the same walls as the others.

What they run is hostile, and none of them puts walls around it by itself where there is no container engine: so the
tests, or all of the judge, run in one of groundwire's sandboxes, and what is compared is the rule by which each judges.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from adversarial.targets import Files, Project
from judges_ours import LIMITS, Said, laid_out

from groundwire.core import Limits, Tree
from groundwire.core._sandboxes import Sandbox
from groundwire.sandbox import open_sandbox

INSPECT = """
import json, os
from pathlib import Path
for name in ("HOME", "TMPDIR", "XDG_DATA_HOME", "XDG_CACHE_HOME"):
    os.environ[name] = str(Path(name.lower()).resolve())
    os.makedirs(os.environ[name])
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.scorer import CORRECT, INCORRECT, Score, accuracy, scorer
from inspect_ai.util import sandbox

told = json.loads(Path("told.json").read_text())
files = {str(p.relative_to("work")): str(p.resolve()) for p in Path("work").rglob("*") if p.is_file()}

@scorer(metrics=[accuracy()])
def tests_pass():
    async def score(state, target):
        done = await sandbox().exec(told["command"], env=told["env"], timeout=30)
        return Score(value=CORRECT if done.success else INCORRECT)
    return score

async def nothing(state, generate):
    return state

from inspect_ai.solver import solver
@solver
def handed_in():
    return nothing

task = Task([Sample(input="judge", files=files)], solver=handed_in(), scorer=tests_pass(), sandbox="local")
log, = eval(task, model="mockllm/model", display="none", log_dir="logs", log_samples=True)
print("JUDGED " + json.dumps([s.scores["tests_pass"].value for s in log.samples]))
"""
OUTCOMES = """
import json, sys
from verifiers.v1.utils.score import parse_pytest_outcomes
for line in sys.stdin:
    print(json.dumps(parse_pytest_outcomes(json.loads(line))), flush=True)
"""
SLOW = Limits(wall_s=120, cpu_s=120, memory_bytes=4 << 30)


class NotHere(Exception):
    """A judge that can't be had on this machine, and why."""


def environment(folder: Path, *packages: str) -> Path:
    """The interpreter of a virtual environment that holds these packages; made where it is not there.

    Raises:
        NotHere: the packages can't be installed.
    """
    python = folder / "bin/python"
    if not (folder / "complete").exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        done = subprocess.run([python, "-m", "pip", "install", "-q", *packages], capture_output=True, text=True)
        if done.returncode:
            raise NotHere(f"{', '.join(packages)} can't be installed: {done.stderr.strip().splitlines()[-1]}")
        (folder / "complete").touch()
    return python


class Inspect:
    """A scorer of Inspect's in its local sandbox, as its documentation shows one: the command succeeds.

    Args:
        sandbox: with Inspect's environment as the interpreter.
    """

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox

    async def __call__(self, project: Project, files: Files) -> Said:
        """Judges one candidate."""
        tree, command, env = laid_out(project, files)
        told = json.dumps({"command": command, "env": env}).encode()
        inner = {"judge.py": INSPECT.encode(), "told.json": told, **{f"work/{p}": c for p, c in tree.files.items()}}
        done = await self._sandbox.run(("python", "judge.py"), Tree(inner), SLOW)
        said = [line for line in done.stdout.decode("utf-8", "replace").splitlines() if line.startswith("JUDGED ")]
        if not said:
            raise NotHere(f"it gave no score: {done.stderr.decode('utf-8', 'replace')[-300:]}")
        return Said(said[-1] == 'JUDGED ["C"]', False, said[-1])


class Verifiers:
    """How the software tasks of verifiers read pytest: each outcome that it prints (`-rA`) is a pass.

    Args:
        sandbox: where the tests run.
        python: of the environment that has verifiers.
    """

    def __init__(self, sandbox: Sandbox, python: Path) -> None:
        self._sandbox = sandbox
        self._python = python
        self._reader: asyncio.subprocess.Process | None = None

    async def __call__(self, project: Project, files: Files) -> Said:
        """Judges one candidate."""
        tree, command, env = laid_out(project, files)
        if "pytest" not in command:
            done = await self._sandbox.run(command, tree, LIMITS, env=env)
            return Said(done.exit_code == 0, False, f"exit status {done.exit_code}")
        done = await self._sandbox.run([*command, "-rA"], tree, LIMITS, env=env)
        found = await self._read(done.stdout.decode("utf-8", "replace"))
        return Said(bool(found) and set(found.values()) == {"PASSED"}, False, f"{len(found)} outcomes")

    async def _read(self, output: str) -> Mapping[str, str]:
        if self._reader is None:
            self._reader = await asyncio.create_subprocess_exec(
                self._python, "-c", OUTCOMES, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
            )
        assert self._reader.stdin and self._reader.stdout
        self._reader.stdin.write(json.dumps(output).encode() + b"\n")
        return json.loads(await self._reader.stdout.readline())

    async def aclose(self) -> None:
        """Ends what reads outcomes."""
        if self._reader is not None:
            assert self._reader.stdin
            self._reader.stdin.close()
            await self._reader.wait()


async def _inspect(cache: Path, kind: str, _sandbox: Sandbox) -> Any:
    return Inspect(await open_sandbox(kind, python=environment(cache / "inspect-ai", "inspect-ai", "pytest", "numpy")))


async def _verifiers(cache: Path, _kind: str, sandbox: Sandbox) -> Any:
    return Verifiers(sandbox, environment(cache / "verifiers", "verifiers"))


async def _harbor(cache: Path, _kind: str, _sandbox: Sandbox) -> Any:
    environment(cache / "harbor", "harbor")
    raise NotHere("its verifier runs in containers alone, and takes the reward file that the tests' script leaves")


PUBLIC: Mapping[str, Callable[[Path, str, Sandbox], Awaitable[Any]]] = {
    "inspect": _inspect,
    "verifiers": _verifiers,
    "harbor": _harbor,
}
"""Name → opens it, given the cache, the kind of sandbox, and one of that kind."""
