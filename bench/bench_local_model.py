"""A small model on this CPU writes twenty easy functions: its first answer against what the outside check lets through.

    .venv/bin/python bench/bench_local_model.py [--seeds 3] [--json FILE]

As in the demo's second act, but all twenty functions: the likeliest answer first; only where the visible tests FAIL,
up to sixteen samples more, eight at once; a right answer passes the hidden tests too, which judge once. The functions
are our own (`src/groundwire/demo/functions.toml`), written before any model saw them. The first answer is the same for
every seed, so its interval is over functions; the share after the check is also averaged over seeds. Needs the extra
`local` and `groundwire model install`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import tempfile
import time
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path

import numpy as np

from groundwire.core import StopReason, wilson
from groundwire.demo._writing import ANSWERS, SAMPLES, WrittenFunction, function_tasks, write_functions
from groundwire.memory import SqlStore
from groundwire.models import SMOLLM2, LocalBackend, ServerOptions

SLOTS = ServerOptions(slots=SAMPLES, context_tokens=512)
RESAMPLES = 10_000
LEVEL = 0.95


async def measure(seed: int) -> list[WrittenFunction]:
    """All functions once."""
    with tempfile.TemporaryDirectory() as folder:
        backend = LocalBackend(options=SLOTS)
        async with aclosing(SqlStore(f"sqlite:///{folder}/ledger.db")) as store, aclosing(backend):
            written: list[WrittenFunction] = []
            async for one in write_functions(function_tasks(), backend, store, seed=seed):
                written.append(one)
                print(f"seed {seed}  {one.task.id:17} {outcome(one)}", flush=True)
            return written


def outcome(one: WrittenFunction) -> str:
    """In words."""
    if one.right_at_once:
        return "right on the first try"
    if one.right:
        return f"right after the check, {one.result.candidates} different answers"
    if one.result.stop_reason is StopReason.HIDDEN_FAILED:
        return "passed the tests and failed the hidden ones; none is taken"
    return f"{one.result.stop_reason}, {one.result.candidates} different answers"


def interval(right: int, of: int) -> str:
    """A share with its 95 % interval."""
    low, high = wilson(right, of)
    return f"{right} of {of} ({100 * right / of:.0f} %, 95 % {100 * low:.0f} to {100 * high:.0f})"


def gain(runs: Sequence[Sequence[WrittenFunction]]) -> str:
    """What the check bought, in points: a bootstrap over functions, each with all of its seeds."""
    by_function = np.array([[float(w.right) - float(w.right_at_once) for w in run] for run in runs]).mean(axis=0)
    drawn = np.random.default_rng(0).choice(by_function, (RESAMPLES, len(by_function))).mean(axis=1)
    low, high = np.percentile(drawn, [50 * (1 - LEVEL), 50 * (1 + LEVEL)])
    return f"{100 * by_function.mean():+.0f} points, 95 % {100 * low:+.0f} to {100 * high:+.0f}"


def report(runs: Sequence[Sequence[WrittenFunction]], seconds: float) -> str:
    """The figures."""
    first = [w.right_at_once for w in runs[0]]
    lines = [f"{SMOLLM2.name}, {len(first)} functions, at most {ANSWERS} answers each"]
    lines.append(f"right at the first try:  {interval(sum(first), len(first))}")
    for seed, run in enumerate(runs):
        lines.append(f"after the check, seed {seed}: {interval(sum(w.right for w in run), len(run))}")
    lines.append(f"what the check bought over {len(runs)} seeds: {gain(runs)}")
    passed = sum(w.right or w.result.stop_reason is StopReason.HIDDEN_FAILED for run in runs for w in run)
    wrong = sum(w.result.stop_reason is StopReason.HIDDEN_FAILED for run in runs for w in run)
    lines.append(f"answers that passed the visible tests: {passed}; refused by the hidden tests: {wrong}")
    asked = sum(w.result.tokens for run in runs for w in run)
    load = os.getloadavg()[0]
    lines.append(f"{asked} tokens in {seconds:.0f} s, {asked / seconds:.0f} a second with judging; load {load:.1f}")
    return "\n".join(lines)


def arguments() -> argparse.Namespace:
    """Of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3, help="runs, each with other samples")
    parser.add_argument("--json", type=Path, default=None, help="writes an outcome a line there")
    return parser.parse_args()


def main() -> None:
    """Measures and prints."""
    options = arguments()
    started = time.monotonic()
    runs = [asyncio.run(measure(seed)) for seed in range(options.seeds)]
    if options.json:
        rows = [
            {"seed": seed, "function": w.task.id, "first": w.right_at_once, "right": w.right, "how": outcome(w)}
            for seed, run in enumerate(runs)
            for w in run
        ]
        options.json.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    print(report(runs, time.monotonic() - started))


if __name__ == "__main__":
    main()
