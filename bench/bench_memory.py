"""What recall costs as the ledger grows: goal 5 of the project, in ratios.

    bench/bench_memory.py [--url URL] [--rows 10000 100000 1000000] [--json]

Without --url: a fresh SQLite file in a temporary folder. A database that is named must be empty. Beside each kind of
recall runs the bare query behind it, in the driver alone, turn by turn with it, so that a busy machine slows both.
Recall by meaning has vectors as large as those of the extra `embeddings`, out of nothing, so that it is the store's
part that is timed; what the model costs for one text is told last, where the model is installed.
What writing costs: `bench_memory_writes.py`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memory_fill import COMMON, FAMILIES, LESSONS_A_TASK, SIGNATURES, Words, fill

from groundwire.core import ConfigError, Lesson
from groundwire.memory import Lessons, SqlStore, locate
from groundwire.models import MiniLM

ROUNDS = 200
LAST_3 = (
    "SELECT r.\"text\" FROM lessons l JOIN reflections r ON r.seq = l.number WHERE l.namespace = '' AND"
    " l.state = 'active' AND l.task_id = {mark} ORDER BY l.fresh DESC LIMIT 3"
)
LAST_200 = (
    "SELECT r.\"text\" FROM lessons l JOIN reflections r ON r.seq = l.number WHERE l.namespace = '' AND"
    " l.state = 'active' AND l.family = {mark} ORDER BY l.fresh DESC LIMIT 200"
)


class Bare:
    """The database's driver alone."""

    def __init__(self, url: str) -> None:
        place = locate(url)
        if place.is_sqlite:
            import sqlite3

            self._connection: Any = sqlite3.connect(str(place.file))
            self._mark = "?"
        else:
            import psycopg

            plain = place.url.set(drivername="postgresql").render_as_string(hide_password=False)
            self._connection = psycopg.connect(plain, autocommit=True)
            self._mark = "%s"

    async def rows(self, query: str, value: str) -> Sequence[object]:
        return self._connection.execute(query.format(mark=self._mark), (value,)).fetchall()

    def close(self) -> None:
        self._connection.close()


class OutOfNothing:
    """An embedder that costs next to nothing; its vectors are as large as real ones, and mean nothing."""

    name, revision, dimensions = "nothing", "1", MiniLM.dimensions

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        made: list[list[float]] = []
        for text in texts:
            chance = random.Random(text)
            made.append([chance.random() - 0.5 for _ in range(self.dimensions)])
        return made


@dataclass(frozen=True)
class Taken:
    """Milliseconds."""

    wall: float
    cpu: float


async def _taken(work: Callable[[], Awaitable[object]]) -> Taken:
    wall, cpu = time.perf_counter(), time.process_time()
    await work()
    return Taken((time.perf_counter() - wall) * 1e3, (time.process_time() - cpu) * 1e3)


async def recalls(store: SqlStore, meaning: SqlStore, bare: Bare, rows: int, words: Words) -> Mapping[str, float]:
    """Medians in ms of each kind of question, all kinds turn by turn; `meaning` is the same store with an embedder."""
    chance = words.random
    lessons = Lessons(store)

    def task() -> str:
        return f"task {chance.randrange(rows // LESSONS_A_TASK)}"

    def family() -> str:
        return f"family {chance.randrange(FAMILIES)}"

    async def last_three() -> None:
        _expect(3, await store.recall(task(), ""))

    async def ranked() -> None:
        said = f"{' '.join(COMMON)} {words.text(25)}"
        frames = ("shop/price.py:total", "module_3.py:call")
        found = await store.recall(
            "a new task", family(), signature=chance.choice(SIGNATURES), frames=frames, text=said
        )
        _expect(3, found)

    async def ranked_by_words(asked: SqlStore = store) -> None:
        _expect(3, await asked.recall("a new task", family(), text=" ".join(COMMON)))

    for number in range(FAMILIES):  # has the vectors that the windows hold
        await meaning.recall("a new task", f"family {number}", text="any")

    kinds: dict[str, Callable[[], Awaitable[object]]] = {
        "last 3 of a task": last_three,
        "last 3, bare SQL": lambda: bare.rows(LAST_3, task()),
        "ranked: how it failed, frames, words": ranked,
        "ranked: 5 common words": ranked_by_words,
        "ranked: 5 common words, by meaning too": lambda: ranked_by_words(meaning),
        "newest 200 of a family, bare SQL": lambda: bare.rows(LAST_200, family()),
        "search: 2 common words": lambda: lessons.search(" ".join(COMMON[:2])),
    }
    taken: dict[str, list[Taken]] = {name: [] for name in kinds}
    for turn in range(ROUNDS + 5):
        for name, work in kinds.items():
            once = await _taken(work)
            if turn >= 5:
                taken[name].append(once)
    medians: dict[str, float] = {}
    for name, all_of in taken.items():
        medians[f"{name}, wall"] = statistics.median(one.wall for one in all_of)
        medians[f"{name}, CPU"] = statistics.median(one.cpu for one in all_of)
    return medians


def _expect(count: int, found: Sequence[Lesson]) -> None:
    if len(found) != count:
        raise RuntimeError(f"recall gave {len(found)} lessons, not {count}: this would measure nothing")


async def measure(url: str, sizes: Sequence[int]) -> dict[str, Mapping[str, float]]:
    """Medians by size, then what the largest costs against the smaller ones."""
    store, words = SqlStore(url), Words()
    meaning = SqlStore(url, embedder=OutOfNothing())
    await store.runs()
    bare = Bare(url)
    results: dict[str, Mapping[str, float]] = {}
    try:
        have = 0
        for rows in sorted(sizes):
            await fill(store, have, rows, words)
            await store.run_alone(("PRAGMA optimize",), ("VACUUM (ANALYZE)",))
            results[f"{rows:,} lessons"] = await recalls(store, meaning, bare, rows, words)
            have = rows
    finally:
        bare.close()
        await meaning.aclose()
        await store.aclose()
    names = list(results)
    for smaller in names[:-1]:
        few, many = results[smaller], results[names[-1]]
        results[f"{names[-1]} against {smaller}"] = {name: many[name] / few[name] for name in few}
    return {**results, **await the_model()}


LESSON = (
    "The loop stops one element too early because the upper bound of range is exclusive. Include the last index, and"
    " check the empty list as well: total([]) must be 0, since the first element is read before the length is known."
)


async def the_model() -> dict[str, Mapping[str, float]]:
    """Medians in ms of what the real embedding model takes for one text; nothing where it is not installed."""
    try:
        model = MiniLM()
    except ConfigError:
        return {}
    medians: dict[str, float] = {}
    for name, text in {"a lesson of 40 words": LESSON, "a question of 250 words": LESSON * 6}.items():
        taken = [await _taken(lambda text=text: model.embed([text])) for _ in range(25)][5:]
        medians[f"{name}, wall"] = statistics.median(one.wall for one in taken)
        medians[f"{name}, CPU"] = statistics.median(one.cpu for one in taken)
    return {"the embedding model, ms": medians}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", help="an empty database; default: a fresh SQLite file")
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 100_000, 1_000_000], help="lessons")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        results = asyncio.run(measure(arguments.url or f"sqlite:///{Path(folder)}/bench.db", arguments.rows))
    if arguments.json:
        json.dump(results, sys.stdout, indent=2)
        print()
        return
    for title, figures in results.items():
        print(f"\n{title}")
        for name, value in figures.items():
            print(f"  {name:<48}{value:>10,.3f}")


if __name__ == "__main__":
    main()
