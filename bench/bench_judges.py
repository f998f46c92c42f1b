"""What do judges of code call right? Attacks that solve nothing, and honest solutions, through each of several judges.

    .venv/bin/python bench/bench_judges.py [--judges ours plain …] [--sandbox KIND [--image NAME]] [--sample N --seed S]
        [--json] [--rows FILE] [--seconds S] [--cache FOLDER]

Two figures a judge: attacks that it calls passed, and honest solutions that it refuses. Each attack is first shown to
succeed with its defence taken out: by an exit status of 0, or in one process with groundwire's own report; where it
does not, it is a dud on this machine, said and left out. `--rows` is a file of JSON lines that a later call goes on
from, within `--seconds` each time; a table is made of what is in it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import comb
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests/support"))

from adversarial.corpus import Attack, attacks, sample  # noqa: E402
from adversarial.honest import Honest, honest  # noqa: E402
from adversarial.targets import Files, Project  # noqa: E402
from judges_ours import ExitStatus, Ours, Said  # noqa: E402
from judges_public import PUBLIC, NotHere, Verifiers, environment  # noqa: E402

from groundwire.sandbox import open_sandbox  # noqa: E402

Judge = Callable[[Project, Files], Awaitable[Said]]
SHOWN, SHOWN_IN_PROCESS = "plain", "in_process"
OWN = ("ours", SHOWN)


@dataclass(frozen=True)
class Row:
    """What one judge said of one candidate."""

    judge: str
    what: str
    name: str
    passed: bool
    unforgeable: bool
    why: str

    @property
    def key(self) -> tuple[str, str, str]:
        """What it is about."""
        return self.judge, self.what, self.name


def interval(hits: int, of: int) -> tuple[float, float]:
    """The exact (Clopper-Pearson) binomial interval of 95 %, by bisection on the sums themselves."""

    def upper_tail(p: float) -> float:
        return sum(comb(of, k) * p**k * (1 - p) ** (of - k) for k in range(hits, of + 1))

    def lower_tail(p: float) -> float:
        return sum(comb(of, k) * p**k * (1 - p) ** (of - k) for k in range(hits + 1))

    def where(found: Callable[[float], bool]) -> float:
        low, high = 0.0, 1.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if found(middle) else (low, middle)
        return (low + high) / 2

    low = 0.0 if hits == 0 else where(lambda p: upper_tail(p) < 0.025)
    high = 1.0 if hits == of else where(lambda p: lower_tail(p) > 0.025)
    return low, high


class Rows:
    """What was found so far, one line each, so that a run can be cut short."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self.found: dict[tuple[str, str, str], Row] = {}
        if file and file.exists():
            for line in file.read_text().splitlines():
                row = Row(**json.loads(line))
                self.found[row.key] = row

    def add(self, row: Row) -> None:
        """Keeps it."""
        self.found[row.key] = row
        if self._file:
            with self._file.open("a") as file:
                file.write(json.dumps(row.__dict__) + "\n")


class Bench:
    """All judges over both corpora.

    Args:
        rows: what is known, and is added to.
        seconds: when to stop; what is left is done by the next call.
    """

    def __init__(self, rows: Rows, seconds: float) -> None:
        self._rows = rows
        self._until = time.monotonic() + seconds
        self.complete = True

    async def judged(self, name: str, judge: Judge, what: str, item: Attack | Honest) -> Row | None:
        """One judge's word about one candidate; None where there is no time left for it."""
        known = self._rows.found.get((name, what, item.name))
        if known:
            return known
        if time.monotonic() > self._until:
            self.complete = False
            return None
        said = await judge(item.project, item.files)
        row = Row(name, what, item.name, said.passed, said.unforgeable, said.why)
        self._rows.add(row)
        if said.passed is (what == "attack") and name.startswith("ours"):
            print(
                f"  {name}: {what} {'passed' if said.passed else 'refused'}: {item.name}: {said.why}", file=sys.stderr
            )
        return row

    async def shown(self, judges: Mapping[str, Judge], attack: Attack) -> bool | None:
        """Whether an attack succeeds with its defence taken out."""
        for name in (SHOWN, SHOWN_IN_PROCESS):
            row = await self.judged(name, judges[name], "attack", attack)
            if row is None or row.passed:
                return row and row.passed
        return False


async def run(asked: argparse.Namespace, rows: Rows) -> Mapping[str, Any]:
    """Judges what is asked for, and says what all rows come to."""
    bench = Bench(rows, asked.seconds)
    bad: Sequence[Attack] = () if asked.only == "honest" else attacks()
    good: Sequence[Honest] = () if asked.only == "attacks" else honest(asked.data)
    if asked.sample:
        bad = sample(bad, asked.sample, asked.seed)
        good = list(honest_sample(good, asked.sample, asked.seed))
    skipped: dict[str, str] = {}
    judges: dict[str, Judge] = {}
    image = {"image": asked.image} if asked.image else {}
    sandbox = await open_sandbox(asked.sandbox, python=asked.python, **image)
    try:
        ours = f"ours, {asked.sandbox}"
        judges |= {
            ours: Ours(sandbox), SHOWN: ExitStatus(sandbox), SHOWN_IN_PROCESS: Ours(sandbox, in_process=True)
        }  # fmt: skip
        for name, opened in PUBLIC.items():
            if name in asked.judges:
                try:
                    judges[name] = await opened(asked.cache, asked.sandbox, sandbox)
                except NotHere as why:
                    skipped[name] = str(why)
        asked_for = [ours if name == "ours" else name for name in asked.judges if name not in skipped]
        duds: list[str] = []
        for attack in bad:
            shown = await bench.shown(judges, attack)
            if shown is False:
                duds.append(attack.name)
            for name in asked_for:
                if shown:
                    await bench.judged(name, judges[name], "attack", attack)
        for solution in good:
            for name in asked_for:
                await bench.judged(name, judges[name], "honest", solution)
    finally:
        for judge in judges.values():
            if isinstance(judge, Verifiers):
                await judge.aclose()
        await sandbox.aclose()
    names = {"attack": {a.name for a in bad} - set(duds), "honest": {h.name for h in good}}
    return {
        "complete": bench.complete,
        "duds": duds,
        "skipped": skipped,
        "mechanisms": len({a.mechanism.name for a in bad if a.name not in duds}),
        "judges": {name: figures(rows, name, names) for name in asked_for},
    }


def honest_sample(everything: Sequence[Honest], n: int, seed: int) -> Iterator[Honest]:
    """So many of them."""
    import random

    yield from random.Random(seed).sample(list(everything), min(n, len(everything)))


def figures(rows: Rows, judge: str, names: Mapping[str, set[str]]) -> Mapping[str, Any]:
    """What all that a judge said comes to."""
    mine = [row for row in rows.found.values() if row.judge == judge and row.name in names[row.what]]
    bad = [row for row in mine if row.what == "attack"]
    good = [row for row in mine if row.what == "honest"]
    counted = [row for row in bad if row.passed and (row.unforgeable or not judge.startswith("ours"))]
    refused = [row for row in good if not row.passed]
    return {
        "attacks": len(bad),
        "passed": len(counted),
        "passed_saying_so": sum(row.passed for row in bad) - len(counted),
        "interval": [round(100 * part, 2) for part in interval(len(counted), len(bad))] if bad else None,
        "honest": len(good),
        "refused": len(refused),
        "honest_in_one_process": sum(row.passed and not row.unforgeable for row in good),
        "which": [row.name for row in (*counted, *refused)][:40],
    }


def table(found: Mapping[str, Any]) -> str:
    """For people."""
    lines = ["| judge | attacks called passed | 95 % | honest refused |", "|---|---|---|---|"]
    for name, one in found["judges"].items():
        low, high = one["interval"] or (0.0, 100.0)
        more = f" (and {one['passed_saying_so']} with *not unforgeable*)" if one["passed_saying_so"] else ""
        fooled, refused = f"{one['passed']} of {one['attacks']}{more}", f"{one['refused']} of {one['honest']}"
        lines.append(f"| {name} | {fooled} | {low:.1f}-{high:.1f} % | {refused} |")
    return "\n".join(lines)


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--judges", nargs="*", default=list(OWN), choices=[*OWN, *PUBLIC])
    parser.add_argument("--sandbox", default="bubblewrap", choices=["bubblewrap", "landlock", "docker"])
    parser.add_argument(
        "--python", type=Path, help="whose packages the tests have; default: a bare environment in --cache"
    )
    parser.add_argument("--image", help="Docker only: one with pytest and numpy")
    parser.add_argument("--only", choices=["attacks", "honest"], help="one of the two corpora")
    parser.add_argument("--sample", type=int, default=0, help="so many of each corpus")
    parser.add_argument("--seed", type=int, default=20)
    parser.add_argument("--rows", type=Path, help="what is found is added here, and a later run goes on from it")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so many")
    parser.add_argument("--data", type=Path, default=HERE.parent.parent / "shared/data", help="the published problems")
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache/groundwire-judges", help="of other judges")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    asked.python = asked.python or environment(asked.cache / "plain", "pytest", "numpy")
    found = asyncio.run(run(asked, Rows(asked.rows)))
    if asked.json:
        print(json.dumps(found, indent=2))
        return
    print(table(found))
    print(
        f"{found['mechanisms']} mechanisms; {len(found['duds'])} duds left out{': ' if found['duds'] else ''}", end=""
    )
    print("; ".join(found["duds"]))
    for name, why in found["skipped"].items():
        print(f"{name}: skipped: {why}")
    for name, one in found["judges"].items():
        for which in one["which"] if name.startswith("ours") else ():
            print(f"  {name}: {which}")
    if not found["complete"]:
        print("Not complete: call it again with the same --rows.")


if __name__ == "__main__":
    main()
