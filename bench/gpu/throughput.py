"""(b) Episodes that share one engine, against raw vLLM given the same requests, and against one episode at a time.

    python bench/gpu/throughput.py MODEL [--episodes 512] [--tokens 256] [--slots 256] [--rounds 2] [--alone 3]
        [--ledger file] [--within SECONDS] [--most SECONDS]

`ours`   all episodes through `abatch`, with the ledger in an SQLite file; the batch decides how many run at once.
`raw`    the very requests that ours made, in the order in which it made them, as token ids, all given to the same
         engine's `generate` at once: nothing waits for a judge.
`alone`  a few of the episodes one after the other; what all of them would take is extrapolated.

Prints each measurement as a JSON line when it is made, so that a run that is cut off has said what it measured; then
all of it as one, and one line a figure that there is a goal for. Standard error says every 20 s how far it is, and on
SIGTERM where each thread stands. A measurement that takes more than `--most` seconds is given up, and its line says how
far it was; so is one with a prompt that leaves an answer no room, which vLLM 0.23 would never end.

The prefix cache is emptied before each. Answers have a fixed length (`ignore_eos`). Throughput is output tokens by the
wall clock, from the first request to the last answer.
"""

from __future__ import annotations

import argparse
import asyncio
import faulthandler
import json
import signal
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Coroutine, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from episodes import TRIALS, graph, tasks
from findings import check_engine, tell

from groundwire import Budget
from groundwire.core import Completion, Message, Request, StopReason, Task
from groundwire.memory import InMemoryStore, SqlStore
from groundwire.models import VllmBackend

SOURCES = Path(__file__).parents[2] / "src" / "groundwire"
TELL_EVERY_S = 20.0


class GivenUp(Exception):
    """A measurement that took too long, or can't be made."""


class Recording(VllmBackend):
    """Keeps what it was asked."""

    asked: list[Request]
    in_memory: bool
    """Where the ledger of its episodes is."""

    async def complete(self, request: Request) -> Completion:
        """See `VllmBackend`."""
        self.asked.append(request)
        return await super().complete(request)


async def ours(backend: Recording, work: list[Task], tokens: int, at_once: int | None) -> dict[str, Any]:
    """All episodes, each of three trials."""
    await fresh(backend)
    backend.asked = []
    with tempfile.TemporaryDirectory() as folder:
        file = None if backend.in_memory else SqlStore(f"sqlite:///{folder}/ledger.db")
        store = file or InMemoryStore()
        app = graph(backend, tokens).compile(store=store, budget=Budget(trials=TRIALS))
        started, cpu = time.perf_counter(), time.process_time()
        results = await app.abatch(work, at_once=at_once)
        wall, cpu = time.perf_counter() - started, time.process_time() - cpu
        if file is not None:
            await file.aclose()
    missed = [result for result in results if result.stop_reason is not StopReason.VERIFIED]
    if missed:
        raise GivenUp(f"{len(missed)} not verified, the first: {missed[0].stop_reason}, {missed[0].detail}")
    assert len(backend.asked) == TRIALS * len(work)
    return figures(backend, len(backend.asked), tokens, wall, cpu)


async def raw(backend: Recording, tokens: int) -> dict[str, Any]:
    """The same requests, without us."""
    await fresh(backend)
    engine: Any = backend.engine
    llm = engine._llm
    prompts = [engine._reader.tokens(request.messages, model="raw") for request in backend.asked]
    longest = max(map(len, prompts))
    if longest + tokens > engine._room:
        raise GivenUp(f"a prompt of {longest} tokens leaves no room for {tokens} in a context of {engine._room}")
    parameters = [engine._sampling(request, tokens, sampling(tokens), as_written=False) for request in backend.asked]

    async def one(number: int) -> int:
        last: Any = None
        async for output in llm.generate(
            {"prompt_token_ids": prompts[number]},
            parameters[number],
            f"raw-{time.monotonic_ns()}-{number}",
            priority=backend.asked[number].priority,
        ):
            last = output
        return len(last.outputs[0].token_ids)

    async def all_of_them() -> int:
        return sum(await asyncio.gather(*(one(i) for i in range(len(prompts)))))

    started, cpu = time.perf_counter(), time.process_time()
    made = await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(all_of_them(), engine._loop))
    wall, cpu = time.perf_counter() - started, time.process_time() - cpu
    assert made == len(prompts) * tokens, f"{made} tokens: the longest prompt has {longest}"
    found = figures(backend, len(prompts), tokens, wall, cpu)
    found["prompt_tokens_mean"] = round(statistics.mean(map(len, prompts)))
    return found


def sampling(tokens: int) -> Mapping[str, Any]:
    """What fixes an answer's length."""
    return {"ignore_eos": True, "max_tokens": tokens, "min_tokens": tokens}


async def fresh(backend: Recording) -> None:
    """An empty prefix cache and counters at nought."""
    await backend.engine.reset_prefix_cache()
    gauge = backend.engine.gauge
    gauge.prompt_tokens = gauge.cached_tokens = gauge.preempted = gauge.most_running = 0


def figures(backend: Recording, requests: int, tokens: int, wall: float, cpu: float) -> dict[str, Any]:
    """One measurement."""
    gauge = backend.engine.gauge
    return {
        "requests": requests,
        "wall_s": round(wall, 2),
        "output_tokens_per_s": round(requests * tokens / wall, 1),
        "client_cpu_s": round(cpu, 2),
        "prefix_cache_hit_rate": round(gauge.cached_tokens / max(1, gauge.prompt_tokens), 3),
        "most_running": gauge.most_running,
        "preempted": gauge.preempted,
    }


@contextmanager
def watched(backend: Recording, part: str) -> Generator[None]:
    """Says how far a part is, from a thread, which also speaks where an event loop is stuck."""
    done, started = threading.Event(), time.monotonic()

    def watch() -> None:
        while not done.wait(TELL_EVERY_S):
            gauge = backend.engine.gauge
            state = f"{len(backend.asked)} asked, {gauge.in_flight} in flight, {gauge.running} being generated"
            print(f"{part}: {time.monotonic() - started:.0f} s, {state}", file=sys.stderr, flush=True)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


async def measured(
    backend: Recording, part: str, measuring: Coroutine[Any, Any, dict[str, Any]], most_s: float
) -> dict[str, Any]:
    """One measurement, told when it is made or given up.

    Raises:
        GivenUp: it took too long, or can't be made.
    """
    try:
        with watched(backend, part):
            found = await asyncio.wait_for(measuring, most_s)
    except (TimeoutError, GivenUp) as error:
        why = str(error) or f"not done after {most_s:g} s"
        state = {"asked": len(backend.asked), "in_flight": backend.engine.gauge.in_flight}
        print(json.dumps({"bench": "throughput", "part": part, "given_up": why, **state}), flush=True)
        raise GivenUp(f"{part}: {why}") from error
    print(json.dumps({"bench": "throughput", "part": part, **found}), flush=True)
    return found


async def run(asked: argparse.Namespace) -> bool:
    """All rounds, then what they come to; False where one was given up."""
    began = time.perf_counter()
    options: dict[str, Any] = {"load_format": "dummy", "max_model_len": asked.context, "max_num_seqs": asked.slots}
    options |= {"enforce_eager": True} if asked.eager else {}
    if asked.check:
        return check_engine(asked.model, **options)
    backend = Recording(asked.model, sampling=sampling(asked.tokens), **options)
    backend.asked, backend.in_memory = [], asked.ledger == "memory"
    started = time.perf_counter()
    hello = Request(messages=(Message(role="user", content="hello"),), max_tokens=asked.tokens)
    await backend.complete_many([hello] * 8)
    start_s = time.perf_counter() - started
    print(json.dumps({"bench": "throughput", "part": "started", "start_s": round(start_s, 1)}), flush=True)
    work = tasks(asked.episodes, SOURCES)
    rounds: list[tuple[dict[str, Any], dict[str, Any]]] = []
    alone: dict[str, Any] = {}

    async def measure(part: str, measuring: Coroutine[Any, Any, dict[str, Any]]) -> dict[str, Any]:
        return await measured(backend, part, measuring, asked.most)

    try:
        # imports and warms what the first episode needs
        await measure("warm", ours(backend, work[:4], asked.tokens, None))
        for number in range(1, asked.rounds + 1):
            round_began = time.perf_counter()
            mine = await measure(f"ours {number}", ours(backend, work, asked.tokens, None))
            rounds.append((mine, await measure(f"raw {number}", raw(backend, asked.tokens))))
            now = time.perf_counter()
            if asked.within and now - began + (now - round_began) > asked.within:
                break
        alone = await measure("alone", ours(backend, work[: asked.alone], asked.tokens, 1))
    except GivenUp as error:
        print(error, file=sys.stderr, flush=True)
    finally:
        await backend.aclose()
    if rounds and alone:
        tell("throughput", summary(asked, rounds, alone, start_s))
    for figure, values in one_by_one(asked.episodes, rounds).items() if rounds else ():
        found = {"figure": figure, "median": statistics.median(values), "least": min(values), "most": max(values)}
        print(json.dumps({"bench": "throughput", **found}), flush=True)
    return bool(rounds and alone)


def one_by_one(episodes: int, rounds: list[tuple[dict[str, Any], dict[str, Any]]]) -> dict[str, list[float]]:
    """What the goals are about, of each round."""

    def each(of: Callable[[dict[str, Any], dict[str, Any]], float], digits: int) -> list[float]:
        return [round(of(mine, bare), digits) for mine, bare in rounds]

    cpu_ms = 1e3 / episodes
    return {
        "ours_of_raw": each(lambda m, r: m["output_tokens_per_s"] / r["output_tokens_per_s"], 4),
        "output_tokens_per_s_ours": each(lambda m, _: m["output_tokens_per_s"], 1),
        "output_tokens_per_s_raw": each(lambda _, r: r["output_tokens_per_s"], 1),
        "client_cpu_ms_an_episode_ours": each(lambda m, _: m["client_cpu_s"] * cpu_ms, 1),
        "client_cpu_ms_an_episode_raw": each(lambda _, r: r["client_cpu_s"] * cpu_ms, 1),
        "client_cpu_ms_an_episode_over_raw": each(lambda m, r: (m["client_cpu_s"] - r["client_cpu_s"]) * cpu_ms, 1),
        "prefix_cache_hit_rate_ours": each(lambda m, _: m["prefix_cache_hit_rate"], 3),
        "prefix_cache_hit_rate_raw": each(lambda _, r: r["prefix_cache_hit_rate"], 3),
    }


def summary(
    asked: argparse.Namespace,
    rounds: list[tuple[dict[str, Any], dict[str, Any]]],
    alone: dict[str, Any],
    start_s: float,
) -> dict[str, Any]:
    """The ratios that were asked for, and what is behind them."""
    per_episode_s = alone["wall_s"] / asked.alone
    together_s = statistics.median(mine["wall_s"] for mine, _ in rounds)
    return {
        "model": asked.model,
        "episodes": asked.episodes,
        "trials": TRIALS,
        "output_tokens_each": asked.tokens,
        "slots": asked.slots,
        "ledger": asked.ledger,
        "engine_start_s": round(start_s, 1),
        "ours": [mine for mine, _ in rounds],
        "raw": [bare for _, bare in rounds],
        "ours_of_raw": [round(m["output_tokens_per_s"] / r["output_tokens_per_s"], 4) for m, r in rounds],
        "alone": alone | {"episodes": asked.alone},
        "alone_extrapolated_s": round(per_episode_s * asked.episodes, 1),
        "times_one_at_a_time": round(per_episode_s * asked.episodes / together_s, 1),
    }


def main() -> int:
    """As the module says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    for name, default in (
        ("episodes", 512), ("tokens", 256), ("slots", 256), ("rounds", 2), ("alone", 3), ("context", 8192),
    ):  # fmt: skip
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--within", type=float, default=0, help="seconds; no round begins that would not end by then")
    parser.add_argument("--most", type=float, default=150, help="seconds that one measurement may take")
    parser.add_argument("--ledger", choices=("file", "memory"), default="file", help="an SQLite file, or this process")
    parser.add_argument("--eager", action="store_true", help="no compilation: for machines without a GPU")
    parser.add_argument("--check", action="store_true", help="what the engine would be told, and nothing else")
    asked = parser.parse_args()
    faulthandler.register(signal.SIGTERM, chain=True)
    return 0 if asyncio.run(run(asked)) else 1


if __name__ == "__main__":
    sys.exit(main())
