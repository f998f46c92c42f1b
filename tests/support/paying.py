"""Episodes whose process is killed by kill -9 at random moments, while a provider keeps its own bill.

    python paying.py FOLDER URL KILLS SEED [calls-only]

Each episode has a memory of its own, is killed up to three times, gone on with each time, and then let end. What the
provider and the tool saw is written down outside of the ledger before the process can know of it. Prints what came of
each as JSON. With `calls-only` the actor and the critic declare that calls are all they do, so that what they are
answered may be written with what they make of it.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import random
import signal
import sys
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from guessing import ANSWER, Check, answer

from groundwire import Budget, FeedbackApp, FeedbackGraph, Observation, Task, Tree
from groundwire.core._candidates import Candidate
from groundwire.core._contexts import ActorContext, CriticContext, Reflection, ToolContext
from groundwire.core._models import Completion, Message, Request
from groundwire.core._records import CandidateRecord, EpisodeEnd, Intent, ModelCall, Record
from groundwire.core._signals import Signal
from groundwire.core._traits import ActorTraits, CriticTraits
from groundwire.graphs.replay._replay import first_difference
from groundwire.memory import SqlStore

CALLS_ONLY = "calls-only" in sys.argv[5:]
PRICE, MOST = 0.01, 0.05
LAST_TRIAL = 4
TASK = Task(id="guess", family="words", tree=Tree({ANSWER: b"nothing"}))


@dataclass
class Bill:
    """What the provider and the tool saw; on disk before anybody is told."""

    path: Path

    def note(self, what: str) -> None:
        descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.write(descriptor, f"{what}\n".encode())
        os.close(descriptor)

    def lines(self, kind: str) -> list[str]:
        listed = self.path.read_text().splitlines() if self.path.exists() else []
        return [line.split()[1] for line in listed if line.startswith(f"{kind} ")]

    def seen(self) -> set[str]:
        return {*self.lines("charged"), *self.lines("judged")}


@dataclass
class Provider:
    """Charges for each request that reaches it, whether its answer arrives or not."""

    bill: Bill
    model: str = "provider/paid"

    async def complete(self, request: Request) -> Completion:
        digest = hashlib.sha256(request.canonical().encode()).hexdigest()
        self.bill.note(f"charged {digest}")
        await asyncio.sleep(0.01)
        return Completion(texts=(f"text {digest[:8]}",), usd=PRICE, prompt_tokens=3, completion_tokens=4)

    async def complete_many(self, requests: Sequence[Request]) -> Sequence[Completion]:
        return [await self.complete(request) for request in requests]

    def price(self, request: Request) -> float | None:
        return MOST


def asks(purpose: str, about: str, seed: int) -> Request:
    return Request(messages=(Message(role="user", content=about),), max_tokens=10, seed=seed, purpose=purpose)


@dataclass
class Writes:
    provider: Provider
    traits: ActorTraits = field(default_factory=ActorTraits)

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        said = context.reflection.text if context.reflection else ""
        requests = [asks("propose", said, 10 * context.trial + i) for i in range(n)]
        answers = await asyncio.gather(*(context.call(self.provider, request) for request in requests))
        end = " right" if context.trial == LAST_TRIAL else ""
        return [answer(context.task, completion.texts[0] + end) for completion in answers]


@dataclass
class Reflects:
    provider: Provider
    traits: CriticTraits = field(default_factory=CriticTraits)

    async def reflect(self, context: CriticContext) -> Reflection:
        completion = await context.call(self.provider, asks("reflect", context.failing.candidate.digest, 0))
        return Reflection(completion.texts[0], by=self.provider.model)


@dataclass
class Judges(Check):
    bill: Bill = field(kw_only=True)

    async def judge(self, candidate: Candidate, task: Task, context: ToolContext) -> Observation:
        self.bill.note(f"judged {candidate.digest}")
        await asyncio.sleep(0.003)
        return await super().judge(candidate, task, context)


def app_of(url: str, folder: Path) -> FeedbackApp:
    bill = Bill(folder / "bill")
    provider = Provider(bill)
    writes, reflects = Writes(provider), Reflects(provider)
    writes.traits = ActorTraits(calls_only=CALLS_ONLY)
    reflects.traits = CriticTraits(calls_only=CALLS_ONLY)
    graph = FeedbackGraph().add_actor("write", writes, width=3).add_critic("reflect", reflects)
    graph.add_tool("test", Judges(bill=bill)).add_edge("write", "test").refine("test", via="reflect", to="write")
    return graph.compile(store=SqlStore(url, namespace=folder.name), budget=Budget(trials=9, usd=50.0))


async def go(url: str, folder: Path) -> None:
    """Begins an episode, or goes on with the one that was begun."""
    app = app_of(url, folder)
    named = folder / "run"
    if not named.exists():
        run_id = await app.start_run()
        (folder / "run.new").write_text(run_id)
        (folder / "run.new").rename(named)
    run_id = named.read_text()
    episodes = await app.store.episodes(run_id)
    result = await app.arun(TASK, run_id=run_id, episode_id=episodes[0].id if episodes else None)
    (folder / "result").write_text(json.dumps({"usd": result.usd, "stop_reason": result.stop_reason}))
    await app.store.aclose()


def fork(work: Callable[[], Coroutine[Any, Any, None]]) -> int:
    pid = os.fork()
    if pid == 0:
        try:
            asyncio.run(work())
            os._exit(0)
        except BaseException as error:
            print(repr(error), file=sys.stderr, flush=True)
            os._exit(1)
    return pid


def run_for(url: str, folder: Path, seconds: float | None) -> bool:
    """Runs it in a process of its own; True if that ended by itself."""
    pid = fork(lambda: go(url, folder))
    if seconds is not None:
        time.sleep(seconds)
        os.kill(pid, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if status not in (0, -signal.SIGKILL):
        raise SystemExit(f"the episode of {folder} ended with {status}")
    return status == 0


@dataclass
class Found:
    """What was wrong with one episode; nothing, where all lists are empty."""

    kills: int
    lost_calls: int = 0
    wrong: list[str] = field(default_factory=list[str])


async def records_of(url: str, folder: Path) -> Sequence[Record]:
    store = SqlStore(url, namespace=folder.name)
    named = folder / "run"
    records: list[Record] = []
    if named.exists():
        for episode in await store.episodes(named.read_text()):
            records += await store.records(episode.id)
    await store.aclose()
    return records


def unannounced(records: Sequence[Record], folder: Path) -> list[str]:
    """What was seen outside and is not in the ledger, neither as done nor as about to be done."""
    bill = Bill(folder / "bill")
    known = {r.digest for r in records if isinstance(r, Intent | CandidateRecord)}
    return [f"{digest} was seen outside before it was in the ledger" for digest in bill.seen() - known]


def check(records: Sequence[Record], undisturbed: Sequence[Record], folder: Path, kills: int) -> Found:
    """Compares the ledger with the provider's bill, with what the tool saw and with a run that nobody killed."""
    bill, result = Bill(folder / "bill"), json.loads((folder / "result").read_text())
    intents = [r for r in records if isinstance(r, Intent) and r.kind == "model_call"]
    calls = [r for r in records if isinstance(r, ModelCall)]
    ended = {call.intent_id for call in calls}
    lost = [intent for intent in intents if intent.id not in ended]
    found = Found(kills, len(lost))

    def demand(holds: bool, otherwise: str) -> None:
        if not holds:
            found.wrong.append(otherwise)

    charged = bill.lines("charged")
    for digest in set(charged):
        announced = sum(intent.digest == digest for intent in intents)
        demand(charged.count(digest) <= announced, f"request {digest} was charged and is not in the ledger")
    for call in calls:
        answered = next(i for i, r in enumerate(records) if r is call)
        again = [r for r in records[answered:] if isinstance(r, Intent) and r.digest == call.request_digest]
        demand(not again, f"request {call.request_digest} was paid for again when it had been answered")
    demand(len({c.request_digest for c in calls}) == len(calls), "an answer is in the ledger twice")
    booked = len(calls) * PRICE + len(lost) * MOST
    demand(abs(result["usd"] - booked) < 1e-9, f"{result['usd']} was booked where {booked} is right")
    demand(len(charged) * PRICE <= booked + 1e-9, f"the bill is {len(charged) * PRICE}, {booked} was booked")
    known = {r.candidate_digest for r in records if isinstance(r, Signal)}
    demand(set(bill.lines("judged")) <= known, "what the tool judged is not in the ledger")
    demand(sum(isinstance(r, EpisodeEnd) for r in records) == 1, "the episode has not ended once")
    difference = first_difference(undisturbed, records, is_whole=True)[1]
    demand(difference is None, f"it is not the run that nobody killed: {difference}")
    return found


def main() -> None:
    folder, url, kills, seed = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    chance = random.Random(seed)
    whole, timed = folder / "undisturbed", folder / "timed"
    whole.mkdir(parents=True)
    run_for(url, whole, None)  # makes the tables, so it tells nothing about time
    timed.mkdir()
    began = time.monotonic()
    run_for(url, timed, None)
    took = time.monotonic() - began
    undisturbed = asyncio.run(records_of(url, whole))
    results: list[dict[str, Any]] = []
    done = 0
    while done < kills:
        place = folder / str(len(results))
        place.mkdir()
        killed = 0
        wrong: list[str] = []
        for _ in range(min(3, kills - done)):
            began = time.time()
            if run_for(url, place, chance.uniform(0.0, took)):
                # the machine is faster than it was: kills that come too late tell nothing
                took = max(0.05, min(took, (place / "result").stat().st_mtime - began))
                break
            killed += 1
            wrong += unannounced(asyncio.run(records_of(url, place)), place)
        done += killed
        if not (place / "result").exists():
            run_for(url, place, None)
        found = check(asyncio.run(records_of(url, place)), undisturbed, place, killed)
        results.append(asdict(replace(found, wrong=[*wrong, *found.wrong])))
    print(json.dumps(results))


if __name__ == "__main__":
    main()
