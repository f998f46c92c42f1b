"""Going wide with an outside check, against votes, synthesis and the ungrounded controls, at equal tokens.

    .venv/bin/python bench/bench_width.py record FILE --model local [--tasks own] [--samples 9] [--seconds 1500]
    .venv/bin/python bench/bench_width.py compare FILE [--tasks own] [--json FILE] [--plot FILE]
    .venv/bin/python bench/bench_width.py published [--limit 109]

`record` has every arm ask what it asks, and keeps the answers in FILE, which `replay:FILE` plays; started again it goes
on where it was cut off. `compare` runs the same graphs on these answers (tasks that are not recorded whole are left
out), and judges what they come to in a sandbox: an answer is right where visible and hidden tests pass. `published`
does the same for vote and choice with GPT-4's first programs of five published runs (../shared/data, or --data).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from width_arms import Arm, Sizes, arms_named
from width_episodes import record
from width_recording import Keeper

from groundwire.benchmarks import benchmark
from groundwire.core import Backend, ConfigError, GroundwireError, Task, read_recording
from groundwire.demo._writing import function_tasks
from groundwire.models import VllmBackend, backend_for

VOTES = "first,majority,width_checked"
"""Arms that need no more than samples."""
DATA = Path(__file__).parents[2] / "shared" / "data"


def tasks_of(options: argparse.Namespace) -> list[Task]:
    """Functions to be written that have visible tests; `--limit` of them, spread over the set."""
    found = function_tasks() if options.tasks in ("own", "both") else []
    if options.tasks in ("humaneval", "both"):
        items = [item.task for item in benchmark("humaneval").items(options.data)]
        found += [task for task in items if b"def test_1(" in task.tree.files["tests/test_visible.py"]]
    return spread(found, options.limit)


def spread(tasks: Sequence[Task], limit: int | None) -> list[Task]:
    """At most `limit` tasks from all over a set."""
    return list(tasks if limit is None else tasks[:: max(1, len(tasks) // limit)][:limit])


@asynccontextmanager
async def opened(options: argparse.Namespace) -> AsyncGenerator[Backend]:
    """The model, closed at the end."""
    engine: dict[str, Any] = {"max_model_len": options.context}
    engine |= {"enforce_eager": True} if options.eager else {}
    spec: str = options.model
    backend: Any = VllmBackend(spec.removeprefix("vllm:"), **engine) if spec.startswith("vllm:") else backend_for(spec)
    try:
        yield backend
    finally:
        if hasattr(backend, "aclose"):
            await backend.aclose()


async def recorded(options: argparse.Namespace) -> int:
    """Records, task by task, until all are done or the time is up."""
    tasks, sizes = tasks_of(options), Sizes(options.samples, options.max_tokens)
    started = time.monotonic()
    async with opened(options) as backend:
        about = (
            f"bench_width {options.tasks}, {sizes.samples} samples of {sizes.max_tokens} tokens, seed {options.seed}"
        )
        keeper = Keeper(backend, options.file, about)
        arms = await able(arms_named(options.arms), tasks[0], keeper, sizes, options.seed)
        waiting, done = iter(tasks), 0

        async def worker() -> None:
            nonlocal done
            for task in waiting:
                for arm in arms:
                    if time.monotonic() - started > options.seconds:
                        return
                    await record(arm, task, keeper.player(), sizes, seed=options.seed)
                done += 1
                took = time.monotonic() - started
                print(f"{done}/{len(tasks)} {task.id}, {keeper.asked} asked, {took:.0f} s", file=sys.stderr, flush=True)

        await asyncio.gather(*(worker() for _ in range(options.at_once)))
    print(f"{done} of {len(tasks)} tasks are recorded in {options.file}; {keeper.asked} calls were made now")
    return 0 if done == len(tasks) else 1


async def able(arms: Sequence[Arm], task: Task, keeper: Keeper, sizes: Sizes, seed: int) -> list[Arm]:
    """Without those that need probabilities, where the model returns none."""
    needing = [arm for arm in arms if arm.needs_probabilities]
    if needing:
        try:
            await record(needing[0], task, keeper.player(), sizes, seed=seed)
        except ConfigError as error:
            print(f"left out: {', '.join(arm.name for arm in needing)}: {error.what}", file=sys.stderr)
            return [arm for arm in arms if not arm.needs_probabilities]
    return list(arms)


def compared(options: argparse.Namespace) -> int:
    """Compares, and prints, writes and draws what was found."""
    from width_comparing import compare  # the measuring needs scipy, which where a model records may be missing

    if options.what == "published":
        from width_published import WholeProgram, published

        tasks, recording = published(options.data)
        tasks = spread(tasks, options.limit)
        arms, sizes = arms_named(VOTES), Sizes(len(recording) // len(recording.tasks), asking=WholeProgram())
    else:
        tasks, recording = tasks_of(options), read_recording(options.file)
        arms, sizes = arms_named(options.arms), Sizes(options.samples, options.max_tokens)
    found = asyncio.run(compare(recording, tasks, arms, sizes, seed=options.seed))
    print(found.report())
    if options.json:
        options.json.write_text("".join(f"{json.dumps(line)}\n" for line in found.lines()))
    if options.plot:
        found.draw(options.plot)
    return 0


def arguments() -> argparse.Namespace:
    """Of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("record", "compare", "published"))
    parser.add_argument("file", type=Path, nargs="?", help="the recording; `published` needs none")
    parser.add_argument("--model", default="local", help="as for groundwire --model; it must go on with begun answers")
    parser.add_argument(
        "--tasks", choices=("own", "humaneval", "both"), default="own", help="20 easy functions; HumanEval"
    )
    parser.add_argument("--data", type=Path, default=DATA, help="the folder that holds HumanEval's")
    parser.add_argument("--limit", type=int, default=None, help="only N tasks, spread over the set")
    parser.add_argument("--samples", type=int, default=9)
    parser.add_argument("--max-tokens", type=int, default=128, help="of each text")
    parser.add_argument("--arms", default="", help="with commas; default: all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--at-once", type=int, default=2, help="tasks at a time")
    parser.add_argument("--seconds", type=float, default=1e9, help="begins nothing new after that; go on later")
    parser.add_argument("--context", type=int, default=8192, help="of a vLLM engine, in tokens")
    parser.add_argument("--eager", action="store_true", help="a vLLM engine without compilation")
    parser.add_argument("--json", type=Path, default=None, help="writes an outcome a line there")
    parser.add_argument("--plot", type=Path, default=None, help="draws the figure there (.svg, .png)")
    return parser.parse_args()


def main() -> int:
    """Records or compares."""
    options = arguments()
    if options.file is None and options.what != "published":
        print("Name the recording's file.", file=sys.stderr)
        return 2
    try:
        return asyncio.run(recorded(options)) if options.what == "record" else compared(options)
    except GroundwireError as error:
        print(error, file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
