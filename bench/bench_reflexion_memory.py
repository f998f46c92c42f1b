"""The reflections of Reflexion's own logs (arXiv 2303.11366) in our memory: what comes back at each trial.

    bench/bench_reflexion_memory.py [--data FOLDER] [--url URL] [--json]

The logs lie beside the repository (`../shared/data`). Trial by trial, with the database opened anew each time as after
a restart: for every task that is still open memory is asked for three lessons, and what comes back is held against
the last three reflections that the log gave to the same agent. Then the trial's outcome and its new reflections are
written.

The logged outcome stands behind each reflection, as a signal that this script mints (origin `environment`; for HotpotQA
with `oracle`, since the log's agents were told by the gold answer): the log's word, not a judging of ours.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from groundwire.core import (
    EpisodeRecord,
    Evidence,
    Lesson,
    Mint,
    Observation,
    Origin,
    Recall,
    Record,
    ReflectionRecord,
    RunRecord,
    Signal,
    TrialEnd,
    TrialRecord,
    Verdict,
)
from groundwire.logs import Answered, Outcome, read_environments, read_hotpotqa
from groundwire.memory import Lessons, SqlStore, State, says_the_same

DATA = Path(__file__).parents[2] / "shared" / "data"
OMEGA = 3
LOGS = ("alfworld", "hotpotqa react", "hotpotqa cot")
SEARCHED_WORDS = 6


@dataclass(frozen=True)
class Step:
    """One task in one trial: what the log gave to the agent before it, and whether it was solved then."""

    task: str
    given: tuple[str, ...]
    solved: bool


def alfworld(folder: Path) -> Iterator[list[Step]]:
    """Reflections in a trial's file were written after it, so those given are of the file before."""
    before: dict[str, tuple[str, ...]] = {}
    for file in sorted(folder.glob("reflexion_trial_*.json")):
        rows = list(read_environments(file))
        yield [Step(row.name, before.get(row.name, ()), row.solved) for row in rows]
        before = {row.name: tuple(row.reflections) for row in rows}


def hotpotqa(file: Path) -> Iterator[list[Step]]:
    steps: dict[int, dict[str, Step]] = {}
    for row in read_hotpotqa(file):
        if isinstance(row, Answered):
            solved = row.outcome is Outcome.CORRECT
            steps.setdefault(row.trial, {}).setdefault(row.question, Step(row.question, row.reflections, solved))
    for trial in sorted(steps):
        yield list(steps[trial].values())


def trials_of(log: str, data: Path) -> Iterator[list[Step]]:
    if log == "alfworld":
        return alfworld(data / "reflexion_alfworld")
    kind = "react_reflexion_7trials" if log == "hotpotqa react" else "cot_nocontext_reflexion_5trials"
    return hotpotqa(data / "reflexion_hotpotqa" / f"{kind}.txt.gz")


class Imported:
    """A log on its way into memory.

    Args:
        log: its name, which is also the tasks' family.
        run: the run that its episodes belong to.
    """

    def __init__(self, log: str, run: RunRecord) -> None:
        self._log = log
        self._run = run
        self._mint = Mint(run.id, b"k" * 32)
        self._episodes: dict[str, EpisodeRecord] = {}
        self._failed: dict[str, Signal] = {}
        self._written: dict[str, list[str]] = {}

    async def learn(self, store: SqlStore, step: Step) -> None:
        """Writes the reflections that are new since the trial before, each on that trial's failure."""
        known = self._written.setdefault(step.task, [])
        failed = self._failed.get(step.task)
        for text in step.given:
            if text in known or failed is None:
                continue
            known.append(text)
            reflection = ReflectionRecord(
                episode_id=failed.episode_id,
                trial=failed.trial,
                signal_id=failed.id,
                candidate_digest=failed.candidate_digest,
                task_id=step.task,
                family=self._log,
                text=text,
                by="the log's critic",
            )
            await store.append(failed, reflection)

    async def play(self, store: SqlStore, step: Step, trial: int) -> tuple[Sequence[Lesson], float]:
        """Recalls for a trial, writes it and its outcome; gives what came back and the milliseconds it took."""
        began = time.perf_counter()
        found = await store.recall(step.task, self._log, text=step.task, window=OMEGA)
        took = (time.perf_counter() - began) * 1e3
        records: list[Record] = []
        episode = self._episodes.get(step.task)
        if episode is None:
            episode = self._episodes[step.task] = EpisodeRecord(
                run_id=self._run.id, task_id=step.task, family=self._log
            )
            records.append(episode)
        records.append(TrialRecord(episode_id=episode.id, trial=trial, lessons=tuple(lesson.id for lesson in found)))
        records += [
            Recall(episode_id=episode.id, trial=trial, lesson_id=lesson.id, rank=rank, why=lesson.why)
            for rank, lesson in enumerate(found, 1)
        ]
        verdict = Verdict.PASS if step.solved else Verdict.FAIL
        if not step.solved:
            self._failed[step.task] = self._signal(episode, trial)
        await store.append(*records, TrialEnd(episode_id=episode.id, trial=trial, verdict=verdict))
        return found, took

    def _signal(self, episode: EpisodeRecord, trial: int) -> Signal:
        seen = Observation(
            verdict=Verdict.FAIL,
            origin=Origin.ENVIRONMENT,
            oracle=self._log.startswith("hotpotqa"),
            evidence=Evidence(detail=f"logged as not solved in trial {trial}"),
        )
        digest = hashlib.sha256(f"{episode.task_id} {trial}".encode()).hexdigest()
        return self._mint.signal(seen, episode_id=episode.id, trial=trial, issuer="log", candidate_digest=digest)


def came_back(step: Step, found: Sequence[Lesson]) -> tuple[int, int]:
    """Of the log's last three texts that differ: how many there are, and how many came back (or one that says it)."""
    wanted: list[str] = []
    for text in reversed(step.given):
        if len(wanted) < OMEGA and not any(says_the_same(text, other) for other in wanted):
            wanted.append(text)
    got = [text for text in wanted if any(each.text == text or says_the_same(each.text, text) for each in found)]
    return len(wanted), len(got)


async def play(url: str, log: str, data: Path) -> dict[str, Any]:
    """The log's trials, one after the other."""
    run = RunRecord(graph=f"log {log}")
    imported = Imported(log, run)
    rows: list[dict[str, Any]] = []
    solved: set[str] = set()
    for number, steps in enumerate(trials_of(log, data), 1):
        store = SqlStore(url, namespace=log)
        await store.append(run)
        opened = [step for step in steps if step.task not in solved]
        for step in opened:
            await imported.learn(store, step)
        answers = [(step, *await imported.play(store, step, number)) for step in opened]
        solved |= {step.task for step in opened if step.solved}
        rows.append({"trial": number, "solved": len(solved), **_figures(answers), **await _held(store)})
        await store.aclose()
    return {"trials": rows, "search": await searches(url, log)}


def _figures(answers: Sequence[tuple[Step, Sequence[Lesson], float]]) -> Mapping[str, Any]:
    pairs = [came_back(step, found) for step, found, _ in answers]
    lessons = [(step, lesson) for step, found, _ in answers for lesson in found]
    return {
        "open": len(answers),
        "given by the log": sum(wanted for wanted, _ in pairs),
        "of these recalled": sum(got for _, got in pairs),
        "recalled, own": sum(lesson.task_id == step.task for step, lesson in lessons),
        "recalled, family": sum(lesson.task_id != step.task for step, lesson in lessons),
        "ms p50": round(statistics.median(took for _, _, took in answers), 2),
    }


async def _held(store: SqlStore) -> Mapping[str, int]:
    states = await Lessons(store).states()
    return {state.value: states.get(state, 0) for state in State}


async def searches(url: str, log: str) -> Mapping[str, Any]:
    """Known-item search: each lesson looked for by its longest words, since many begin alike."""
    store = SqlStore(url, namespace=log)
    lessons = Lessons(store)
    ranks: list[int] = []
    every = await lessons.list(state=State.ACTIVE, limit=10_000)
    for info in every:
        words = dict.fromkeys(re.findall(r"\w+", info.reflection.text))
        asked = " ".join(sorted(words, key=len, reverse=True)[:SEARCHED_WORDS])
        found = [other.reflection.id for other in await lessons.search(asked)]
        ranks.append(found.index(info.reflection.id) + 1 if info.reflection.id in found else 0)
    measured = await lessons.measured()
    await store.aclose()
    return {
        "lessons": len(every),
        "found first": sum(rank == 1 for rank in ranks),
        "found in the first three": sum(0 < rank <= 3 for rank in ranks),
        "not found": ranks.count(0),
        "measured": len(measured),
        "helped": sum(info.standing.effect > 0 for info in measured),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the published logs")
    parser.add_argument("--url", help="an empty database; default: a fresh SQLite file")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        url = arguments.url or f"sqlite:///{Path(folder)}/lessons.db"
        results = {log: asyncio.run(play(url, log, arguments.data)) for log in LOGS}
    if arguments.json:
        json.dump(results, sys.stdout, indent=2)
        print()
        return
    for log, result in results.items():
        print(f"\n{log}")
        names = list(result["trials"][0])
        print("  " + "  ".join(names))
        for row in result["trials"]:
            print("  " + "  ".join(f"{row[name]:>{len(name)}}" for name in names))
        print("  search: " + ", ".join(f"{name} {value}" for name, value in result["search"].items()))


if __name__ == "__main__":
    main()
