"""`improve`'s run of samples, a script in the place of the model: one sandbox and its few servers judge all tasks."""

from __future__ import annotations

import json
import re
from collections import Counter
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from groundwire.cli._arms import Main
from groundwire.cli._graph_choice import SAMPLES, Builder
from groundwire.cli._improve_parts import SampleRun, task_source
from groundwire.cli._repair import open_store
from groundwire.cli._suite import Suite
from groundwire.core._models import Request
from groundwire.core._records import episodes_of
from groundwire.core._settings import Settings
from groundwire.core._signals import Isolation, NoVerdict, Signal, Verdict
from groundwire.memory import SqlStore
from groundwire.models import ScriptedBackend
from groundwire.sandbox._bubblewrap import Bubblewrap

ROWS = [
    {
        "task_id": 601 + number,
        "text": f"Write a function that adds {number}.",
        "test_list": [f"assert adds_{number}({n}) == {n + number}" for n in (1, 2, 5)],
        "code": "",
    }
    for number in range(1, 9)
]
SAMPLES_OF = (
    "n):\n    return n + {}",
    "n):\n    return 1 + {}",
    "n):\n    raise OSError",
    "n):\n    return None",
    "n, m):\n    return 0",
)
"""The second passes the visible test alone."""


class Counting(SampleRun):
    """Answers by the script, and keeps the graphs that were compiled."""

    backend: ScriptedBackend
    apps: set[int]

    def main(self, builder: Builder, store: SqlStore) -> Main:
        main = super().main(builder, store)
        main.parts = replace(main.parts, backend=self.backend)
        app = main.app
        self.apps = set()

        def counted(item: Any) -> Any:
            made = app(item)
            self.apps.add(id(made))
            return made

        main.app = counted  # type: ignore[method-assign]
        return main


async def test_all_tasks_are_judged_in_a_few_servers_as_apart_as_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mbpp.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in ROWS))
    settings = Settings(width=len(SAMPLES_OF), max_trials=1, rejudge=0, db=f"sqlite:///{tmp_path}/ledger.db")
    suite = Suite(
        SAMPLES, task_source(f"mbpp:{tmp_path}@train", case_s=2.0), settings, select="last", at_once=5,
        graph_options={"temperature": 0.8, "answer_tokens": 64},
    )  # fmt: skip
    asked: Counter[str] = Counter()
    servers: list[Any] = []
    start = Bubblewrap._start_server  # pyright: ignore[reportPrivateUsage]

    def answer(request: Request) -> str:
        name, number = re.findall(r"def (adds_(\d+))\(", request.messages[-1].content)[-1]
        asked[name] += 1
        return SAMPLES_OF[asked[name] - 1].format(number) + "\n```"

    async def counted(*arguments: Any) -> Any:
        servers.append(server := await start(*arguments))
        return server

    monkeypatch.setattr(Bubblewrap, "_start_server", counted)
    run = Counting(suite, {}, "samples", as_json=True)
    run.backend = ScriptedBackend(answer, continues=True)
    await run.ran()

    found: Counter[tuple[Verdict, NoVerdict | None, Isolation, str]] = Counter()
    async with aclosing(open_store(settings)) as store:
        async for episode in episodes_of(store, run.run_id):
            signals = [record for record in await store.records(episode.id) if isinstance(record, Signal)]
            assert len(signals) == len(SAMPLES_OF)
            found.update((s.verdict, s.reason, s.isolation, s.sandbox.kind if s.sandbox else "") for s in signals)
    assert found == {
        (Verdict.PASS, None, Isolation.TWO_BOXES, "bubblewrap"): len(ROWS),
        (Verdict.FAIL, None, Isolation.TWO_BOXES, "bubblewrap"): len(ROWS),
        (Verdict.FAIL, None, Isolation.IN_PROCESS, "bubblewrap"): 3 * len(ROWS),
    }
    # a look in one process, both sides of two boxes and controls have one each, and no task any of its own
    assert 1 <= len(servers) <= 6 < len(ROWS)
    assert len(run.apps) == 1
