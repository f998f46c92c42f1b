"""How right `groundwire audit` is on loops of public projects that people labelled, and what it costs there.

    .venv/bin/python bench/bench_audit_wild.py --repos FOLDER [--labels FILE] [--half even|odd] [--misses]
        [--whole] [--json]

FOLDER holds the projects as `owner+name`, each checked out at the commit of its labels; nothing is fetched, and what is
not there is skipped and named. Each file is audited by itself in a process of its own, in source mode: nothing of the
projects is imported. `--half` takes every other project, in the order of their names: rules were changed with the even
ones in view. `--whole` audits each project as a folder too, for time and memory.

`--labels bench/audit_styles.toml` is another set, whose nodes stand with its labels.

A loop is found if a loop through its nodes (audit_wild.toml) is reported. It agrees if its verdict is its label's; a
tool loop that is called grounded agrees too, for both say that it goes round on facts from outside only. A loop that is
labelled ungrounded is *green* if it is called grounded, worklist or tool loop, or if nothing is said of it and the exit
code is 0. Intervals are Wilson's, 95 %.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from groundwire.core import wilson

LABELS = Path("../shared/audit-wild/labels.json")
NODES = Path(__file__).with_name("audit_wild.toml")
MEANS = {
    "grounded": {"grounded"},
    "grounded (ReAct)": {"tool_loop", "grounded"},
    "partly": {"partly"},
    "ungrounded": {"ungrounded"},
    "worklist": {"worklist"},
    "unknown": {"unknown"},
}
GREEN = {"grounded", "tool_loop", "worklist"}
MISSED = "(not reported)"
LIMIT_S = 120
LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_CPU, ({0}, {0}))
from groundwire_audit import main
sys.exit(main(sys.argv[1:]))
"""


@dataclass(frozen=True)
class Run:
    """One audit of a file or folder: what it reported, and what it took."""

    report: Mapping[str, Any] | None
    exit_code: int
    cpu_s: float
    peak_mib: float
    said: str = ""


@dataclass(frozen=True)
class Outcome:
    """One labelled loop: its label, and what was reported."""

    id: int
    repo: str
    path: str
    loop: str
    label: str
    got: str
    why: str = ""
    green: bool = False

    @property
    def agrees(self) -> bool:
        """The verdict is the label's."""
        return self.got in MEANS[self.label]


def audit(folder: Path, target: str) -> Run:
    """Audits a path inside a project, in a process of its own."""
    command = [sys.executable, "-c", LIMITED.format(LIMIT_S), target, "--json", "--timeout", str(8 * LIMIT_S)]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen(command, cwd=folder, stdout=out, stderr=err)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = code = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        text, said = out.read().decode("utf-8", "replace"), err.read().decode("utf-8", "replace")
    cpu, peak = used.ru_utime + used.ru_stime, used.ru_maxrss / 1024
    try:
        return Run(json.loads(text), code, cpu, peak)
    except ValueError:
        return Run(None, code, cpu, peak, said.strip()[-300:])


def scored(labels: Iterable[Mapping[str, Any]], run: Run, nodes: Mapping[str, list[list[str]]]) -> list[Outcome]:
    """Pairs the labelled loops of one file with those that were reported, each of these once."""
    left = [x for g in (run.report or {"graphs": []})["graphs"] for x in g["loops"]]
    found: list[Outcome] = []
    for label in labels:
        wanted = [set(way) for way in nodes[str(label["id"])]]
        fits = [(len(_names(x)), x["inside"], i) for i, x in enumerate(left) if any(w <= _names(x) for w in wanted)]
        # of loops through the same nodes the one whose verdict agrees: a label names one way round of several
        best = min(
            fits,
            key=lambda f: (f[0] - len(wanted[0]), left[f[2]]["verdict"] not in MEANS[label["cls"]], f[1]),
            default=None,
        )
        got, why = (MISSED, run.said) if best is None else (left[best[2]]["verdict"], left[best[2]]["why"])
        silent = best is None and run.exit_code == 0
        green = label["cls"] == "ungrounded" and (got in GREEN or silent)
        if best is not None:
            left.pop(best[2])
        found.append(Outcome(label["id"], label["repo"], label["path"], label["loop"], label["cls"], got, why, green))
    return found


def _names(loop: Mapping[str, Any]) -> set[str]:
    return {n.rsplit("/", 1)[-1] for n in loop["nodes"]}


def _share(right: int, total: int) -> str:
    low, high = wilson(right, total)
    return f"{right}/{total} {right / total:.1%} [{low:.2f}, {high:.2f}]" if total else "–"


def summary(found: list[Outcome], runs: Mapping[str, Run]) -> dict[str, Any]:
    """The figures of a set of outcomes."""
    said = [o for o in found if o.got == "ungrounded"]
    there = [o for o in found if o.label == "ungrounded"]
    right = [o for o in said if o.label == "ungrounded"]
    times = sorted(r.cpu_s for r in runs.values())
    broke = [
        name
        for name, r in runs.items()
        if r.report is None or any(f["rule"] == "audit-failed" for f in _findings(r.report))
    ]
    return {
        "loops": len(found),
        "found": sum(o.got != MISSED for o in found),
        "agreed": sum(o.agrees for o in found),
        "ungrounded_right": len(right),
        "ungrounded_said": len(said),
        "ungrounded_there": len(there),
        "ungrounded_unknown": sum(o.got == "unknown" for o in there),
        "green": [o.id for o in found if o.green],
        "crashed": [n for n in broke if runs[n].exit_code >= 0],
        "unfinished": [n for n, r in runs.items() if r.exit_code < 0]
        + [
            n
            for n, r in runs.items()
            if r.report is not None and any(f["rule"] == "too-complex" for f in _findings(r.report))
        ],
        "cpu_s": {"median": times[len(times) // 2] if times else 0, "worst": times[-1] if times else 0},
        "peak_mib": max((r.peak_mib for r in runs.values()), default=0),
        "confusion": {f"{a} → {b}": n for (a, b), n in sorted(Counter((o.label, o.got) for o in found).items())},
    }


def _findings(report: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [*report["findings"], *(f for g in report["graphs"] for f in g["findings"])]


def show(title: str, figures: Mapping[str, Any]) -> None:
    """Prints the figures."""
    n = figures["loops"]
    right, said, there = (figures[f"ungrounded_{k}"] for k in ("right", "said", "there"))
    print(f"\n{title}: {n} loops")
    print(f"  found       {_share(figures['found'], n)}")
    print(f"  agreed      {_share(figures['agreed'], n)}")
    print(f"  ungrounded  precision {_share(right, said)}, recall {_share(right, there)}")
    print(f"              {figures['ungrounded_unknown']} more called unknown; green: {figures['green'] or 'none'}")
    print(f"  crashed     {figures['crashed'] or 'none'}; unfinished: {figures['unfinished'] or 'none'}")
    cpu = figures["cpu_s"]
    print(
        f"  a file      {cpu['median']:.2f} CPU s in the median, {cpu['worst']:.2f} at worst,"
        f" {figures['peak_mib']:.0f} MiB"
    )


def main() -> int:
    """Prints the figures of all projects that are there."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repos", type=Path, required=True, help="folder with checkouts named owner+name")
    parser.add_argument("--labels", type=Path, default=LABELS)
    parser.add_argument("--half", choices=["even", "odd"])
    parser.add_argument("--only", help="projects whose name holds this text")
    parser.add_argument("--misses", action="store_true", help="name what does not agree")
    parser.add_argument("--whole", action="store_true", help="audit each project as a folder too")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    if not arguments.labels.is_file():
        print(f"skipped: no labels at {arguments.labels}", file=sys.stderr)
        return 0
    labels, nodes = _labelled(arguments.labels)
    names = sorted({x["repo"] for x in labels})
    found: list[Outcome] = []
    runs: dict[str, Run] = {}
    whole: dict[str, Run] = {}
    for i, name in enumerate(names):
        if (arguments.half and ("even", "odd")[i % 2] != arguments.half) or (arguments.only or "") not in name:
            continue
        folder = arguments.repos / name.replace("/", "+")
        if not folder.is_dir():
            print(f"skipped: {name} is not below {arguments.repos}", file=sys.stderr)
            continue
        mine = [x for x in labels if x["repo"] == name]
        for path in dict.fromkeys(x["path"] for x in mine):
            runs[f"{name}/{path}"] = run = audit(folder, path)
            found += scored([x for x in mine if x["path"] == path], run, nodes)
        if arguments.whole:
            whole[name] = audit(folder, ".")
    halves = {h: {n for i, n in enumerate(names) if ("even", "odd")[i % 2] == h} for h in ("even", "odd")}
    data = {
        title: summary([o for o in found if o.repo in held], {k: r for k, r in runs.items() if _repo(k) in held})
        for title, held in (*halves.items(), ("all", set(names)))
    }
    if arguments.json:
        rows = [asdict(o) for o in found]
        print(json.dumps({**data, "outcomes": rows, "whole": {n: _cost(r) for n, r in whole.items()}}, indent=2))
        return 0
    for title, figures in data.items():
        if figures["loops"]:
            show(title, figures)
    for o in found if arguments.misses else []:
        if not o.agrees:
            print(f"  {o.id} {o.repo} {o.path}: {o.loop}: {o.label} → {o.got}{' GREEN' if o.green else ''}   {o.why}")
    for name, run in whole.items():
        print(f"  {name}: {_cost(run)}")
    return 0


def _labelled(path: Path) -> tuple[list[dict[str, Any]], dict[str, list[list[str]]]]:
    """The labels of a file, and the nodes of each loop: in a TOML file they stand together."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".toml":
        loops = tomllib.loads(text)["loops"]
        return loops, {str(x["id"]): x["nodes"] for x in loops}
    return json.loads(text), tomllib.loads(NODES.read_text(encoding="utf-8"))["nodes"]


def _repo(key: str) -> str:
    return "/".join(key.split("/")[:2])


def _cost(run: Run) -> dict[str, Any]:
    counts: dict[str, int] = run.report["counts"] if run.report is not None else {}
    return {"cpu_s": round(run.cpu_s, 2), "peak_mib": round(run.peak_mib), "exit": run.exit_code, **counts}


if __name__ == "__main__":
    sys.exit(main())
