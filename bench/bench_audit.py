"""How often `groundwire audit` is right, on labelled loops of our own: precision and recall, on each half.

    .venv/bin/python bench/bench_audit.py [--half tuning|held_out|later|fresh|all] [--misses] [--json]

The loops lie in audit_set/graphs, what each must get in audit_set/labels.toml; they were written before the rules.
Which half a graph belongs to follows from its name (a seeded hash), so nobody chose it. The rules were tuned on the
tuning half. The held-out half was run blind once and then looked at, and so was the set `later`, which was written
after that: what this prints for them today is no longer blind (docs/audit.md has the first figures). The set `fresh`
was written last and no rule was changed after it.

Read in source mode: nothing of the set is imported, and most of it could not be. A loop is found if its nodes are; its
verdict then counts. Intervals are Wilson's, 95 %.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import sys
import time
import tomllib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from groundwire.core import wilson
from groundwire_audit._discover import audit_path
from groundwire_audit._report import Grounding, Loop

SET = Path(__file__).resolve().with_name("audit_set")
HALVES = ["tuning", "held_out", "later", "fresh", "beyond"]
SEED = "groundwire-audit-1"
MISSED = "(not reported)"
UNLABELLED = "(not labelled)"
Key = tuple[frozenset[str], bool]
Found = tuple[str, Loop]


@dataclass(frozen=True)
class Labelled:
    """A loop as it was labelled. `graph`: what holds it, where loops of one file have nodes of the same names."""

    verdict: str
    nodes: frozenset[str]
    inside: bool
    optional: bool
    graph: str = ""

    def fits(self, found: Found) -> bool:
        """True if it is the one that was reported."""
        return _key(found[1]) == (self.nodes, self.inside) and self.graph in {"", found[0]}


@dataclass(frozen=True)
class Case:
    """One graph of the set."""

    file: str
    pattern: str
    loops: tuple[Labelled, ...]
    folder: str = "graphs"
    shared: bool = False
    """Other entries label other loops of the same file."""

    @property
    def path(self) -> Path:
        """Where it lies."""
        return SET / self.folder / self.file

    @property
    def half(self) -> str:
        """The half it belongs to, or the later set."""
        if self.folder != "graphs":
            return self.folder
        even = hashlib.sha256(f"{SEED}:{self.file}".encode()).digest()[0] % 2 == 0
        return "tuning" if even else "held_out"


@dataclass(frozen=True)
class Outcome:
    """One loop: what it must get and what it got."""

    file: str
    path: str
    expected: str
    got: str
    why: str = ""
    pattern: str = ""


def cases() -> list[Case]:
    """All labelled graphs."""
    return [*_cases("graphs"), *_cases("later"), *_cases("fresh"), *_cases("beyond")]


def _cases(folder: str) -> list[Case]:
    file = SET / ("labels.toml" if folder == "graphs" else f"labels_{folder}.toml")
    labels = tomllib.loads(file.read_text(encoding="utf-8"))
    files = Counter(g["file"] for g in labels["graph"])
    return [
        Case(
            g["file"],
            g["pattern"],
            tuple(
                Labelled(
                    x["verdict"],
                    frozenset(x["nodes"]),
                    x.get("inside", False),
                    x.get("optional", False),
                    x.get("graph", ""),
                )
                for x in g["loops"]
            ),
            folder,
            files[g["file"]] > 1,
        )
        for g in labels["graph"]
    ]


def outcomes(case: Case) -> list[Outcome]:
    """Audits one graph and pairs its loops with the labels."""
    with contextlib.chdir(
        case.path.parent
    ):  # modules are looked up where one stands: `agents` is a folder of this project's
        left = [(g.name, x) for g in audit_path(case.path).graphs for x in g.loops]
    found: list[Outcome] = []
    for label in sorted(case.loops, key=lambda x: x.optional):
        same = [f for f in left if label.fits(f)]
        best = next((f for f in same if f[1].verdict == label.verdict), same[0] if same else None)
        if best is None:
            if not label.optional:
                name = f"{label.graph} {' '.join(sorted(label.nodes))}".strip()
                found.append(Outcome(case.file, name, label.verdict, MISSED, pattern=case.pattern))
            continue
        left.remove(best)
        if not label.optional or best[1].verdict != label.verdict:
            said = Outcome(case.file, best[1].path, label.verdict, str(best[1].verdict), best[1].why, case.pattern)
            found.append(said)
    if case.shared:
        return found
    return found + [
        Outcome(case.file, f"{g} {x.path}", UNLABELLED, str(x.verdict), x.why, case.pattern) for g, x in left
    ]


def _key(loop: Loop) -> Key:
    names = (n.rsplit("/", 1)[-1] for n in loop.nodes if n != "?")
    return frozenset(names), loop.inside


def _share(right: int, total: int) -> str:
    low, high = wilson(right, total)
    return f"{right:>3}/{total:<3} {right / total:6.1%} [{low:.2f}, {high:.2f}]" if total else f"{'–':>27}"


def table(found: list[Outcome]) -> dict[str, dict[str, int]]:
    """For each verdict: right ones, how many were reported, how many there are."""
    return {
        str(v): {
            "right": sum(o.expected == o.got == v for o in found),
            "reported": sum(o.got == v for o in found),
            "there": sum(o.expected == v for o in found),
        }
        for v in Grounding
    }


def show(half: str, found: list[Outcome], graphs: int, seconds: float) -> None:
    """Prints the table of one half."""
    labelled = [o for o in found if o.expected != UNLABELLED]
    right = sum(o.expected == o.got for o in labelled)
    print(f"\n{half}: {graphs} graphs, {len(labelled)} labelled loops, {seconds:.1f} s")
    print(f"{'verdict':<12} {'precision':<29} recall")
    for verdict, row in table(found).items():
        print(f"{verdict:<12} {_share(row['right'], row['reported'])}   {_share(row['right'], row['there'])}")
    print(f"{'all loops':<12} {'':<27}   {_share(right, len(labelled))}")
    harmless = [o for o in labelled if o.expected in {"tool_loop", "grounded", "worklist"}]
    alarms = sum(o.got == Grounding.UNGROUNDED for o in harmless)
    tool_loops = [o for o in labelled if o.expected == Grounding.TOOL_LOOP]
    on_tools = sum(o.got == Grounding.UNGROUNDED for o in tool_loops)
    print(
        f"called ungrounded though grounded, tool loop or worklist: {alarms} of {len(harmless)};"
        f" of tool loops {on_tools} of {len(tool_loops)}"
    )


def main() -> int:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", choices=[*HALVES, "all"], default="all")
    parser.add_argument("--misses", action="store_true", help="name what was judged wrongly")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    halves = HALVES if arguments.half == "all" else [arguments.half]
    data: dict[str, object] = {}
    for half in halves:
        chosen = [c for c in cases() if c.half == half]
        began = time.perf_counter()
        found = [o for c in chosen for o in outcomes(c)]
        seconds = time.perf_counter() - began
        data[half] = {"verdicts": table(found), "confusion": _confusion(found)}
        if not arguments.json:
            show(half, found, len(chosen), seconds)
            for o in found if arguments.misses else []:
                if o.expected != o.got:
                    print(f"  {o.file}: {o.path}: {o.expected} → {o.got}   {o.why}")
    if arguments.json:
        json.dump(data, sys.stdout, indent=2)
        print()
    return 0


def _confusion(found: list[Outcome]) -> dict[str, int]:
    return {f"{a} → {b}": n for (a, b), n in sorted(Counter((o.expected, o.got) for o in found).items())}


if __name__ == "__main__":
    sys.exit(main())
