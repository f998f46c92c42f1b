"""Small bugs planted in published packages, repaired by `groundwire repair` without a model.

    .venv/bin/python bench/bench_planted.py [--packages toolz boltons] [--bugs 24] [--json FILE]
    .venv/bin/python bench/bench_planted.py --draw --seed 7 --bugs 39

What is planted, and how often, is in `planting.py`; it shares no code with the search. A bug counts only if a test of
the package fails because of it. `planted_bugs.jsonl` holds the bugs that were drawn, with seed 0, before the operators
of the search were widened, and whether one edit of the search of that day could have undone each ("single" or
"beyond"; compared by syntax tree): every third bug of a package is "beyond" at least. It names places and digests, no
code. `--draw` draws others by seed, with today's operators, into the cache.

Each bug is repaired in a copy, with 150 s of wall time and two cores. A verified patch is compared with the original
(`planted_checking.py`): exact, the same in every call that was tried, or wrong. `--json` keeps an outcome a line and
goes on from there. Distributions are fetched by pip into --cache; a package that can't be had, or whose tests do not
pass here, is left out and named.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import os
import random
import resource
import sqlite3
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from planted_checking import compare
from planted_packages import PACKAGES, Absent, Package, apart, executed, fetch, own_files, working_copy
from planting import KINDS, Plant, Source, is_change, plants

from groundwire.agents.search._candidates import proposals
from groundwire.agents.search._edit_context import EditContext
from groundwire.agents.search._examples import read_examples
from groundwire.agents.search._source import apply, parse_source

FROZEN = Path(__file__).with_name("planted_bugs.jsonl")
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "groundwire-planted"
PROGRAM = Path(sys.executable).with_name("groundwire")
BEYOND_EACH = 3
"""Every so many bugs of a package one that no single edit undoes."""


@dataclass(frozen=True)
class Bug:
    """A planted bug, without its code.

    Args:
        package: name.
        version: of the package.
        path: the file.
        kind: of `planting.KINDS`.
        place: its number among the bugs of its kind in that file, counted from 0.
        digest: of the file with the bug.
        line: 1-based.
        reach: `single` if one edit of the search undid it when it was drawn, else `beyond`.
        free: False where it was drawn because a "beyond" was due.
    """

    package: str
    version: str
    path: str
    kind: str
    place: int
    digest: str
    line: int
    reach: str
    free: bool

    @property
    def name(self) -> str:
        """Tells it from the others."""
        return f"{self.package}:{self.path}:{self.kind}:{self.place}"


@dataclass(frozen=True)
class Outcome:
    """How a repair ended.

    Args:
        bug: its name.
        package: of the bug.
        kind: of the bug.
        reach: of the bug.
        reason: the episode's stop reason.
        detail: the end in words.
        verified: True if the patch was called verified.
        check: what `compare` says of a verified patch, or of one that passed and was not confirmed.
        edits: what it was made of.
        proposed: candidates.
        judged: candidates that were judged.
        first_s: seconds from the start to the verdict on the first candidate.
        rate: candidates judged a second, from the first trial on.
        wall_s: of the whole command.
        cpu_s: processor seconds of the command and all that it ran.
        load: of the machine, in the last minute.
    """

    bug: str
    package: str
    kind: str
    reach: str
    reason: str
    detail: str
    verified: bool
    check: str
    edits: Sequence[str]
    proposed: int
    judged: int
    first_s: float | None
    rate: float | None
    wall_s: float
    cpu_s: float
    load: float


# drawing


def draw(package: Package, cache: Path, seed: int, turn: int) -> Iterator[Bug]:
    """Bugs of a package, without end, the same for the same seed.

    Raises:
        Absent: it can't take part.
    """
    folder = fetch(package, cache)
    lines = executed(package, folder)
    sources = {path: Source((folder / path).read_bytes()) for path in own_files(package, folder) if lines.get(path)}
    chance = random.Random(f"{seed} {package.name} {package.version}")
    kinds, weights = list(KINDS), [weight for _, weight in KINDS.values()]
    pools: dict[str, list[tuple[str, int, Plant]]] = {}
    drawn: set[str] = set()
    made = 0
    while True:
        (kind,) = chance.choices(kinds, weights)
        if kind not in pools:
            pools[kind] = [(path, place, plant) for path, source in sources.items()
                           for place, plant in enumerate(plants(source, kind))
                           if plant.line in lines[path] or kind == "token_default"]  # fmt: skip
        if not pools[kind]:
            continue
        path, place, plant = chance.choice(pools[kind])
        source = sources[path]
        due = (made + turn) % BEYOND_EACH == 0
        planted = plant.applied_to(source.data)
        digest = hashlib.sha256(planted).hexdigest()[:16]
        if digest in drawn or not is_change(source, plant):
            continue
        drawn.add(digest)
        reach = "single" if is_single(path, planted, source.data, plant) else "beyond"
        if due and reach == "single":
            continue
        known = cache / "fails" / digest
        if not known.exists():
            known.parent.mkdir(exist_ok=True)
            known.write_text(str(fails(package, folder, path, planted)))
        if known.read_text() != "True":
            continue
        made += 1
        yield Bug(package.name, package.version, path, kind, place, digest, plant.line, reach, not due)


def fails(package: Package, folder: Path, path: str, planted: bytes) -> bool:
    """True if a test fails with the bug; False where all pass, or where they hang or can't be collected."""
    with working_copy(folder, {path: planted}) as copy:
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *package.options]
        try:
            ran = apart(copy, command)
        except subprocess.TimeoutExpired:
            return False
    return ran.returncode == 1 and " failed" in ran.stdout


def is_single(path: str, planted: bytes, original: bytes, plant: Plant) -> bool:
    """True if one edit of the search gives back the original's syntax tree."""
    source = parse_source(path, planted)
    if source is None:
        return False
    scene = EditContext(source, read_examples([]))
    wanted, tree = bare(original), ast.dump(ast.parse(original))
    first = plant.spans[0][0]
    last = plant.spans[-1][0] + len(plant.spans[-1][2].encode())
    around = [f for f in source.functions if f.start <= first and last <= f.end + 1]
    low, high = (max(around, key=lambda f: f.start).start, max(around, key=lambda f: f.start).end) if around else (0, 0)
    for site in source.sites:
        if site.statement is None or not (low <= site.start < high or not around):
            continue
        for proposal in proposals(site, scene, evaluated=not site.is_expression or site in source.evaluated):
            text = apply(source.data, proposal.splices)
            if bare(text) == wanted:
                try:
                    if ast.dump(ast.parse(text)) == tree:
                        return True
                except SyntaxError:
                    continue
    return False


_LAYOUT = bytes.maketrans(b'"', b"'")


def bare(data: bytes) -> bytes:
    """What is left of a file without layout, so that most edits need not be parsed."""
    return data.translate(_LAYOUT, b" \t\r\n()\\,")


def frozen(path: Path) -> list[Bug]:
    """The bugs of a file."""
    return [Bug(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def drawn_into(path: Path, packages: Sequence[Package], cache: Path, seed: int, count: int) -> list[Bug]:
    """Draws bugs, in turn from each package, until the file holds so many."""
    have = frozen(path) if path.exists() else []
    streams: dict[str, Iterator[Bug]] = {}
    for turn, package in enumerate(packages):
        streams[package.name] = draw(package, cache, seed, turn)
    skip = Counter(bug.package for bug in have)
    while len(have) < count and streams:
        counts = Counter(bug.package for bug in have)
        package = min((p for p in packages if p.name in streams), key=lambda p: counts[p.name])
        try:
            for _ in range(skip.pop(package.name, 0)):
                next(streams[package.name])
            bug = next(streams[package.name])
        except Absent as why:
            print(f"left out: {package.name} {package.version}: {why}", flush=True)
            del streams[package.name]
            continue
        have.append(bug)
        with path.open("a", encoding="utf-8") as file:
            file.write(f"{json.dumps(asdict(bug))}\n")
        print(f"{len(have):3} {bug.reach:6} {bug.name} line {bug.line}", flush=True)
    return have


# repairing


def repair(bug: Bug, package: Package, cache: Path, options: argparse.Namespace) -> Outcome:
    """Plants a bug in a copy and has it repaired.

    Raises:
        Absent: the package is not to be had, or is another one than the bug was drawn in.
    """
    folder = fetch(package, cache)
    planted = with_bug(bug, package, folder)
    with working_copy(folder, {bug.path: planted}) as copy:
        ledger = copy.parent / "ledger.db"
        command = [str(PROGRAM), "repair", str(copy), "--test", package.test, "--python", sys.executable, "--json",
                   "--apply", "--max-seconds", str(options.seconds), "--db", f"sqlite:///{ledger}"]  # fmt: skip
        before, start, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic(), time.time()
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        wall, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
        data: dict[str, Any] = json.loads(ran.stdout) if ran.stdout.startswith("{") else {}
        verified = data.get("stop_reason") == "verified"
        patched = (copy / bug.path).read_bytes()
        first, rate = _pace(ledger, began) if ledger.exists() else (None, None)
    check = ""
    if verified:
        check = "wrong: another file was changed" if data["changed_files"] != [bug.path] else ""
        check = check or compare(package, folder, bug.path, patched)
    return Outcome(
        bug=bug.name, package=bug.package, kind=bug.kind, reach=bug.reach,
        reason=data.get("stop_reason", f"exit {ran.returncode}"),
        detail=data.get("detail") or ran.stderr.strip()[-300:],
        verified=verified, check=check, edits=data.get("edits") or (), proposed=data.get("candidates") or 0,
        judged=data.get("judged") or 0, first_s=first, rate=rate, wall_s=round(wall, 1),
        cpu_s=round(sum(getattr(after, n) - getattr(before, n) for n in ("ru_utime", "ru_stime")), 1),
        load=round(os.getloadavg()[0], 1),
    )  # fmt: skip


def with_bug(bug: Bug, package: Package, folder: Path) -> bytes:
    """The file with the bug.

    Raises:
        Absent: it is another file than the bug was drawn in.
    """
    source = Source((folder / bug.path).read_bytes())
    found = list(plants(source, bug.kind))
    planted = found[bug.place].applied_to(source.data) if bug.place < len(found) else b""
    if hashlib.sha256(planted).hexdigest()[:16] != bug.digest:
        raise Absent(f"{bug.name} is not what was drawn: another version, or another planting.py")
    return planted


def _pace(ledger: Path, began: float) -> tuple[float | None, float | None]:
    """Seconds to the first verdict on a candidate, and candidates judged a second."""
    with sqlite3.connect(ledger) as database:
        times = [row[0] for row in database.execute("select created_at from signals where trial > 0 order by seq")]
        starts = [row[0] for row in database.execute("select created_at from trials where trial > 0 order by seq")]
        (count,) = database.execute("select count(distinct candidate_digest) from signals where trial > 0").fetchone()
    if not times:
        return None, None
    first, last, start = (datetime.fromisoformat(t).timestamp() for t in (times[0], times[-1], (starts or times)[0]))
    return round(first - began, 1), round(count / max(last - start, 0.01), 2)


def report(known: Sequence[Outcome]) -> str:
    """Rates of both parts, pace, and what stops the rest."""
    lines = [f"{'':8}{'bugs':>6}{'verified':>10}{'exact':>8}{'same':>7}{'wrong':>7}{'not compared':>14}"]
    for name in ("single", "beyond", "all"):
        some = [o for o in known if name in (o.reach, "all")]
        sure = [o for o in some if o.verified]
        checks = Counter(o.check.partition(":")[0] for o in sure)
        rate = f"{len(sure)} ({100 * len(sure) / max(1, len(some)):.0f} %)"
        lines.append(f"{name:8}{len(some):>6}{rate:>10}{checks['exact']:>8}{checks['same']:>7}{checks['wrong']:>7}"
                     f"{checks['not compared']:>14}")  # fmt: skip
    firsts, rates = [o.first_s for o in known if o.first_s is not None], [o.rate for o in known if o.rate is not None]
    if firsts and rates:
        lines.append(f"first candidate judged after {statistics.median(firsts):.1f} s in the median; "
                     f"{statistics.median(rates):.2f} candidates a second")  # fmt: skip
    judged, cpu = sum(o.judged for o in known), sum(o.cpu_s for o in known)
    lines.append(f"{judged} candidates judged, {cpu:.0f} processor seconds; load {min(o.load for o in known)} to "
                 f"{max(o.load for o in known)}")  # fmt: skip
    for reason, count in Counter(o.reason for o in known if not o.verified).most_common():
        tried = statistics.median(o.judged for o in known if o.reason == reason and not o.verified)
        lines.append(f"not verified because of {reason}: {count}, after {tried:.0f} judged in the median")
    lines += [f"WRONG {o.bug}: {o.check}" for o in known if o.check.startswith("wrong")]
    return "\n".join(lines)


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--packages", nargs="+", choices=[p.name for p in PACKAGES], help="only these")
    parser.add_argument("--bugs", type=int, default=26, help="how many, in turn from each package")
    parser.add_argument("--skip", type=int, default=0, help="not the first N")
    parser.add_argument("--seed", type=int, default=0, help="0: the frozen ones; else drawn with today's operators")
    parser.add_argument("--draw", action="store_true", help="only draw bugs")
    parser.add_argument("--seconds", type=float, default=150.0, help="wall seconds a repair")
    parser.add_argument("--cache", type=Path, default=CACHE)
    parser.add_argument("--json", type=Path, help="keeps an outcome a line there, and goes on from there")
    return parser.parse_args()


def main() -> int:
    """Draws or repairs, and reports."""
    options = arguments()
    options.cache.mkdir(parents=True, exist_ok=True)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
    packages = {p.name: p for p in PACKAGES if not options.packages or p.name in options.packages}
    if options.seed:
        name = f"bugs-{options.seed}-{hashlib.sha256(' '.join(packages).encode()).hexdigest()[:8]}.jsonl"
        bugs = drawn_into(options.cache / name, list(packages.values()), options.cache, options.seed, options.bugs)
    elif options.draw:
        bugs = drawn_into(FROZEN, list(packages.values()), options.cache, 0, options.bugs)
    else:
        bugs = [bug for bug in frozen(FROZEN) if bug.package in packages]
    bugs = bugs[: options.bugs][options.skip :]
    free = [bug for bug in bugs if bug.free]
    print(f"{len(bugs)} bugs, of which {sum(b.reach == 'beyond' for b in bugs)} are beyond one edit of the search; "
          f"of {len(free)} that were drawn freely {sum(b.reach == 'beyond' for b in free)}", flush=True)  # fmt: skip
    if options.draw:
        return 0
    known: list[Outcome] = []
    if options.json and options.json.exists():
        known = [Outcome(**json.loads(line)) for line in options.json.read_text().splitlines() if line.endswith("}")]
    done = {outcome.bug for outcome in known}
    for bug in bugs:
        if bug.name in done:
            continue
        try:
            outcome = repair(bug, packages[bug.package], options.cache, options)
        except Absent as why:
            print(f"left out: {bug.name}: {why}", flush=True)
            continue
        known.append(outcome)
        if options.json:
            with options.json.open("a", encoding="utf-8") as file:
                file.write(f"{json.dumps(asdict(outcome))}\n")
        print(f"{outcome.reach:6} {outcome.reason:16} {outcome.check[:14]:14} {outcome.judged:4} judged "
              f"{outcome.wall_s:6.1f} s {outcome.cpu_s:6.1f} CPU  {outcome.bug}", flush=True)  # fmt: skip
    if known:
        print(report(known))
    return 0


if __name__ == "__main__":
    sys.exit(main())
