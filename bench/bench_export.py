"""What `groundwire export` costs: rows a second and peak memory, beside a plain reading of the same records.

    bench/bench_export.py [--rows 20000] [--formats kto grpo trajectory] [--json]

One real episode of five turns is recorded and copied under ids, tasks and seals of its own, so that no row is a
duplicate. Each measurement is a process of its own; `reading` reads every record and candidate body and does no more.
Beside it stand the sizes of the files: the ledger's, and what each export has written.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from groundwire import Budget, Observation, Task, Tree, Verdict
from groundwire.agents import LLMActor
from groundwire.core import Artifact, CandidateRecord, EpisodeRecord, FileKeys, Mint, Record, RunRecord, Signal, new_id
from groundwire.graphs import trajectory_factory
from groundwire.memory import SqlStore
from groundwire.models import ScriptedBackend
from groundwire.tools import Command
from groundwire.training import Options, Trajectories, export, form, opened

TURNS = 5
MARK = "task-of-the-pattern"
AT_ONCE = 100
"""Episodes of one append."""
ANSWER = "answer.txt"
READING = "reading"


async def pattern() -> tuple[Sequence[Record], Sequence[Artifact]]:
    """One episode, with its candidates' bodies: four answers that a real check failed, and one that it passed."""
    answers = [f"I count up to {n}.\n\nFILE: {ANSWER}\n```\n{n}\n```\n" for n in range(TURNS)]
    judge = ("grep", "-q", str(TURNS - 1), ANSWER)
    task = Task(id=MARK, prompt="How many?", tree=Tree({ANSWER: b"?\n"}), editable=(ANSWER,), command=judge)
    graph = trajectory_factory(LLMActor(ScriptedBackend(answers), answer="whole"), Command())
    app = graph.compile(budget=Budget(trials=TURNS))
    result = await app.arun(task)
    if result.trials != TURNS or result.verdict is not Verdict.PASS:
        raise RuntimeError(f"the pattern ended otherwise: {result.stop_reason} {result.detail}")
    records = await app.store.records(result.episode_id)
    digests = [record.artifact for record in records if isinstance(record, CandidateRecord)]
    return records, [Artifact(digest=d, kind="candidate", body=await app.store.artifact(d)) for d in digests]


def copied(records: Sequence[Record], run_id: str, mint: Mint, number: int) -> Iterator[Record]:
    """The same episode again: another task, other ids, signals sealed anew."""
    names: dict[str, str] = {}

    def renamed(value: Any) -> Any:
        if isinstance(value, str):
            return names.get(value) or value.replace(MARK, f"task-{number}")
        return tuple(map(renamed, value)) if isinstance(value, tuple) else value  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]  # of texts

    for record in records:
        if isinstance(record, Signal):
            seen = {name: getattr(record, name) for name in Observation.model_fields if name in Signal.model_fields}
            made = mint.signal(
                Observation(**seen),
                episode_id=renamed(record.episode_id),
                trial=record.trial,
                issuer=record.issuer,
                candidate_digest=record.candidate_digest,
            )
            names[record.id] = made.id
            yield made
            continue
        if isinstance(record, EpisodeRecord):
            names[record.run_id] = run_id
        own = getattr(record, "id", "")
        if own:
            names[own] = new_id()
        yield replace(record, **{field.name: renamed(getattr(record, field.name)) for field in fields(record)})


async def fill(url: str, keys: FileKeys, rows: int) -> str:
    """Writes a ledger of about so many answers, and returns the id of its run."""
    async with aclosing(SqlStore(url)) as store:
        records, bodies = await pattern()
        run = RunRecord(graph="trajectory_factory")
        mint = Mint(run.id, keys.create(run.id))
        await store.append(run, *bodies)
        for start in range(0, rows // TURNS, AT_ONCE):
            numbers = range(start, min(start + AT_ONCE, rows // TURNS))
            await store.append(*(r for number in numbers for r in copied(records, run.id, mint, number)))
        return run.id


async def read(store: SqlStore, run_id: str) -> int:
    """Every record of a run, and every candidate's body; returns how many records there are."""
    count = 0
    for episode in await store.episodes(run_id):
        records = await store.records(episode.id)
        count += len(records)
        for record in records:
            if isinstance(record, CandidateRecord):
                await store.artifact(record.artifact)
    return count


def measure(what: str, url: str, keys: FileKeys, run_id: str, folder: Path) -> Mapping[str, float]:
    """One measurement, in this process."""
    store = SqlStore(url)
    (run,) = asyncio.run(store.runs(prefix=run_id))
    began, used = time.perf_counter(), time.process_time()
    if what == READING:
        count = asyncio.run(read(store, run_id))
    else:
        with opened(folder / f"{what}.jsonl", form(what)) as sink:
            # each of these tasks has one episode, which makes a group of one
            report = export(form(what), Trajectories(store, [run], keys=keys), sink, options=Options(least_group=1))
        if report.refused or report.duplicates or not report.rows:
            raise RuntimeError(f"{what}: not all was exported: {report.data()}")
        count = report.rows
    seconds, cpu = time.perf_counter() - began, time.process_time() - used
    asyncio.run(store.aclose())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    made = folder / (f"{what}.jsonl" if what != READING else "ledger.db")
    return {"count": count, "seconds": seconds, "cpu_s": cpu, "peak_mib": peak, "mib": made.stat().st_size / 2**20}


def main() -> None:
    """Prints a table, or JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--formats", nargs="+", default=["kto", "grpo", "trajectory"])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--measure", nargs=3, metavar=("WHAT", "FOLDER", "RUN"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        what, folder, run_id = arguments.measure
        told = measure(what, f"sqlite:///{folder}/ledger.db", FileKeys(Path(folder) / "keys"), run_id, Path(folder))
        print(json.dumps(told))
        return
    with tempfile.TemporaryDirectory() as folder:
        run_id = asyncio.run(fill(f"sqlite:///{folder}/ledger.db", FileKeys(Path(folder) / "keys"), arguments.rows))
        found: dict[str, Mapping[str, float]] = {}
        for what in (READING, *arguments.formats):
            command = [sys.executable, __file__, "--measure", what, folder, run_id]
            found[what] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    if arguments.json:
        print(json.dumps(found))
        return
    print(f"{'':12}{'rows':>10}{'rows/s':>10}{'CPU s':>9}{'x reading':>11}{'peak MiB':>10}{'file MiB':>10}")
    for what, told in found.items():
        ratio = told["cpu_s"] / found[READING]["cpu_s"]
        print(
            f"{what:12}{told['count']:>10,}{told['count'] / told['seconds']:>10,.0f}{told['cpu_s']:>9.1f}"
            f"{ratio:>11.2f}{told['peak_mib']:>10.0f}{told['mib']:>10.0f}"
        )


if __name__ == "__main__":
    main()
