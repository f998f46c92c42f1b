"""What `groundwire audit` says of thirty public repositories, picked before it was run on them, and what it costs.

    .venv/bin/python bench/bench_audit_picks.py --repos FOLDER [--only TEXT] [--unread] [--json]

FOLDER holds the repositories of audit_wild_picks.toml as `owner+name` (their Python files and notebooks are enough);
nothing is fetched, and what is not there is skipped and named. Each is audited as a folder, in source mode, in a
process of its own; nothing of it is imported.

Each loop that was called ungrounded was read by hand (audit_wild_read.toml: those that were called so wrongly, and all
that were read). A finding is one way round at one place; a graph that several names hold counts once. What nobody has
read yet is counted apart and shown by `--unread`. Intervals are Wilson's, 95 %.
"""

from __future__ import annotations

import argparse
import json
import sys
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

from bench_audit_wild import Run, audit

from groundwire.core import wilson

PICKS = Path(__file__).with_name("audit_wild_picks.toml")
READ = Path(__file__).with_name("audit_wild_read.toml")


def found(name: str, run: Run) -> dict[str, dict[str, Any]]:
    """Loops that a run calls ungrounded, by repository, place and way round."""
    loops = [x for g in (run.report or {"graphs": []})["graphs"] for x in g["loops"] if x["verdict"] == "ungrounded"]
    return {f"{name} {_place(x['place'])} {x['path']}": x for x in loops}


def _place(place: dict[str, Any]) -> str:
    cell = f"#cell{place['cell']}" if place["cell"] else ""
    return f"{place['file']}{cell}:{place['line']}"


def share(right: int, total: int) -> str:
    """A share with its interval."""
    low, high = wilson(right, total)
    return f"{right}/{total} {right / total:.1%} [{low:.2f}, {high:.2f}]" if total else "–"


def main() -> int:
    """Prints the figures of all repositories that are there."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repos", type=Path, required=True, help="folder with repositories named owner+name")
    parser.add_argument("--only", default="", help="repositories whose name holds this text")
    parser.add_argument("--unread", action="store_true", help="show ungrounded loops that nobody has read yet")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    picks = tomllib.loads(PICKS.read_text(encoding="utf-8"))
    read: dict[str, list[str]] = tomllib.loads(READ.read_text(encoding="utf-8"))
    wrong, known = set(read["wrong"]), {*read["right"], *read["wrong"]}
    runs: dict[str, Run] = {}
    for name in (p["repo"] for p in (*picks["picks"], *picks["reserves"]) if arguments.only in p["repo"]):
        folder = arguments.repos / name.replace("/", "+")
        if folder.is_dir():
            runs[name] = audit(folder, ".")
        elif not arguments.json:
            print(f"skipped: {name} is not below {arguments.repos}", file=sys.stderr)
    said = {key: loop for name, run in runs.items() for key, loop in found(name, run).items()}
    errors = {k for k, x in said.items() if x["level"] == "error"}
    verdicts: Counter[str] = Counter()
    for run in runs.values():
        verdicts.update(run.report["counts"] if run.report is not None else {})
    costs: dict[str, dict[str, float]] = {
        n: {"cpu_s": round(r.cpu_s, 2), "peak_mib": round(r.peak_mib), "exit": r.exit_code} for n, r in runs.items()
    }
    crashed = [n for n, r in runs.items() if r.report is None]
    unread = sorted(said.keys() - known)
    data: dict[str, Any] = {
        "repositories": len(runs),
        "crashed": crashed,
        "verdicts": dict(verdicts),
        "ungrounded": {"read": len(said.keys() & known), "wrong": sorted(said.keys() & wrong)},
        "errors": {"read": len(errors & known), "wrong": len(errors & wrong)},
        "unread": unread,
        "cost": costs,
    }
    if arguments.json:
        print(json.dumps(data, indent=2))
        return 0
    print(f"{len(runs)} repositories, crashed: {crashed or 'none'}; loops by verdict: {dict(verdicts)}")
    for title, group in (("ungrounded, all", said.keys()), ("ungrounded, errors", errors)):
        there = group & known
        print(f"{title}: right {share(len(there - wrong), len(there))}, not read {len(group - known)}")
    for name, cost in sorted(costs.items(), key=lambda x: -x[1]["cpu_s"]):
        print(f"  {name}: {cost}")
    for key in unread if arguments.unread else []:
        print(f"  unread: {key}   {said[key]['why']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
