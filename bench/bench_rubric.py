# pyright: basic, reportMissingImports=false
"""Deep Agents' rubric, which a model grades, and the gate's sealed verdict, on the same programs.

    python -m venv ENV
    ENV/bin/pip install "deepagents>=0.7,<1" langchain-openai -e packages/groundwire-audit -e ".[local,eval]"
    ENV/bin/groundwire model install
    ENV/bin/python bench/bench_rubric.py [--tasks 20] [--json rows.jsonl [--most 6]]

The tasks are those of HumanEvalFix whose buggy function passes the visible tests: for each a wrong program that looks
right, and the right one. An agent whose answer is written beforehand hands each in; Deep Agents' own `RubricMiddleware`
has the local model grade it once, with its own prompt and its answer held to its own schema. The gate judges the same
program by visible and hidden tests, in a sandbox. What is right is the data set's word, so the gate's hidden tests and
the truth are one: its count says that nothing was lost on the way, and the rubric's says what a grader of this size is
worth. `--tests` has the sealed outcome of the visible tests in what the grader reads, as an agent would that ran them.
Data: `../shared/data/humanevalpack` beside the repository, or --data.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import sys
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass
from pathlib import Path

from groundwire import Budget, Candidate, Task
from groundwire.agents import RuleCritic
from groundwire.benchmarks import HumanEvalFix
from groundwire.core import ActorContext, Limits, Tree
from groundwire.evaluation import Rate
from groundwire.graphs import code_repair
from groundwire.models.local_model import SMOLLM2, ServerOptions, find_model, server_for
from groundwire.sandbox import open_sandbox
from groundwire.tools import HiddenTests, Pytest

DATA = Path(__file__).parents[2] / "shared" / "data" / "humanevalpack" / "humanevalpack_python.jsonl"
RUBRIC = (
    "1. The answer defines the function that the user asks for.\n"
    "2. The function returns what the description says for every input that the description allows."
)
MOST_TOKENS = 300


@dataclass(frozen=True)
class Program:
    """One program, and whether it is right."""

    task: Task
    asked: str
    text: str
    is_right: bool


@dataclass(frozen=True)
class Row:
    """What was said of one program."""

    task: str
    is_right: bool
    gate: str
    rubric: str
    told: str


class HandsIn:
    """Proposes one program."""

    def __init__(self, text: str) -> None:
        self._text = text

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        """See `groundwire.core.Actor`."""
        return [Candidate(context.task.tree.digest, {"solution.py": self._text.encode()})]


LOOKED_AT = """
import contextlib, io, json, signal
def late(*_):
    raise TimeoutError
signal.signal(signal.SIGALRM, late)
passed = []
for row in json.load(open("rows.json")):
    signal.alarm(3)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(row["text"] + row["check"], {"__name__": "looked_at"})
        passed.append(row["id"])
    except BaseException:
        pass
    signal.alarm(0)
print(json.dumps(passed))
"""


async def programs(rows: Mapping[str, dict], known: Mapping[str, Task], tasks: int) -> Sequence[Program]:
    """Both programs of tasks whose wrong one passes the visible tests: those with the shortest texts first."""
    asked = [
        {"id": name, "text": row["declaration"] + row["buggy_solution"] + "\n", "check": row["example_test"]}
        for name, row in rows.items()
    ]
    tree = Tree({"look.py": LOOKED_AT.encode(), "rows.json": json.dumps(asked).encode()})
    async with aclosing(await open_sandbox()) as sandbox:
        done = await sandbox.run(("python", "look.py"), tree, Limits(wall_s=300, cpu_s=300))
    passed = [
        name for name in json.loads(done.stdout) if b"def test_" in known[name].tree.files["tests/test_visible.py"]
    ]
    found: list[Program] = []
    for name in sorted(passed, key=lambda one: len(rows[one]["prompt"] + rows[one]["buggy_solution"]))[:tasks]:
        row, task = rows[name], known[name]
        body = row["declaration"] + row["buggy_solution"] + "\n"
        found.append(Program(task, row["prompt"], body, is_right=False))
        found.append(Program(task, row["prompt"], row["declaration"] + row["canonical_solution"] + "\n", is_right=True))
    return found


async def by_gate(program: Program) -> tuple[str, str]:
    """The sealed verdict, and what the visible tests said."""
    graph = code_repair(HandsIn(program.text), RuleCritic(), Pytest(), HiddenTests(), baseline=False)
    result = await graph.compile(budget=Budget(trials=1)).arun(program.task)
    visible = result.best.signal.verdict.value if result.best else "none"
    return result.verdict.value, visible


class Grader:
    """Deep Agents' rubric with the local model."""

    def __init__(self, url: str, key: str, model: str) -> None:
        from langchain_openai import ChatOpenAI

        self._model = ChatOpenAI(
            model=model,
            base_url=f"{url}/v1",
            api_key=key,
            temperature=0,
            max_tokens=MOST_TOKENS,
            max_retries=0,
            timeout=3600,
            profile={"structured_output": True},
            extra_body={"repeat_penalty": 1.2},  # without it a model of this size says one sentence until its end
        )

    async def of(self, program: Program, said: str) -> tuple[str, str]:
        """What the rubric says, and its explanation."""
        from deepagents.middleware.rubric import RubricMiddleware
        from langchain.agents import create_agent
        from langchain_core.language_models.fake_chat_models import FakeListChatModel

        told: list[dict] = []
        rubric = RubricMiddleware(model=self._model, max_iterations=1, on_evaluation=lambda one: told.append(dict(one)))
        answer = f"```python\n{program.text.strip()}\n```\n{said}".strip()
        agent = create_agent(FakeListChatModel(responses=[answer]), middleware=[rubric])
        asked = {"role": "user", "content": f"Write this function.\n{program.asked.strip()}"}
        await agent.ainvoke({"messages": [asked], "rubric": RUBRIC})
        (one,) = told
        return one["result"], one["explanation"][:200]


async def main(arguments: argparse.Namespace) -> None:
    kept = arguments.json if arguments.json and arguments.json.exists() else None
    rows = [Row(**json.loads(line)) for line in kept.read_text().splitlines()] if kept else []
    known = {item.task.id: item.task for item in HumanEvalFix(Limits(wall_s=300)).items(arguments.data)}
    given = {row["task_id"]: row for row in map(json.loads, arguments.data.read_text().splitlines())}
    found = await programs(given, known, arguments.tasks)
    path = Path(arguments.model) if arguments.model else find_model()
    if path is None:
        sys.exit(SMOLLM2.install)
    server = server_for(path, path.stem, ServerOptions(slots=1, context_tokens=4096, threads=1))
    grader = Grader(server.url, server.key, path.stem)
    out = arguments.json.open("a") if arguments.json else None
    done = {(row.task, row.is_right) for row in rows}
    for program in [one for one in found if (one.task.id, one.is_right) not in done][: arguments.most]:
        gate, visible = await by_gate(program)
        said = f"I ran the visible tests: {visible}." if arguments.tests else ""
        rubric, told = await grader.of(program, said)
        rows.append(Row(program.task.id, program.is_right, gate, rubric, told))
        if out:
            print(json.dumps(asdict(rows[-1])), file=out, flush=True)
    server.close()
    print(f"{path.name}, {path.stat().st_size / 1e6:.0f} MB; {len(rows)} programs")
    for name, accepts in (("rubric", "satisfied"), ("gate", "pass")):
        for right in (False, True):
            those = [getattr(row, name) for row in rows if row.is_right is right]
            share = Rate(those.count(accepts), len(those))
            low, high = share.interval
            said = f"{accepts} {share.part} of {share.whole} ({low:.0%} to {high:.0%})  {dict(Counter(those))}"
            print(f"{name:<7} {'right' if right else 'wrong'}: {said}")
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    print(f"CPU seconds: {sum(one.ru_utime + one.ru_stime for one in used):.0f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--tasks", type=int, default=20)
    parser.add_argument("--most", type=int, help="programs graded now; the next call goes on from there, with --json")
    parser.add_argument("--model", default="", help="a GGUF file; default: what `groundwire model install` fetched")
    parser.add_argument("--tests", action="store_true", help="the grader reads the visible tests' outcome")
    parser.add_argument("--json", type=Path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the middleware is marked as beta
        asyncio.run(main(parser.parse_args()))
