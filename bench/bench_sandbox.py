"""What judging in a sandbox costs beside a bare child process, and whether it leaves anything behind.

    .venv/bin/python bench/bench_sandbox.py ratios [--rounds 20] [--json]
    .venv/bin/python bench/bench_sandbox.py soak [--candidates 10000] [--json]
    .venv/bin/python bench/bench_sandbox.py at-once [--candidates 400] [--json]

`ratios`: one tiny pytest, CPU seconds of everything that it takes on this machine (counted by a control group,
namespaces and our own part included), interleaved; Docker's daemon can't be counted so, hence wall seconds there.
Goals, against the same pytest in a bare subprocess: fork server at most 0.5, with a head start and our report (as a
search judges its candidates) at most 0.12, cold default at most 1.5, a kept container at most 2. A function and two
asserts about it, judged in that way: at least 40 a second and core.

`soak`: that many candidates in a row; growth in processes, descriptors, control groups, boxes, containers and memory.

`at-once`: candidates a second with 4 and with 32 at once. Goal: no fewer with 32.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Generator, Iterator
from contextlib import aclosing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from groundwire import Candidate, Task, Verdict
from groundwire.core import (
    Backend,
    Completion,
    ExecResult,
    Limits,
    Request,
    Sandbox,
    SandboxUnavailable,
    ToolContext,
    Tree,
    WarmSandbox,
)
from groundwire.logs._functions import function_task
from groundwire.sandbox import open_sandbox
from groundwire.tools import Pytest, Unittest

IMAGE = os.environ.get("GROUNDWIRE_TEST_IMAGE", "sandbox-py:latest")
TEST = b"from m import f\n\ndef test_f():\n    assert f(2) == 3\n"
TREE = Tree({"m.py": b"def f(x):\n    return x + 1\n", "test_m.py": TEST})
PYTEST = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "test_m.py"]
ENV = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
LIMITS = Limits(wall_s=60)
FEW, MORE = 4, 24
"""Candidates of a call that has hardly begun, and those that come on top."""
PRELOAD = ("pytest", "_pytest.assertion.rewrite", "_pytest.python", "_pytest.runner", "_pytest.terminal")

Judge = Callable[[], Awaitable[None]]


@contextmanager
def cpu_counter() -> Generator[Callable[[], float]]:
    """CPU seconds of this process and all below it, also of those that were never waited for.

    Raises:
        OSError: no control group can be made here.
    """
    own = dict(line.split(":", 2)[1:] for line in Path("/proc/self/cgroup").read_text().splitlines())
    version_1 = "cpuacct" in own or "cpu,cpuacct" in own
    name = "cpuacct" if "cpuacct" in own else "cpu,cpuacct" if version_1 else ""
    root = Path("/sys/fs/cgroup", name)
    group = root / own[name].lstrip("/") / f"bench-{os.getpid()}"
    group.mkdir()
    (group / "cgroup.procs").write_text(str(os.getpid()))

    def seconds() -> float:
        if version_1:
            return int((group / "cpuacct.usage").read_text()) / 1e9
        usage = (group / "cpu.stat").read_text().split()
        return int(usage[usage.index("usage_usec") + 1]) / 1e6

    try:
        yield seconds
    finally:
        (group.parent / "cgroup.procs").write_text(str(os.getpid()))
        with suppress(OSError):
            group.rmdir()


def _passed(result: ExecResult) -> None:
    assert result.exit_code == 0, result


def lay_out(folder: str) -> None:
    """Writes the tiny project."""
    for path, content in TREE.files.items():
        Path(folder, path).write_bytes(content)


async def judges(stack: list[Callable[[], Awaitable[None]]]) -> dict[str, Judge]:
    """A way to judge the tiny test, by name; what has to be closed goes onto `stack`."""
    folder = tempfile.TemporaryDirectory()
    lay_out(folder.name)
    environment = {**os.environ, **ENV, "PYTHONDONTWRITEBYTECODE": "1"}

    async def bare() -> None:
        process = await asyncio.create_subprocess_exec(
            sys.executable, *PYTEST, cwd=folder.name, env=environment, stdout=asyncio.subprocess.DEVNULL
        )
        assert await process.wait() == 0

    found: dict[str, Judge] = {"bare subprocess": bare}
    for kind in ("bubblewrap", "landlock", "docker"):
        try:
            box = await open_sandbox(kind, image=IMAGE)
        except SandboxUnavailable as error:
            print(f"{kind} left out: {error.what}", file=sys.stderr)
            continue
        stack.append(box.aclose)

        async def cold(box: Sandbox = box) -> None:
            _passed(await box.run(["python", *PYTEST], TREE, LIMITS, env=ENV))

        found[f"{kind}, cold"] = cold
        if kind != "landlock":
            server = await box.warm(TREE, preload=PRELOAD)

            async def warm(server: WarmSandbox = server) -> None:
                _passed(await server.run(PYTEST, {"m.py": TREE.files["m.py"]}, LIMITS, env=ENV))

            await warm()
            found[f"{kind}, kept"] = warm

    async def clean_up() -> None:
        folder.cleanup()

    stack.append(clean_up)
    return found


@dataclass(frozen=True)
class Project:
    """What many candidates are judged on.

    Args:
        tool: judges them.
        task: a base tree that fails.
        path: the file that each of them changes.
    """

    tool: Pytest | Unittest
    task: Task
    path: str

    async def judge(self, box: Sandbox, count: int) -> None:
        """Judges that many candidates in one call, all of them wrong, as nearly all of a search are."""

        async def open_box() -> Sandbox:
            return box

        async def no_model(backend: Backend, request: Request) -> Completion:
            raise AssertionError("nothing here calls a model")

        context = ToolContext(sandbox=open_box, call=no_model)
        source = self.task.tree.files[self.path]
        candidates = [Candidate(self.task.tree.digest, {self.path: b"%s# %d\n" % (source, n)}) for n in range(count)]
        if not count:
            await self.tool.judge(Candidate(self.task.tree.digest, {}), self.task, context)
        async with aclosing(self.tool.judge_many(candidates, self.task, context)) as observations:
            async for seen in observations:
                assert seen.verdict is Verdict.FAIL, seen


def projects() -> dict[str, Project]:
    """The tiny pytest with a mistake, as a search has it; and a function with two asserts, as HumanEval and MBPP do."""
    broken = b"def f(x):\n    return x\n"
    pytest = Task("pytest", tree=Tree({"m.py": broken, "test_m.py": TEST}), command=("python", *PYTEST))
    asserts = ("assert f(2) == 3", "assert f(0) == 1")
    function = function_task("function", broken.decode(), "f", visible=asserts, hidden="def check(f):\n    pass\n")
    return {
        "a candidate (pytest)": Project(Pytest(), pytest, "m.py"),
        "a candidate (asserts)": Project(Unittest(), function, "solution.py"),
    }


async def ratios(rounds: int) -> dict[str, dict[str, float]]:
    """Medians of wall and CPU seconds by way of judging, and their ratios to the bare one."""
    stack: list[Callable[[], Awaitable[None]]] = []
    with cpu_counter() as cpu:

        async def cost(work: Awaitable[None]) -> tuple[float, float]:
            began, spent = time.monotonic(), cpu()
            await work
            return time.monotonic() - began, cpu() - spent

        ways = await judges(stack)
        box = await open_sandbox("bubblewrap")
        stack.append(box.aclose)
        searches = projects()
        taken: dict[str, list[tuple[float, float]]] = {name: [] for name in (*ways, *searches)}
        for project in searches.values():
            await project.judge(box, 0)
            await project.judge(box, FEW)
        for _ in range(rounds):
            for name, judge in ways.items():
                taken[name].append(await cost(judge()))
            for name, project in searches.items():
                # the fork server's own start is in both
                few, many = await cost(project.judge(box, FEW)), await cost(project.judge(box, FEW + MORE))
                taken[name].append(((many[0] - few[0]) / MORE, (many[1] - few[1]) / MORE))
        for close in reversed(stack):
            await close()
    medians = {
        name: {"wall_s": statistics.median(w for w, _ in both), "cpu_s": statistics.median(c for _, c in both)}
        for name, both in taken.items()
    }
    for figures in medians.values():
        figures["a_second_and_core"] = 1 / figures["cpu_s"]
        figures["wall_ratio"] = figures["wall_s"] / medians["bare subprocess"]["wall_s"]
        figures["cpu_ratio"] = figures["cpu_s"] / medians["bare subprocess"]["cpu_s"]
    return medians


def census() -> dict[str, int]:
    """What could grow."""
    own = Path("/proc/self")
    groups = [p for p in Path("/sys/fs/cgroup").rglob(f"groundwire-{os.getpid()}-*") if p.is_dir()]
    return {
        "processes": sum(p.name.isdigit() for p in Path("/proc").iterdir()),
        "descriptors": len(list((own / "fd").iterdir())),
        "control groups": len(groups),
        "entries in the temporary folder": len(list(Path(tempfile.gettempdir()).iterdir())),
        "resident KiB": int((own / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024,
    }


async def soak(candidates: int) -> dict[str, object]:
    """Runs candidates one after the other, two at a time, and counts before, at each tenth, and after."""
    box = await open_sandbox("bubblewrap")
    server = await box.warm(TREE)
    seen: list[dict[str, int]] = []
    began = time.monotonic()

    async def one(number: int) -> None:
        code = f"import os\nopen('f', 'w').write('x' * 1000)\nif os.fork() == 0: os.setsid()\nprint({number})"
        result = await server.run(["-c", code], {"m.py": b"x = %d" % number}, LIMITS)
        assert result.stdout.split()[0] == b"%d" % number, result

    step = max(1, candidates // 10)
    for start in range(0, candidates, step):
        numbers = iter(range(start, min(start + step, candidates)))

        async def work(numbers: Iterator[int] = numbers) -> None:
            for number in numbers:
                await one(number)

        await asyncio.gather(work(), work())
        seen.append(census())
        done = min(start + step, candidates)
        print(f"{done:6} {done / (time.monotonic() - began):6.1f}/s  {seen[-1]}", file=sys.stderr)
    rate = candidates / (time.monotonic() - began)
    await server.aclose()
    await box.aclose()
    growth = {name: seen[-1][name] - seen[0][name] for name in seen[0]}
    return {"candidates": candidates, "per_second": rate, "first": seen[0], "last": seen[-1], "growth": growth}


async def at_once(candidates: int) -> dict[str, float]:
    """Candidates a second through one fork server, with 4 and with 32 asked for at once."""
    box = await open_sandbox("bubblewrap")
    server = await box.warm(TREE, preload=PRELOAD)
    rates: dict[int, list[float]] = {4: [], 32: []}
    for _ in range(3):
        for width in rates:
            numbers = iter(range(candidates // 3))

            async def work(numbers: Iterator[int] = numbers) -> None:
                for _ in numbers:
                    _passed(await server.run(PYTEST, {}, LIMITS, env=ENV))

            began = time.monotonic()
            await asyncio.gather(*(work() for _ in range(width)))
            rates[width].append((candidates // 3) / (time.monotonic() - began))
    await server.aclose()
    await box.aclose()
    medians = {width: statistics.median(values) for width, values in rates.items()}
    return {"at 4, a second": medians[4], "at 32, a second": medians[32], "ratio": medians[32] / medians[4]}


def main() -> None:
    """Prints what was measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("ratios", "soak", "at-once"))
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--candidates", type=int)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    if arguments.what == "ratios":
        found = asyncio.run(ratios(arguments.rounds))
        if not arguments.json:
            for name, figures in found.items():
                wall, cpu = figures["wall_s"] * 1000, figures["cpu_s"] * 1000
                print(f"{name:22} wall {wall:6.1f} ms  {figures['wall_ratio']:5.2f}x   ", end="")
                print(
                    f"CPU {cpu:6.1f} ms  {figures['cpu_ratio']:5.3f}x  {figures['a_second_and_core']:5.1f}/s and core"
                )
            return
    elif arguments.what == "soak":
        found = asyncio.run(soak(arguments.candidates or 10_000))
    else:
        found = asyncio.run(at_once(arguments.candidates or 400))
    print(json.dumps(found, indent=None if arguments.json else 2))


if __name__ == "__main__":
    main()
