"""N engines of one host against one: output tokens a second, and whether prefixes are still found.

    python bench/gpu/replicas.py MODEL [--gpus 1 2 4] [--episodes 512] [--tokens 256] [--slots 256] [--most SECONDS]
        [--clients one each] [--weights dummy]

`--episodes` is for each engine: N engines get N times as many. `one`: one process of ours, whose episodes are spread
over `vllm-server:MODEL?replicas=N`. `each`: a process of ours a replica, each with a server of its own, all begun at
the same moment; that is how many workers do it. Episodes are those of `throughput.py`: three trials, judged in 50 ms.
Throughput is output tokens by the wall clock, from the first request to the last answer; prefix hits are the servers'
own counts. A measurement that takes longer than `--most` is given up, and its line says so. A JSON line each, then the
ratio to N times the first; the goal is 0.95 with a client a replica. Wanted: as many GPUs as the largest number.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict

from episodes import TRIALS, graph, tasks
from findings import check_engine

from groundwire import Budget
from groundwire.core import Message, ModelCall, Record, Request
from groundwire.memory import InMemoryStore
from groundwire.models import ReplicatedBackend, VllmServerBackend

SOURCES = Path(__file__).parents[2] / "src" / "groundwire"
READY, GO = "ready", "go"
START_S = 900.0
_COUNTS = re.compile(r"^vllm:prefix_cache_(queries|hits)(?:_total)?\{[^}]*\} ([0-9.e+]+)$", re.MULTILINE)


class Measured(TypedDict):
    """What one process of ours measured, on the clock that all processes share."""

    begun: float
    ended: float
    tokens: int
    queries: float
    hits: float
    cpu_s: float


def prefixes(backends: Sequence[VllmServerBackend]) -> Mapping[str, float]:
    """The servers' own counts of prompt tokens, and of those that were cached."""
    found = {"queries": 0.0, "hits": 0.0}
    for backend in backends:
        assert backend.running is not None
        with urllib.request.urlopen(f"{backend.running.url}/metrics", timeout=10) as page:
            for name, value in _COUNTS.findall(page.read().decode()):
                found[name] += float(value)
    return found


def engines_spec(model: str, gpus: int, asked: argparse.Namespace) -> str:
    """The engines of one process."""
    weights = f"load_format={asked.weights}&gpu_memory_utilization={asked.memory}"
    return f"{model}?max_num_seqs={asked.slots}&max_model_len=8192&{weights}" + (
        f"&replicas={gpus}" if gpus > 1 else ""
    )


async def measured(spec: str, gpus: int, asked: argparse.Namespace, offset: int, ready: Any) -> Measured:
    """All episodes through the engines of this process, once `ready` lets them begin."""
    count = asked.episodes * gpus
    backend = VllmServerBackend.from_spec(engines_spec(spec, gpus, asked))
    servers = backend.replicas if isinstance(backend, ReplicatedBackend) else [backend]
    engines = [server for server in servers if isinstance(server, VllmServerBackend)]
    try:
        hello = Request(messages=(Message(role="user", content="hello"),), max_tokens=1)
        await asyncio.gather(*(engine.complete(hello) for engine in engines))
        work = tasks(offset + count, SOURCES)[offset:]
        app = graph(backend, asked.tokens).compile(store=InMemoryStore(), budget=Budget(trials=TRIALS))
        written = 0

        def count_tokens(record: Record) -> None:
            nonlocal written
            written += record.completion_tokens if isinstance(record, ModelCall) else 0

        before = prefixes(engines)
        await asyncio.to_thread(ready)
        begun, used = time.time(), time.process_time()
        await app.abatch(work, at_once=2 * asked.slots * gpus, observers=[count_tokens])
        ended, spent = time.time(), time.process_time() - used
        after = prefixes(engines)
    finally:
        await backend.aclose()
    return Measured(
        begun=begun,
        ended=ended,
        tokens=written,
        queries=after["queries"] - before["queries"],
        hits=after["hits"] - before["hits"],
        cpu_s=spent,
    )


def _wait() -> None:
    """Says that the engine is warm, and waits for the others."""
    print(READY, flush=True)
    if sys.stdin.readline().strip() != GO:
        raise SystemExit("the others never began")


def together(gpus: int, clients: str, asked: argparse.Namespace) -> Mapping[str, Any]:
    """One measurement, by one process or by one a replica."""
    each = 1 if clients == "one" else gpus
    seen = os.environ.get("CUDA_VISIBLE_DEVICES", ",".join(map(str, range(gpus)))).split(",")
    processes: list[subprocess.Popen[str]] = []
    for number in range(each):
        own = ",".join(seen[number * gpus // each : (number + 1) * gpus // each])
        again = [sys.executable, __file__, asked.model, "--part", str(number), "--gpus", str(gpus // each)]
        again += [f"--{name}={getattr(asked, name)}" for name in ("episodes", "tokens", "slots", "weights", "memory")]
        processes.append(
            subprocess.Popen(
                again, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                env={**os.environ, "CUDA_VISIBLE_DEVICES": own, "GROUNDWIRE_MODEL_CALLS": "allow"},
            )
        )  # fmt: skip
    told: list[Measured] = []
    about = {"bench": "replicas", "gpus": gpus, "clients": clients, "episodes": asked.episodes * gpus}
    try:
        for process in processes:
            assert process.stdout is not None
            if process.stdout.readline().strip() != READY:
                return {**about, "given_up": "an engine did not start; its log says why"}
        until = time.monotonic() + asked.most
        for process in processes:
            assert process.stdin is not None
            process.stdin.write(f"{GO}\n")
            process.stdin.flush()
        for process in processes:
            out, _ = process.communicate(timeout=max(until - time.monotonic(), 1))
            if process.returncode:
                return {**about, "given_up": f"a client ended with {process.returncode}"}
            told.append(json.loads(out.splitlines()[-1]))
    except subprocess.TimeoutExpired:
        return {**about, "given_up": f"not done after {asked.most:g} s"}
    finally:
        for process in processes:
            if process.poll() is None:
                process.terminate()
                process.wait()
    took = max(one["ended"] for one in told) - min(one["begun"] for one in told)
    return {
        **about,
        "tokens_a_second": sum(one["tokens"] for one in told) / took,
        "seconds": took,
        "prefix_hits": sum(one["hits"] for one in told) / max(sum(one["queries"] for one in told), 1),
        "client_cpu_s": sum(one["cpu_s"] for one in told),
    }


def main() -> None:
    """Prints a JSON line a measurement, and the ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--gpus", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--clients", nargs="+", choices=("one", "each"), default=["each", "one"])
    parser.add_argument("--episodes", type=int, default=512)
    parser.add_argument("--tokens", type=int, default=256)
    parser.add_argument("--slots", type=int, default=256)
    parser.add_argument("--weights", default="dummy", help="load_format of vLLM: dummy makes them at random")
    parser.add_argument("--most", type=float, default=180.0)
    parser.add_argument(
        "--memory", type=float, default=0.9, help="share of a card's memory; less where others use it too"
    )
    parser.add_argument("--part", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--check", action="store_true", help="what the engine would be told, and nothing else")
    asked = parser.parse_args()
    if asked.check:
        for gpus in asked.gpus:
            check_engine(engines_spec(asked.model, gpus, asked))
        return
    if asked.part is not None:
        offset = asked.part * asked.episodes * asked.gpus[0]
        print(json.dumps(asyncio.run(measured(asked.model, asked.gpus[0], asked, offset, _wait))), flush=True)
        return
    one: float | None = None
    for gpus in asked.gpus:
        # with one replica both are the same
        for clients in asked.clients if gpus > 1 else asked.clients[:1]:
            point = dict(together(gpus, clients, asked))
            rate = point.get("tokens_a_second")
            if gpus == 1:
                one = rate
            elif rate and one:
                point["of_n_times_one"] = rate / (gpus * one)
            print(json.dumps(point), flush=True)


if __name__ == "__main__":
    main()
