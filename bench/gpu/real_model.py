"""(a) A real model through one of our vLLM backends: each thing that a backend promises, tried once.

    python bench/gpu/real_model.py vllm:MODEL_FOLDER [--eager]
    python bench/gpu/real_model.py vllm-server:MODEL_FOLDER [--eager]

Text, n samples, seeds, stop sequences, an answer by schema, log probabilities, a context that is too long, a call that
is cancelled (its place in the engine must be free at once), and after the end: no process left, and on a GPU, memory as
free as before. Ends with status 1 if something does not hold.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from findings import check_engine, tell

from groundwire.core import Message, ModelRejected, Request
from groundwire.models import VllmBackend, VllmServerBackend

FILLED_S = 30.0
"""Seconds until every place is taken."""
SCHEMA = {
    "type": "object",
    "properties": {"legs": {"type": "integer"}, "animal": {"enum": ["cat", "bird"]}},
    "required": ["legs", "animal"],
    "additionalProperties": False,
}


def ask(text: str, **fields: Any) -> Request:
    """A request of one message."""
    given: dict[str, Any] = {"max_tokens": 32, **fields}
    return Request(messages=(Message(role="user", content=text),), **given)


async def checks(backend: VllmBackend | VllmServerBackend, context: int) -> dict[str, Any]:
    """What came of each thing; a key that ends in `_ok` is a promise."""
    found: dict[str, Any] = {}
    one = await backend.complete(ask("What is the capital of France? Answer with one word."))
    found["text"], found["text_ok"] = one.texts[0], "Paris" in one.texts[0]
    found["free_ok"] = one.usd == 0.0 and one.prompt_tokens > 5 and one.completion_tokens > 0
    sampled = ask("Tell me about the sea.", n=4, temperature=1.0, seed=7, logprobs=True)
    four = await backend.complete(sampled)
    found["n_ok"] = len(four.texts) == 4 and len(set(four.texts)) > 1
    found["logprobs_ok"] = four.logprobs is not None and all(
        sample and all(value <= 0 for value in sample) for sample in four.logprobs
    )
    again = await backend.complete(sampled)
    found["seed_repeats"] = four.texts == again.texts  # not promised: batches change the order of sums
    stopped = await backend.complete(ask("Count from one to ten in digits, apart by commas.", stop=("5",)))
    found["stop_ok"] = "5" not in stopped.texts[0]
    by_schema = await backend.complete(ask("How many legs has a cat?", json_schema=SCHEMA, max_tokens=60))
    found["schema"], found["schema_ok"] = by_schema.texts[0], set(json.loads(by_schema.texts[0])) == {"legs", "animal"}
    try:
        await backend.complete(ask("word " * (context + 100)))
        found["too_long_ok"] = False
    except ModelRejected as error:
        found["too_long"], found["too_long_ok"] = error.what[:200], "context is too long" in error.what
    many = [ask(f"Tell me about the number {i}.", temperature=0.8, seed=i) for i in range(64)]
    started = time.perf_counter()
    answers = await backend.complete_many(many)
    took = time.perf_counter() - started
    found["many_ok"] = len(answers) == 64
    found["many_output_tokens_per_s"] = round(sum(a.completion_tokens for a in answers) / took, 1)
    # what follows may hang where a promise is broken
    print(json.dumps({"bench": "real_model", "part": "answers", **found}), flush=True)
    found |= await cancelled(backend, context)
    return found


async def cancelled(backend: VllmBackend | VllmServerBackend, context: int) -> dict[str, Any]:
    """Calls that fill every place, then all but one cancelled: how soon a new call is served."""
    capacity = backend.load().capacity
    long = ask("Write a very long story.", max_tokens=context // 2, temperature=1.0)
    alone = time.perf_counter()
    await backend.complete(ask("Say hello.", max_tokens=4))
    alone = time.perf_counter() - alone
    tasks = [asyncio.create_task(backend.complete(long)) for _ in range(2 * capacity)]
    with suppress(TimeoutError):  # an engine with little memory never fills all of its places
        async with asyncio.timeout(FILLED_S):
            while backend.load().running < capacity:  # noqa: ASYNC110  the engine tells nobody
                await asyncio.sleep(0.005)
    await asyncio.sleep(0.5)
    for task in tasks:
        task.cancel()
    started = time.perf_counter()
    await backend.complete(ask("Say hello.", max_tokens=4))
    after = time.perf_counter() - started
    ended = await asyncio.gather(*tasks, return_exceptions=True)
    unfinished = sum(isinstance(e, asyncio.CancelledError) for e in ended)
    return {
        "call_alone_s": round(alone, 3),
        "call_after_cancelling_s": round(after, 3),
        "cancelled": unfinished,
        "cancel_ok": unfinished > 0 and backend.load().waiting == 0,
    }


def left_over() -> list[str]:
    """Processes below this one, but for what lists them."""
    listed = subprocess.run(["ps", "-eo", "pid,ppid,stat,args"], capture_output=True, text=True, check=False).stdout
    return [
        line for line in listed.splitlines() if ("VLLM::" in line or "api_server" in line) and " Z" not in line
    ]  # fmt: skip


def memory_used_mib() -> int | None:
    """Of the GPU; None without one."""
    try:
        asked = ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"]
        said = subprocess.run(asked, capture_output=True, text=True, timeout=20, check=True).stdout
        return int(said.split()[0])
    except (OSError, subprocess.SubprocessError, ValueError, IndexError):
        return None


async def run(model: str, context: int, eager: bool, slots: int, *, check: bool = False) -> bool:
    """Tries it all, ends the engine, and looks at what is left."""
    scheme, _, folder = model.partition(":")
    options: dict[str, Any] = {"max_model_len": context, "max_num_seqs": slots, "gpu_memory_utilization": 0.5}
    options |= {"enforce_eager": True} if eager else {}
    if check:
        return check_engine(folder, **options)
    before = memory_used_mib()
    if before is None:
        del options["gpu_memory_utilization"]
    backend = VllmBackend(folder, **options) if scheme == "vllm" else VllmServerBackend(folder, **options)
    started = time.perf_counter()
    try:
        await backend.complete(ask("hello", max_tokens=1))
        start_s = time.perf_counter() - started
        found = await checks(backend, context)
    finally:
        closing = time.perf_counter()
        await backend.aclose()
        closing = time.perf_counter() - closing
    for _ in range(50):
        if not left_over() and (before is None or (memory_used_mib() or 0) <= before + 64):
            break
        await asyncio.sleep(0.2)
    found["close_s"] = round(closing, 1)
    found["left_over"], found["nothing_left_ok"] = left_over(), not left_over()
    after = memory_used_mib()
    found["gpu_mib_before"], found["gpu_mib_after"] = before, after
    found["memory_freed_ok"] = before is None or (after or 0) <= before + 64
    broken = [name for name, value in found.items() if name.endswith("_ok") and not value]
    tell("real_model", {"model": model, "start_s": round(start_s, 1), "broken": broken, **found})
    return not broken


def main() -> int:
    """As the module says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--context", type=int, default=2048)
    parser.add_argument("--slots", type=int, default=64)
    parser.add_argument("--eager", action="store_true", help="no compilation: starts sooner")
    parser.add_argument("--check", action="store_true", help="what the engine would be told, and nothing else")
    asked = parser.parse_args()
    folder = Path(asked.model.partition(":")[2])
    if not folder.is_dir():
        parser.error(f"{folder} is no folder")
    return 0 if asyncio.run(run(asked.model, asked.context, asked.eager, asked.slots, check=asked.check)) else 1


if __name__ == "__main__":
    sys.exit(main())
