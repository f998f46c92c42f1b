"""How many tests of published packages can be controlled, is correct code ever refused, and what does a control cost?

    .venv/bin/python bench/bench_controls.py FOLDER [--only NAME …] [--json]

FOLDER holds source distributions (`pip download --no-deps --no-binary :all: NAME`). Of each its own tests are judged on
its own code, which is correct as far as they go: a plain run, then the pair of runs of `groundwire.tools.controls` in
which each case is turned round once, then one in which all are, as where the candidate is in another box. A *suspect*
is a case that passed though it had to fail: nobody's candidate is to blame, so it is a false alarm, unless it can't
fail on this tree whatever is done (then it is left out where it passes on the base tree). *Refused* is a package whose
share of controlled cases is below the limit, so that no candidate would ever get a verdict. The ratio is that of the
cases' seconds in the run where all are turned, to those of the plain run.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from groundwire.core._candidates import Candidate
from groundwire.core._sandboxes import Limits, Sandbox
from groundwire.core._signals import CaseResult
from groundwire.core._tasks import Task
from groundwire.sandbox import open_sandbox
from groundwire.tools._baselines import Baselines, Pace
from groundwire.tools._controls import ALL, LEAST_SHARE, run_with_controls
from groundwire.tools._executing import cold
from groundwire.tools._judging import Judge
from groundwire.tools._python_runner import PythonRunner
from groundwire.tools._running import Judgement, Launch

LIMITS = Limits(wall_s=400, cpu_s=400, output_bytes=4 << 20)


async def look(task: Task, sandbox: Sandbox) -> Mapping[str, Any]:
    """One package."""
    judge = Judge(PythonRunner(name="pytest", default=("pytest", "-q")), Baselines())
    start = judge.start(task)
    if not isinstance(start, Launch):
        return {"error": start.evidence.detail}
    own = Candidate(task.tree.digest, {})

    async def run(start: Launch, candidate: Candidate) -> Judgement:
        return await judge.run(start, candidate, task, Pace(LIMITS), cold(sandbox, task), sandbox.info)

    plain = await run(start, own)
    passed = [c.id for c in plain.observation.evidence.cases if c.result is CaseResult.PASSED]
    if not passed:
        return {"error": plain.observation.evidence.detail}
    pair = await run_with_controls(start, own, task, run)
    (whole,) = await run_with_controls(start, own, task, run, halves=ALL)
    told = {name: control for half in pair for name, control in half.controls.items()}
    kinds = [told[name].kind for name in passed if name in told and told[name].came == "failed"]
    suspects = sorted(n for n in passed if n in told and (told[n].came == "passed" or told[n].deceived))
    return {
        "cases": len(passed),
        "changed_value": kinds.count("changed_value"),
        "negation": kinds.count("negation"),
        "elsewhere": sum(told[n].came == "elsewhere" for n in passed if n in told),
        "not_turned": sum(n not in told for n in passed),
        "suspects": suspects,
        "broken_by_others": sum(not c.result.ok for h in pair for c in h.observation.evidence.cases if c.id in passed),
        "refused": len(kinds) < LEAST_SHARE * (len(passed) - len(suspects)),
        "ratio": round(_seconds(whole) / max(_seconds(plain), 1e-9), 2),
    }


def _seconds(judgement: Judgement) -> float:
    return sum(case.duration_s for case in judgement.observation.evidence.cases)


async def measure(archives: Sequence[Path], python: Path | None) -> Mapping[str, Mapping[str, Any]]:
    """All packages, one after the other."""
    sandbox = await open_sandbox(python=python)
    found: dict[str, Mapping[str, Any]] = {}
    try:
        for archive in archives:
            with tempfile.TemporaryDirectory() as folder:
                with tarfile.open(archive) as packed:
                    packed.extractall(folder, filter="data")
                (root,) = Path(folder).iterdir()  # noqa: ASYNC240  # nothing else runs
                found[root.name] = await look(Task.from_folder(root, test="pytest -q -o addopts="), sandbox)
                print(f"{root.name}: {json.dumps(found[root.name])}", flush=True)
    finally:
        await sandbox.aclose()
    return found


def main() -> None:
    """Prints a line a package, and the sum."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--python", type=Path, help="has what the packages' tests need; default: this one")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    archives = sorted(
        a for a in asked.folder.glob("*.tar.gz") if not asked.only or a.name.startswith(tuple(asked.only))
    )
    found = asyncio.run(measure(archives, asked.python))
    good = [f for f in found.values() if "error" not in f]
    names = ("cases", "changed_value", "negation", "elsewhere", "not_turned")
    total: dict[str, Any] = {name: sum(f[name] for f in good) for name in names}
    total |= {"packages": len(good), "suspects": sum(len(f["suspects"]) for f in good)}
    total["refused"] = sum(f["refused"] for f in good)
    print(json.dumps({"packages": found, "total": total}, indent=2) if asked.json else f"total: {json.dumps(total)}")


if __name__ == "__main__":
    main()
