"""What our layer costs on a model call, beside what it stands on, against one stub server in a process of its own.

    .venv/bin/python bench/bench_llm_client.py [--rounds 7] [--calls 200] [--latency-ms 5] [--only litellm,direct]

`litellm`  `litellm.acompletion` against `LiteLLMBackend`, which calls it.
`direct`   `aiohttp` (post, read, parse, take the text) against `OpenAICompatibleBackend`, which stands on it; and
           `httpx`, which it might have stood on.
At 1, 32 and 128 requests in flight. Processor time of this process for each call; rounds alternate, and each ratio is
the median over rounds, so that a busy machine hits all alike.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import aiohttp
import httpx
from aiohttp import web

from groundwire.core import Message, Request
from groundwire.models import LiteLLMBackend, OpenAICompatibleBackend, allow_model_calls, load_litellm

Call = Callable[[], Awaitable[str]]
IN_FLIGHT = (1, 32, 128)
PROMPT = "def add(a, b): return a - b\n" * 100
TEXT = "The sign is wrong. " * 40
REQUEST = Request(
    messages=(Message(role="system", content="You repair programs."), Message(role="user", content=PROMPT)),
    max_tokens=400,
    seed=1,
)
BODY: dict[str, Any] = {
    "messages": [{"role": m.role, "content": m.content} for m in REQUEST.messages],
    "temperature": 0.0,
    "max_tokens": 400,
    "seed": 1,
}
PARTS = {
    "litellm": ("litellm.acompletion", "LiteLLMBackend"),
    "direct": ("aiohttp", "OpenAICompatibleBackend", "httpx"),
}
PAIRS = (("litellm.acompletion", "LiteLLMBackend"), ("aiohttp", "OpenAICompatibleBackend"), ("aiohttp", "httpx"))


def serve(latency_s: float) -> None:
    """The stub: one answer, after a while."""
    answer = {
        "id": "c", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": TEXT}}],
        "usage": {"prompt_tokens": 900, "completion_tokens": 200, "total_tokens": 1100},
    }  # fmt: skip
    body = json.dumps(answer).encode()

    async def chat(request: web.Request) -> web.Response:
        await request.read()
        await asyncio.sleep(latency_s)
        return web.Response(body=body, content_type="application/json")

    async def main() -> None:
        app = web.Application()
        app.router.add_post("/v1/chat/completions", chat)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        print(runner.addresses[0][1], flush=True)
        await asyncio.Event().wait()

    asyncio.run(main())


async def clients(url: str, until: AsyncExitStack) -> dict[str, Call]:
    """One call through each."""
    litellm = load_litellm()
    session = await until.enter_async_context(aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)))
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=256)
    plain = await until.enter_async_context(httpx.AsyncClient(limits=limits, trust_env=False))
    layer = LiteLLMBackend(
        "openai/m", api_base=url, api_key="k", usd_per_token=(0.0, 0.0), max_in_flight=max(IN_FLIGHT)
    )
    direct = OpenAICompatibleBackend(url, "m", api_key="k", usd_per_token=(0.0, 0.0))
    until.push_async_callback(layer.aclose)
    until.push_async_callback(direct.aclose)

    async def through_litellm() -> str:
        answer = await litellm.acompletion(model="openai/m", api_base=url, api_key="k", max_retries=0, **BODY)
        return answer.choices[0].message.content

    async def through_aiohttp() -> str:
        async with session.post(f"{url}/chat/completions", json={"model": "m", **BODY}) as response:
            return (await response.json())["choices"][0]["message"]["content"]

    async def through_httpx() -> str:
        response = await plain.post(f"{url}/chat/completions", json={"model": "m", **BODY})
        return response.json()["choices"][0]["message"]["content"]

    async def through_layer() -> str:
        return (await layer.complete(REQUEST)).texts[0]

    async def directly() -> str:
        return (await direct.complete(REQUEST)).texts[0]

    return {
        "litellm.acompletion": through_litellm,
        "LiteLLMBackend": through_layer,
        "aiohttp": through_aiohttp,
        "OpenAICompatibleBackend": directly,
        "httpx": through_httpx,
    }


async def cost_ms(call: Call, calls: int, in_flight: int) -> tuple[float, float]:
    """Processor and wall milliseconds of one of `calls` calls."""
    left = iter(range(calls))

    async def work() -> None:
        for _ in left:
            assert await call() == TEXT

    cpu, wall = time.process_time(), time.perf_counter()
    await asyncio.gather(*(work() for _ in range(in_flight)))
    return (time.process_time() - cpu) * 1000 / calls, (time.perf_counter() - wall) * 1000 / calls


async def measure(url: str, rounds: int, calls: int, parts: list[str]) -> None:
    """Prints the table."""
    print("| in flight | client | CPU ms a call | wall ms a call | CPU against |")
    print("|---|---|---|---|---|")
    async with AsyncExitStack() as until:
        made = await clients(url, until)
        known = {name: made[name] for part in parts for name in PARTS[part]}
        for in_flight in IN_FLIGHT:
            costs: dict[str, list[tuple[float, float]]] = {name: [] for name in known}
            for call in known.values():  # connections are opened and caches filled before anything is measured
                await cost_ms(call, in_flight, in_flight)
            for _ in range(rounds):
                for name, call in known.items():
                    wanted = calls if "itellm" in name.lower() else calls * 4
                    costs[name].append(await cost_ms(call, max(wanted, in_flight), in_flight))
            for name, measured in costs.items():
                cpu, wall = (statistics.median(values) for values in zip(*measured, strict=True))
                against = [_ratio(costs, base, name) for base, other in PAIRS if other == name]
                print(f"| {in_flight} | {name} | {cpu:.3f} | {wall:.3f} | {', '.join(against) or '–'} |")


def _ratio(costs: dict[str, list[tuple[float, float]]], base: str, name: str) -> str:
    ratios = [ours[0] / theirs[0] for ours, theirs in zip(costs[name], costs[base], strict=True)]
    return f"{statistics.median(ratios):.2f}× {base}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument(
        "--calls", type=int, default=200, help="calls of a round through LiteLLM; four times as many directly"
    )
    parser.add_argument("--latency-ms", type=float, default=5.0, help="what the server takes for an answer")
    parser.add_argument("--only", default="litellm,direct")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.latency_ms / 1000)
        return
    print(f"Python {sys.version.split()[0]}, aiohttp {aiohttp.__version__}, httpx {httpx.__version__}, "
          f"load {os.getloadavg()[0]:.1f}")  # fmt: skip
    server = subprocess.Popen(
        [sys.executable, __file__, "--serve", "--latency-ms", str(options.latency_ms)],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert server.stdout is not None
        url = f"http://127.0.0.1:{int(server.stdout.readline())}/v1"
        with allow_model_calls():
            asyncio.run(measure(url, options.rounds, options.calls, options.only.split(",")))
    finally:
        server.kill()
        server.wait()


if __name__ == "__main__":
    main()
