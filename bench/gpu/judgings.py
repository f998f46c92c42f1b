"""Judges programs of MBPP's training tasks as `groundwire improve` does, and says what that costs: a first call.

    python bench/gpu/judgings.py --data FOLDER [--programs 100] [--samples 24] [--at-once 256] [--hangs 0.02]

It is improve's own run of samples (its graph, its ledger in a file, hidden tests, two processor seconds a case), with
answers by rule in the place of a model's: as small models give them, `RIGHT` of them right, `--hangs` never ending,
the others wrong values, exceptions and text that is no Python; a task's answers are mostly different. CPU seconds are
those of everything, namespaces included, counted by a control group (without one, of what this process has waited
for); `own` is the share of this process, and what its event loop was at work, by the clock, bounds one run. The
sandbox and the isolation that the signals name are told, so that a machine on which it is less than two boxes is seen
at once. Two tasks go before, since a process imports what it needs once; the sandbox and its servers start within
what is counted.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import random
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench_sandbox import cpu_counter
from findings import tell

from groundwire.cli._arms import Main
from groundwire.cli._graph_choice import SAMPLES, Builder
from groundwire.cli._improve_parts import SampleRun, task_source
from groundwire.cli._repair import open_store
from groundwire.cli._suite import Suite
from groundwire.core import Request, Signal
from groundwire.core._records import episodes_of
from groundwire.core._settings import Settings
from groundwire.memory import SqlStore
from groundwire.models import ScriptedBackend
from groundwire.sandbox._process import Process
from groundwire.training.rewards._judging import CASE_S

RIGHT, HANGS, BROKEN = 0.05, 0.02, 0.08
"""Shares of the answers; each that hangs costs two processor seconds, so that its share can be told."""
VALUES = (
    "None",
    "0",
    "[]",
    "args[0]",
    "sorted(args)",
    "len(args)",
    "str(args[0])",
    "args[0][0]",
    "args[0] + 1",
    "sum(args[0])",
)
SEEN_S = 0.1
_HEAD = re.compile(r"```python\ndef (\w+)\(\s*$")


class SmallModel:
    """Answers as a small model would, the same for the same question and number.

    Args:
        data: the folder that holds `mbpp.jsonl`.
        hangs: share of the answers that never end.
    """

    def __init__(self, data: Path, hangs: float) -> None:
        self._hangs = hangs
        self._right: dict[str, str] = {}
        for line in (data / "mbpp.jsonl").read_text().splitlines():
            code = json.loads(line)["code"].replace("\r", "")
            for match in re.finditer(r"^def (\w+)\(", code, re.MULTILINE):
                self._right.setdefault(match[1], code[match.end() :])
        self._asked: Counter[str] = Counter()

    def answer(self, request: Request) -> str:
        """One sample: what comes behind the bracket that the answer is begun with."""
        match = _HEAD.search(request.messages[-1].content)
        name = match[1] if match else ""
        self._asked[name] += 1
        draw = random.Random(f"{name} {self._asked[name]}")
        kind = draw.random()
        if kind < RIGHT and name in self._right:
            return f"{self._right[name]}\n```"
        if kind < RIGHT + self._hangs:
            return "*args):\n    while True:\n        pass\n```"
        if kind < RIGHT + self._hangs + BROKEN:
            return "the list\n```"
        unlike = draw.randrange(12)  # a few come twice
        return f"*args):\n    n = {unlike}\n    return {draw.choice(VALUES)}\n```"


class JudgingRun(SampleRun):
    """Improve's run of samples, with answers by rule.

    Args:
        suite: what is run.
        model: answers.
    """

    def __init__(self, suite: Suite, model: ScriptedBackend) -> None:
        super().__init__(suite, {}, "judgings", as_json=False)
        self._model = model

    def main(self, builder: Builder, store: SqlStore) -> Main:
        """See `SuiteRun`."""
        main = super().main(builder, store)
        main.parts = replace(main.parts, backend=self._model)
        return main


class Started:
    """Counts what this process starts, how many of it live at once, and how long the event loop was at work."""

    def __init__(self) -> None:
        self.programs = 0
        self.most = 0
        self.waited_s = 0.0

    @contextlib.asynccontextmanager
    async def watched(self) -> AsyncGenerator[None]:
        """Looks at the children now and then."""

        async def look() -> None:
            while True:
                self.most = max(self.most, _children())
                await asyncio.sleep(SEEN_S)

        loop: Any = asyncio.get_running_loop()
        started: Any = Process
        select, start = loop._selector.select, started.__init__

        def waits(timeout: float | None = None) -> Any:
            began = time.perf_counter()
            try:
                return select(timeout)
            finally:
                self.waited_s += time.perf_counter() - began

        def starts(process: Process, *arguments: Any, **more: Any) -> None:
            self.programs += 1
            start(process, *arguments, **more)

        loop._selector.select, started.__init__ = waits, starts
        looking = asyncio.create_task(look())
        try:
            yield
        finally:
            looking.cancel()
            loop._selector.select, started.__init__ = select, start


def _children() -> int:
    told = 0
    for thread in Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError):
            told += len((thread / "children").read_text().split())
    return told


async def judged(
    data: Path, programs: int, samples: int, at_once: int, hangs: float, cpu: Callable[[], float]
) -> dict[str, Any]:
    """One run, and its figures."""
    started = Started()
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"XDG_DATA_HOME": folder, "XDG_STATE_HOME": folder}
        suite = Suite(
            graph=SAMPLES,
            source=task_source(f"mbpp:{data}@train", case_s=CASE_S),
            settings=Settings(width=samples, max_trials=1, rejudge=0, seed=0, db=f"sqlite:///{folder}/ledger.db"),
            limit=max(1, programs // samples),
            select="last",
            at_once=at_once,
            graph_options={"temperature": 0.8, "answer_tokens": 512},
        )
        model = ScriptedBackend(SmallModel(data, hangs).answer, continues=True)
        run = JudgingRun(suite, model)
        began, all_cpu, own_cpu = time.perf_counter(), cpu(), time.process_time()
        async with started.watched():
            await run.ran()
        took, spent, own = time.perf_counter() - began, cpu() - all_cpu, time.process_time() - own_cpu
        seen: Counter[str] = Counter()
        async with contextlib.aclosing(open_store(suite.settings)) as store:
            async for episode in episodes_of(store, run.run_id):
                for record in await store.records(episode.id):
                    if isinstance(record, Signal):
                        seen[f"{record.verdict} {record.isolation}"] += 1
                        seen[f"sandbox {record.sandbox.kind if record.sandbox else 'none'}"] += 1
    different = sum(count for name, count in seen.items() if not name.startswith("sandbox"))
    return {
        "samples": len(model.requests) * samples,
        "different": different,
        "seconds": round(took, 2),
        "a_second": round(different / took, 1),
        "cpu_ms_each": round(1000 * spent / different, 1),
        "own_cpu_ms_each": round(1000 * own / different, 2),
        "a_second_and_core": round(different / spent, 1),
        "loop_at_work_ms_each": round(1000 * (took - started.waited_s) / different, 2),
        "programs_started": started.programs,
        "children_at_most": started.most,
        **seen,
    }


def _waited_for() -> float:
    return sum(os.times()[:4])


def main() -> None:
    """As the module says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--programs", type=lambda text: int(text or 100), default=100)
    parser.add_argument("--samples", type=int, default=24)
    parser.add_argument(
        "--at-once", type=int, default=256, help="episodes at a time; a model's engine decides otherwise"
    )
    parser.add_argument("--hangs", type=float, default=HANGS)
    asked = parser.parse_args()

    async def both(cpu: Callable[[], float]) -> None:
        rest = asked.samples, asked.at_once, asked.hangs, cpu
        await judged(asked.data, 2 * asked.samples, *rest)  # what a process pays once
        tell("judgings", await judged(asked.data, asked.programs, *rest))

    with contextlib.ExitStack() as stack:
        try:
            cpu = stack.enter_context(cpu_counter())
        except OSError:
            cpu = _waited_for
        asyncio.run(both(cpu))


if __name__ == "__main__":
    main()
