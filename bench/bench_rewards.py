"""What a reward costs: programs a second and core, by CPU time, beside a bare fork in the same run.

    .venv/bin/python bench/bench_rewards.py [--tasks 16] [--each 12] [--rounds 3] [--json]

Functions with three visible asserts and a hidden check, as MBPP has them; every task has programs of its own. `wrong`
fails a visible assert; `right` passes them, then the hidden check, and once more with that check in another box.
`mixed` has the shares that a small model's samples have: a tenth right. `bare fork`: the same asserts by `exec` in a
fork of this process, with no isolation, no limit and no report. CPU seconds are those of everything, namespaces and our
own side included, counted by a control group; servers have started before. Goal: 40 a second and core, in full
isolation.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import time
from collections.abc import Callable, Sequence

from bench_sandbox import cpu_counter

from groundwire.logs._functions import function_task
from groundwire.training.rewards._judging import PolicySample, RewardJudge, RewardRules

HEAD = 'def f(n: int) -> int:\n    """The number behind n.\n\n    >>> f(1)\n    2\n    """\n'
RIGHT = "```python\ndef f(n):\n    return n + 1  # {}\n```"
WRONG = "```python\ndef f(n):\n    return n - {}\n```"
RIGHT_EACH = {"wrong": 0, "right": 1, "mixed": 10}
"""Of how many programs one is right; 0: none."""


def samples_of(kind: str, tasks: int, each: int, first: int) -> list[PolicySample]:
    """Programs of a kind, none of which came before."""
    every = RIGHT_EACH[kind]
    made: list[PolicySample] = []
    for number in range(tasks * each):
        form = RIGHT if every and number % every == 0 else WRONG
        made.append(PolicySample(f"t{number % tasks}", form.format(first + number + 1)))
    return made


def by_fork(programs: Sequence[str], asserts: str) -> int:
    """How many pass in a bare fork each."""
    passed = 0
    for program in programs:
        pid = os.fork()
        if pid == 0:
            try:
                space: dict[str, object] = {}
                exec(program, space)
                exec(asserts, space)
            except BaseException:
                os._exit(1)
            os._exit(0)
        passed += os.waitpid(pid, 0)[1] == 0
    return passed


async def measured(tasks: int, each: int, rounds: int) -> dict[str, dict[str, float]]:
    """Medians over rounds, by kind of program."""
    visible = [f"assert f({n}) == {n + 1}" for n in (1, 5, 9)]
    hidden = "def check(f):\n    for n in range(20):\n        assert f(n) == n + 1\n"
    known = {
        f"t{n}": function_task(f"t{n}", f"{HEAD}# {n}\n", "f", visible=visible, hidden=hidden) for n in range(tasks)
    }
    asserts = "\n".join([*visible, hidden, "check(f)"])
    taken: dict[str, list[tuple[float, float, int]]] = {}
    first = 0
    with cpu_counter() as cpu:
        judge = RewardJudge(known, rules=RewardRules())
        await judge.score(samples_of("right", tasks, 4, 10**6))

        async def timed(name: str, work: Callable[[], int]) -> None:
            began, spent = time.monotonic(), cpu()
            count = work()
            taken.setdefault(name, []).append((time.monotonic() - began, cpu() - spent, count))

        for _ in range(rounds):
            for kind in RIGHT_EACH:
                made = samples_of(kind, tasks, each, first)
                first += len(made)
                began, spent = time.monotonic(), cpu()
                scored = await judge.score(made)
                taken.setdefault(kind, []).append((time.monotonic() - began, cpu() - spent, len(made)))
                assert sum(one.reward or 0 for one in scored) == sum("+ 1" in (one.text or "") for one in made)
            codes = [(one.text or "").split("```")[1].removeprefix("python\n") for one in made]
            await timed("bare fork", lambda codes=codes: by_fork(codes, asserts) and len(codes))
        await judge.aclose()
    found: dict[str, dict[str, float]] = {}
    for name, rows in taken.items():
        cpu_s = statistics.median(spent / count for _, spent, count in rows)
        found[name] = {
            "cpu_ms": 1000 * cpu_s,
            "a_second_and_core": 1 / cpu_s,
            "wall_ms": 1000 * statistics.median(wall / count for wall, _, count in rows),
        }
    for figures in found.values():
        figures["of_a_bare_fork"] = figures["cpu_ms"] / found["bare fork"]["cpu_ms"]
    return found


def main() -> None:
    """Prints what was measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=16)
    parser.add_argument("--each", type=int, default=12)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    found = asyncio.run(measured(arguments.tasks, arguments.each, arguments.rounds))
    if arguments.json:
        print(json.dumps(found))
        return
    for name, figures in found.items():
        print(
            f"{name:10} CPU {figures['cpu_ms']:6.1f} ms   {figures['a_second_and_core']:6.1f} a second and core   "
            f"{figures['of_a_bare_fork']:5.1f} bare forks   wall {figures['wall_ms']:6.1f} ms"
        )


if __name__ == "__main__":
    main()
