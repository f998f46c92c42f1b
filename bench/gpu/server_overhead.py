"""(c) What our client costs at a busy server: the same requests through our backend and by bare aiohttp, in turns.

    python bench/gpu/server_overhead.py MODEL_FOLDER [--in-flight 128] [--requests 1024] [--tokens 128] [--rounds 3]

The server is the one that `vllm-server:` manages. Both send the same bodies: `--in-flight` at a time, each as soon as
another has ended. Throughput is output tokens, by the server's own count, by the wall clock; processor time is that of
this process.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import time
from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp
from findings import check_engine, tell

from groundwire.core import Message, Request
from groundwire.models import VllmServerBackend
from groundwire.models import _vllm_server as vllm_server

TOPICS = ("the sea", "a small town", "iron", "the number seven", "bees", "rivers", "an old clock", "the moon")


def requests(count: int, tokens: int) -> list[Request]:
    """No two alike."""
    return [
        Request(
            messages=(
                Message(role="user", content=f"Write a long story, number {i}, about {TOPICS[i % len(TOPICS)]}."),
            ),
            temperature=1.0,
            seed=i,
            max_tokens=tokens,
        )
        for i in range(count)
    ]


async def in_flight(count: int, work: list[Request], one: Callable[[Request], Awaitable[int]]) -> dict[str, Any]:
    """All of `work`, `count` at a time."""
    left = iter(work)
    made = 0

    async def worker() -> None:
        nonlocal made
        for request in left:
            tokens = await one(request)
            made += tokens

    started, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(worker() for _ in range(count)))
    wall, cpu = time.perf_counter() - started, time.process_time() - cpu
    assert made >= len(work)
    return {
        "wall_s": round(wall, 2),
        "output_tokens": made,
        "output_tokens_per_s": round(made / wall, 1),
        "requests_per_s": round(len(work) / wall, 1),
        "client_cpu_ms_a_request": round(1000 * cpu / len(work), 2),
    }


def told(part: str, found: dict[str, Any]) -> dict[str, Any]:
    """One measurement, told when it is made."""
    print(json.dumps({"bench": "server_overhead", "part": part, **found}), flush=True)
    return found


async def run(asked: argparse.Namespace) -> None:
    """Rounds of both, in turns."""
    options: dict[str, Any] = {"max_model_len": 1024, "max_num_seqs": asked.in_flight}
    options |= {"enforce_eager": True} if asked.eager else {}
    if asked.check:
        check_engine(asked.model, **options)
        return
    backend = VllmServerBackend(asked.model, **options)
    started = time.perf_counter()
    work = requests(asked.requests, asked.tokens)
    await backend.complete_many(requests(8, 8))
    start_s = time.perf_counter() - started
    server: Any = vllm_server
    ((_, key),) = server._supervisors.values()
    running, name = backend.running, server.parse_spec(asked.model, arguments=options).name
    assert running is not None

    async def ours(request: Request) -> int:
        return (await backend.complete(request)).completion_tokens

    rounds: list[tuple[dict[str, Any], dict[str, Any]]] = []
    connector = aiohttp.TCPConnector(limit=0)
    headers = {"authorization": f"Bearer {key}"}
    async with aiohttp.ClientSession(running.url, connector=connector, headers=headers) as session:

        async def bare(request: Request) -> int:
            body = {
                "model": name,
                "messages": [m.model_dump(include={"role", "content"}) for m in request.messages],
                "temperature": request.temperature,
                "seed": request.seed,
                "max_tokens": request.max_tokens,
            }
            async with session.post("/v1/chat/completions", json=body) as answer:
                answer.raise_for_status()
                return int((await answer.json())["usage"]["completion_tokens"])

        await in_flight(asked.in_flight, work[: asked.in_flight], bare)  # warm
        await in_flight(asked.in_flight, work[: asked.in_flight], ours)
        for number in range(1, asked.rounds + 1):
            by_aiohttp = told(f"aiohttp {number}", await in_flight(asked.in_flight, work, bare))
            rounds.append((by_aiohttp, told(f"ours {number}", await in_flight(asked.in_flight, work, ours))))
    await backend.aclose()
    ratios = [mine["output_tokens_per_s"] / raw["output_tokens_per_s"] for raw, mine in rounds]
    tell(
        "server_overhead",
        {
            "model": asked.model,
            "in_flight": asked.in_flight,
            "requests": asked.requests,
            "start_s": round(start_s, 1),
            "aiohttp": [raw for raw, _ in rounds],
            "ours": [mine for _, mine in rounds],
            "ours_of_aiohttp": [round(ratio, 4) for ratio in ratios],
            "below_percent": round(100 * (1 - statistics.median(ratios)), 2),
        },
    )


def main() -> None:
    """As the module says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    for name, default in (("in-flight", 128), ("requests", 1024), ("tokens", 128), ("rounds", 3)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--eager", action="store_true", help="no compilation: for machines without a GPU")
    parser.add_argument("--check", action="store_true", help="what the engine would be told, and nothing else")
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
