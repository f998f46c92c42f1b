"""Runs an episode in a child that kills itself, goes on with it in another, and prints what was done how often.

    python crashing.py FOLDER '[{"ledger": …, "saver": …, "durability": …, "kill": …}, …]'

The parent forks each child, so that the imports are paid for once. Every effect leaves a line in a file.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from guessing import ANSWER, Check, Noter, answer
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from groundwire import FeedbackApp, FeedbackGraph, Observation, Task, Tree
from groundwire.core._candidates import Candidate
from groundwire.core._contexts import ActorContext, CriticContext, Reflection, ToolContext
from groundwire.core._records import Record
from groundwire.memory import SqlStore

ANSWERS = ["wrong", "worse", "right"]


@dataclass(frozen=True)
class Plan:
    """What to run.

    Args:
        ledger: the store's URL.
        saver: `memory`, or the URL of the checkpointer's database; empty: none.
        durability: see `FeedbackGraph.compile`.
        marks: the file of effects.
        kill: `after 3`: as soon as the third transaction is kept; `before 3`: just before it. Empty: never.
    """

    ledger: str
    saver: str
    durability: Any
    marks: str
    kill: str = ""


class Killed(SqlStore):
    """A store in which the process dies."""

    kill = ""
    count = 0

    async def append(self, *records: Record) -> None:
        self.count += 1
        if self.kill == f"before {self.count}":
            os.kill(os.getpid(), signal.SIGKILL)
        await super().append(*records)
        if self.kill == f"after {self.count}":
            os.kill(os.getpid(), signal.SIGKILL)


@dataclass
class Marks:
    """Effects, one a line, on disk before anything goes on."""

    path: Path

    def add(self, what: str) -> None:
        descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.write(descriptor, f"{what}\n".encode())
        os.close(descriptor)


@dataclass
class Writes:
    marks: Marks

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        text = ANSWERS[context.trial - 1]
        self.marks.add(f"propose {text}")
        return [answer(context.task, text)]


class Judges(Check):
    marks: Marks

    async def judge(self, candidate: Candidate, task: Task, context: ToolContext) -> Observation:
        observation = await super().judge(candidate, task, context)
        self.marks.add(f"judge {self.judged[-1]}")
        return observation


class Reflects(Noter):
    marks: Marks

    async def reflect(self, context: CriticContext) -> Reflection:
        self.marks.add(f"reflect {context.trial}")
        return await super().reflect(context)


def graph_of(marks: Marks) -> FeedbackGraph:
    def tell(state: Any) -> dict[str, Any]:
        marks.add(f"tell {state.trial}")
        return {}

    judge, critic = Judges(), Reflects()
    judge.marks = critic.marks = marks
    graph = FeedbackGraph().add_actor("write", Writes(marks)).add_node("tell", tell, role="pure")
    graph.add_tool("test", judge).add_critic("reflect", critic)
    return graph.add_edge("write", "tell").add_edge("tell", "test").refine("test", via="reflect", to="write")


@asynccontextmanager
async def saver_of(url: str) -> AsyncGenerator[BaseCheckpointSaver[Any] | None]:
    if not url:
        yield None
    elif url == "memory":
        yield InMemorySaver()
    elif url.startswith("postgresql"):
        async with AsyncPostgresSaver.from_conn_string(url) as saver:
            await saver.setup()
            yield saver
    else:
        async with AsyncSqliteSaver.from_conn_string(url) as saver:
            yield saver


@asynccontextmanager
async def app_of(plan: Plan) -> AsyncGenerator[FeedbackApp]:
    store = Killed(plan.ledger)
    store.kill = plan.kill
    async with saver_of(plan.saver) as saver:
        graph = graph_of(Marks(Path(plan.marks)))
        yield graph.compile(store=store, checkpointer=saver, durability=plan.durability)
    await store.aclose()


TASK = Task(id="guess", family="words", tree=Tree({ANSWER: b"nothing"}))


async def begin(plan: Plan) -> None:
    async with app_of(plan) as app:
        await app.arun(TASK)


async def go_on(plan: Plan) -> dict[str, Any]:
    async with app_of(plan) as app:
        (run,) = await app.store.runs()
        episodes = await app.store.episodes(run.id)
        episode_id = episodes[0].id if episodes else None
        result = await app.arun(TASK, run_id=run.id, episode_id=episode_id)
        return {
            "stop_reason": result.stop_reason,
            "signals": result.signals,
            "trials": result.trials,
            "reflections": result.reflections,
            "known": episode_id is not None,
        }


def in_child(work: Any) -> int:
    """Exit status of `work` in a forked child; -9 where it was killed."""
    pid = os.fork()
    if pid == 0:
        try:
            asyncio.run(work())
            os._exit(0)
        except BaseException as error:
            print(repr(error), file=sys.stderr, flush=True)
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def try_one(plan: dict[str, str], folder: Path) -> dict[str, Any]:
    """Kills one episode as `plan` says (`Plan`, with `{folder}` for a folder of its own) and goes on with it."""
    folder.mkdir()
    marks, out, kill = folder / "marks", folder / "out", plan["kill"]
    make = {k: plan[k].format(folder=folder) for k in ("ledger", "saver", "durability")} | {"marks": str(marks)}
    os.environ["XDG_STATE_HOME"] = str(folder / "state")
    killed = in_child(lambda: begin(Plan(**make, kill=kill)))

    async def resume() -> None:
        out.write_text(json.dumps(await go_on(Plan(**make))))

    status = in_child(resume) if killed == -signal.SIGKILL else killed
    result: dict[str, Any] = json.loads(out.read_text()) if out.exists() else {}
    return {"kill": kill, "killed": killed, "status": status, "marks": marks.read_text().split("\n")[:-1], **result}


def main() -> None:
    folder, plans = Path(sys.argv[1]), json.loads(sys.argv[2])
    print(json.dumps([try_one(plan, folder / str(number)) for number, plan in enumerate(plans)]))


if __name__ == "__main__":
    main()
