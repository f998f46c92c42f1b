"""At which place of the search's order is the fix? Only the baseline is judged: for machines that are never quiet.

    .venv/bin/python bench/fix_ranks.py [--packages toolz sqlparse] [--most 2000]
    .venv/bin/python bench/fix_ranks.py --humanevalfix

The first command plants the frozen bugs of `bench_planted.py` one after the other, has each package's tests judge the
base tree, with coverage, and counts the proposals that mean different things up to the one whose syntax tree is the
original's. The second does so with tasks 0 to 79 of HumanEvalFix, the half that operators may be designed on; the
other half is never read. What a search would learn from the candidates before takes no part, so of what only several
edits mend nothing is said. A baseline is kept in --cache and judged once; delete it there after a change of the judge.
"""

from __future__ import annotations

import argparse
import ast
import json
import math
import pickle
import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench_humanevalfix import DATA
from bench_planted import CACHE, FROZEN, bare, frozen, with_bug
from humanevalfix_report import SEEN
from planted_packages import PACKAGES, Absent, fetch, working_copy

from groundwire.agents.search._localise import ochiai
from groundwire.agents.search._plan import SearchPlan
from groundwire.benchmarks import HumanEvalFix
from groundwire.core import ActorContext, ActorTraits, Candidate, Limits, Needs, Signal, Task
from groundwire.graphs import Budget, code_repair
from groundwire.memory import InMemoryStore
from groundwire.tools import HiddenTests, Pytest


@dataclass(frozen=True)
class Case:
    """A bug whose fix is known.

    Args:
        name: tells it from the others.
        kind: of the bug.
        task: the project with the bug.
        path: the file that it is in.
        fixed: the file without it.
    """

    name: str
    kind: str
    task: Task
    path: str
    fixed: bytes


class Onlooker:
    """An actor that keeps what it is given and proposes nothing."""

    traits = ActorTraits(needs=Needs(coverage=True), patient=True)

    def __init__(self) -> None:
        self.seen: tuple[Signal, object] | None = None

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        """Nothing."""
        if context.failing is not None:
            self.seen = context.failing.signal, context.coverage
        return ()


def baseline(case: Case, cache: Path) -> tuple[Signal, object] | None:
    """The failure of the base tree and what each case ran; None where it does not fail."""
    known = cache / "baselines" / f"{case.task.tree.digest}.pickle"
    if not known.exists():
        actor = Onlooker()
        graph = code_repair(actor, None, Pytest(), HiddenTests())
        graph.compile(store=InMemoryStore(), budget=Budget(trials=1)).run(case.task)
        known.parent.mkdir(parents=True, exist_ok=True)
        known.write_bytes(pickle.dumps(actor.seen))
    return pickle.loads(known.read_bytes())  # what this script wrote itself


def place_of(case: Case, seen: tuple[Signal, object], most: int) -> tuple[int | None, str]:
    """The place of the fix among proposals of different meanings, from 1, and its operators; None: not among them."""
    signal, coverage = seen
    given = {"task": case.task, "tree": case.task.tree, "coverage": coverage}
    plan = SearchPlan(ActorContext(call=_no_model, **given), signal, ochiai, 0)  # pyright: ignore[reportArgumentType]
    tried: set[str] = set()
    wanted, tree = bare(case.fixed), ast.dump(ast.parse(case.fixed))
    while len(tried) < most:
        found = plan.propose(tried, 50)
        if not found:
            break
        for candidate in found[: most - len(tried)]:
            tried.add(candidate.digest)
            after = candidate.changes.get(case.path) or b""
            if bare(after) == wanted and len(candidate.changes) == 1 and ast.dump(ast.parse(after)) == tree:
                return len(tried), "+".join(candidate.edits)
    return None, ""


async def _no_model(*_: object) -> object:
    raise AssertionError("the search asks no model")


def planted_cases(names: Sequence[str], cache: Path) -> Iterator[Case]:
    """The frozen bugs of these packages."""
    packages = {package.name: package for package in PACKAGES}
    for bug in frozen(FROZEN):
        package = packages[bug.package]
        if names and bug.package not in names:
            continue
        try:
            folder = fetch(package, cache)
            with working_copy(folder, {bug.path: with_bug(bug, package, folder)}) as copy:
                task = Task.from_folder(copy, test=package.test, python=Path(sys.executable))
        except Absent as why:
            print(f"left out: {bug.name}: {why}", flush=True)
            continue
        yield Case(bug.name, bug.kind, task, bug.path, (folder / bug.path).read_bytes())


def humanevalfix_cases(data: Path) -> Iterator[Case]:
    """The half of HumanEvalFix that was looked at while the search was designed."""
    right = {row["task_id"]: row["canonical_solution"] for row in map(json.loads, data.read_text().splitlines()[:SEEN])}
    for row in list(HumanEvalFix().rows(data))[:SEEN]:
        fixed = (row.declaration + right[row.task_id]).encode()
        yield Case(row.task_id, row.bug_type, row.task(Limits(wall_s=10)), "solution.py", fixed)


def main() -> int:
    """Prints a line a bug, then how many are within reach."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--packages", nargs="+", choices=[p.name for p in PACKAGES], default=[], help="only these")
    parser.add_argument("--humanevalfix", action="store_true", help="instead of the planted bugs")
    parser.add_argument("--most", type=int, default=2000, help="proposals looked at for each bug")
    parser.add_argument("--cache", type=Path, default=CACHE)
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # an edit such as `1 is x` makes the compiler warn
    options.cache.mkdir(parents=True, exist_ok=True)
    cases = humanevalfix_cases(DATA) if options.humanevalfix else planted_cases(options.packages, options.cache)
    places: list[int | None] = []
    for case in cases:
        seen = baseline(case, options.cache)
        if seen is None:
            print(f"{'':6} the tests pass   {case.name}", flush=True)
            continue
        place, edits = place_of(case, seen, options.most)
        places.append(place)
        print(f"{place or '-':>6} {edits:16} {case.kind:16} {case.name}", flush=True)
    within = [place for place in places if place]
    if within:
        mean = math.exp(sum(map(math.log, within)) / len(within))
        firsts = ", ".join(f"{sum(p <= n for p in within)} of the first {n}" for n in (50, 200, options.most))
        print(f"{len(places)} bugs: the fix is {firsts}; geometric mean of its place {mean:.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
