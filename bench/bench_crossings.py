"""Which share of tests can be judged with the code that they test in another process, and what that takes.

`python bench/bench_crossings.py FOLDER [PACKAGE …]`: FOLDER holds source archives of packages (`pip download
--no-deps --no-binary :all: NAME`), and gets their unpacked trees. Each package's own tests run twice: as they are, and
with all of the package's modules in another process. A case counts where it passes as it is; it fits if it passes
apart too. `humaneval` and `mbpp` are made from the published files.

`python bench/bench_crossings.py --calls 1 1000 100000`: what two boxes cost instead, for a case that makes so many
calls: processor time of all processes against that of one cold box, in the same run.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).resolve().parent
INSIDE = HERE.parent / "src/groundwire/tools/inside"


@dataclass(frozen=True)
class Package:
    """Where a package's archive has its code and its tests."""

    code: str
    tests: str
    path: str = "."
    more: tuple[str, ...] = field(default=())


PACKAGES = {
    "boltons": Package("boltons", "tests"),
    "cachetools": Package("src/cachetools", "tests", "src"),
    "humanize": Package("src/humanize", "tests", "src"),
    "inflection": Package("inflection", "test_inflection.py"),
    "markupsafe": Package("src/markupsafe", "tests", "src"),
    "more_itertools": Package("more_itertools", "tests"),
    "natsort": Package("natsort", "tests"),
    "parse": Package("parse.py", "tests"),
    "pyrsistent": Package("pyrsistent", "tests"),
    "tabulate": Package("tabulate", "test"),
    "toolz": Package("toolz", "toolz/tests"),
    "wcwidth": Package("wcwidth", "tests"),
    "humaneval": Package("code", "tests", "code"),
    "mbpp": Package("code", "tests", "code"),
}


def humaneval(data: Path, folder: Path) -> Path:
    """The 164 problems of HumanEval with their own solutions: a module and a test each."""
    rows = [json.loads(line) for line in (data / "humaneval/HumanEval.jsonl").read_text().splitlines()]
    return written(
        folder / "humaneval",
        [
            (
                row["prompt"] + row["canonical_solution"],
                f"{row['test']}\ndef test_it():\n    check(m.{row['entry_point']})\n",
            )
            for row in rows
        ],
    )


def mbpp(data: Path, folder: Path) -> Path:
    """The sanitised problems of MBPP with their own solutions: a module and a test each."""
    rows = json.loads((data / "mbpp/sanitized-mbpp.json").read_text())
    return written(
        folder / "mbpp",
        [
            (
                row["code"],
                "\n".join(
                    ["from m import *", *row["test_imports"], "def test_it():", *(f"    {t}" for t in row["test_list"])]
                ),
            )
            for row in rows
        ],
    )


def written(root: Path, problems: list[tuple[str, str]]) -> Path:
    """A project of one module and one test a problem."""
    if not root.is_dir():
        (root / "code").mkdir(parents=True)
        (root / "tests").mkdir()
        for number, (code, test) in enumerate(problems):
            (root / f"code/p{number}.py").write_text(code)
            text = test.replace("from m import *", f"from p{number} import *")
            (root / f"tests/test_{number}.py").write_text(f"import p{number} as m\n{text}\n")
    return root


def unpacked(archive: Path, folder: Path) -> Path:
    """The archive's tree."""
    target = folder / archive.name.removesuffix(".tar.gz")
    if not target.is_dir():
        with tarfile.open(archive) as file:
            file.extractall(folder, filter="data")
    return target


def code_of(root: Path, package: Package) -> list[str]:
    """The modules that a candidate could edit, relative to the root."""
    code = root / package.code
    if not code.exists() and code.with_suffix(".py").exists():
        code = code.with_suffix(".py")
    files = [code] if code.is_file() else sorted(code.rglob("*.py"))
    return [str(f.relative_to(root)) for f in files if "tests" not in f.parts and "test" not in f.parts]


def support() -> Path:
    """Our modules, under the names that they have in a sandbox."""
    folder = Path(tempfile.mkdtemp(prefix="crossings"))
    for module in INSIDE.glob("*.py"):
        shutil.copy(module, folder / f"_gw_{module.name}")
    return folder


def run(root: Path, package: Package, files: list[str], ours: Path, seconds: float) -> list[dict[str, Any]]:
    """Rows of one run; with `files`, these are in another process."""
    with tempfile.TemporaryDirectory() as scratch:
        settings, out = Path(scratch, "settings.json"), Path(scratch, "rows.json")
        settings.write_text(json.dumps({"files": files, "path": [str(root / package.path)]}))
        command = [
            sys.executable, str(HERE / "crossings_worker.py"), str(settings), str(out), "-q", "-p", "no:cacheprovider",
            "-p", "no:randomly", "-p", "no:xdist", "--rootdir", str(root), "-c", "/dev/null", "-W", "ignore",
            "--import-mode=prepend", "--continue-on-collection-errors", "--tb=native", *package.more, package.tests,
        ]  # fmt: skip
        env = {
            **os.environ,
            "PYTHONHASHSEED": "0",
            "GROUNDWIRE_SUPPORT": str(ours),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        }
        try:
            done = subprocess.run(command, cwd=root, env=env, timeout=seconds, capture_output=True, text=True)
            said = done.stdout[-2000:] + done.stderr[-2000:]
        except subprocess.TimeoutExpired:
            said = "ran out of time"
        if not out.exists():
            print(f"  no rows: {said}", file=sys.stderr)
            return []
        return json.loads(out.read_text())


def compare(plain: list[dict[str, Any]], apart: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Cases that pass as they are, each with what happened to it apart."""
    found: list[dict[str, Any]] = []
    there = {row["id"]: row for row in apart}
    for row in plain:
        if row["outcome"] != "passed":
            continue
        its: dict[str, Any] | None = there.get(row["id"])
        if its is None:
            file = there.get(f"collecting {row['id'].partition('::')[0]}", {})
            its = {
                "outcome": "lost",
                "unfit": file.get("unfit", ""),
                "why": file.get("why", "not collected"),
                "used": [],
            }
        why = (
            ""
            if its["outcome"] == "passed" and not its["unfit"]
            else its["unfit"] or f"differs: {last_line(its['why'])}"
        )
        found.append({"id": row["id"], "why": why, "used": its["used"]})
    return found


def last_line(text: str) -> str:
    """What went wrong, in a line."""
    lines = [line for line in text.splitlines() if "Error" in line] or text.splitlines()[-1:]
    return lines[-1].strip()[:160] if lines else ""


def gains(cases: list[dict[str, Any]]) -> list[tuple[str, int]]:
    """Crossings in the order of what each wins over those before it."""
    needs = [frozenset(case["used"]) - {"functions", "own equality", "output"} for case in cases if not case["why"]]
    built: set[str] = set()
    order: list[tuple[str, int]] = []
    left = set[str]().union(*needs) if needs else set[str]()
    while left:
        fits = sum(1 for n in needs if n <= built)
        best = max(sorted(left), key=lambda k: (sum(1 for n in needs if n <= built | {k}), sum(k in n for n in needs)))
        built.add(best)
        left.discard(best)
        order.append((best, sum(1 for n in needs if n <= built) - fits))
    return [("functions of plain values", sum(1 for n in needs if not n)), *order]


async def cost(counts: list[int], rounds: int) -> None:
    """Prints a row for each number of calls; medians."""
    from groundwire.core import Candidate, Isolation, Limits, Task, Tree
    from groundwire.sandbox import open_sandbox
    from groundwire.tools._baselines import Baselines
    from groundwire.tools._executing import cold
    from groundwire.tools._judging import Judge
    from groundwire.tools._python_runner import PythonRunner
    from groundwire.tools._running import Launch

    sandbox = await open_sandbox("bubblewrap", python=Path(sys.executable))
    judge = Judge(PythonRunner("pytest", ("pytest", "-q")), Baselines())
    print("| calls | one box, CPU s | two boxes, CPU s | ratio |\n|---|---|---|---|")
    for count in counts:
        test = f"import mod\ndef test_a():\n    assert sum(mod.f(n) for n in range({count})) == {sum(range(count))}\n"
        task = Task(
            "t",
            tree=Tree({"mod.py": b"def f(x):\n    return x\n", "test_mod.py": test.encode()}),
            limits=Limits(wall_s=240, cpu_s=120, case_s=120),
        )
        candidate = Candidate(task.tree.digest, {})
        used: dict[Isolation, list[float]] = {Isolation.IN_PROCESS: [], Isolation.TWO_BOXES: []}
        for _ in range(rounds):
            for isolation, seconds in used.items():
                start = judge.start(task, isolation=isolation)
                assert isinstance(start, Launch)
                done = await cold(sandbox, task)(start, candidate, task.limits, "00" * 32)
                assert done.exit_code == 0, done.stderr
                seconds.append(done.cpu_s)
        one, two = (median(seconds) for seconds in used.values())
        print(f"| {count:,} | {one:.2f} | {two:.2f} | {two / one:.2f} |", flush=True)
    await sandbox.aclose()


PROBLEMS: Mapping[str, Callable[[Path, Path], Path]] = {"humaneval": humaneval, "mbpp": mbpp}


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("packages", nargs="*")
    parser.add_argument("--data", type=Path, default=HERE.parent.parent / "shared/data", help="for humaneval and mbpp")
    parser.add_argument("--known", action="store_true", help="take what an earlier run has stored there")
    parser.add_argument("--seconds", type=float, default=400)
    parser.add_argument("--calls", type=int, nargs="+", help="what so many calls in one case cost, and nothing else")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    if options.calls:
        asyncio.run(cost(options.calls, options.rounds))
        return
    if options.folder is None:
        parser.error("name the folder with the archives, or --calls")
    ours = support()
    everything: list[dict[str, Any]] = []
    for name in options.packages or PACKAGES:
        package = PACKAGES[name]
        if name in PROBLEMS:
            root = PROBLEMS[name](options.data, options.folder).resolve()
        else:
            root = unpacked(next(options.folder.glob(f"{name}-*.tar.gz")), options.folder).resolve()
        known = options.folder / f"{name}.plain.json"
        if not known.exists():
            known.write_text(json.dumps(run(root, package, [], ours, options.seconds)))
        stored = options.folder / f"{name}.apart.json"
        if options.known and stored.exists():
            cases: list[dict[str, Any]] = json.loads(stored.read_text())
        else:
            cases = compare(
                json.loads(known.read_text()), run(root, package, code_of(root, package), ours, options.seconds)
            )
        everything += cases
        stored.write_text(json.dumps(cases, indent=1))
        fit = sum(1 for case in cases if not case["why"])
        print(f"| {name} | {len(cases)} | {fit} | {fit / max(1, len(cases)):.1%} |", flush=True)
    fit = sum(1 for case in everything if not case["why"])
    print(f"| all | {len(everything)} | {fit} | {fit / max(1, len(everything)):.1%} |\n")
    for what, won in gains(everything):
        print(f"| {what} | {won} | {won / max(1, len(everything)):.1%} |")
    print("\nreasons:")
    for why, count in Counter(case["why"][:110] for case in everything if case["why"]).most_common(40):
        print(f"{count:5d}  {why}")


if __name__ == "__main__":
    main()
