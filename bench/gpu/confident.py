"""DeepConf's online vote against a plain majority vote, on problems with a comparable answer: tokens, and agreement.

    python bench/gpu/confident.py vllm:MODEL_FOLDER [--items 50] [--samples 64] [--window 16] [--eager]

The graph is `confident_vote` in both; the engine ends a trace as soon as its confidence falls, and sampling ends when
the winner has 95 % of the vote. Yardsticks for the agreement: the plain vote over again with other seeds, since votes
on hard items go either way; and the items on which the plain vote is no near thing.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from findings import tell
from sums import KINDS, AnswerKey, Kind, ShownExamples, problems, said_by

from groundwire import Budget
from groundwire.agents import ConfidentVote, Mode, plain_answer
from groundwire.core import Backend, Candidate, CandidateRecord, Completion, ModelCall, Task, Verdict, wilson
from groundwire.graphs import Rules, confident_vote
from groundwire.memory import InMemoryStore
from groundwire.models import VllmBackend, VllmServerBackend, backend_for

OTHER_SEEDS = 1_000_000
CLEAR = 0.6
"""A plain vote whose winner has as much is no near thing."""


@dataclass(frozen=True)
class Voted:
    """One item.

    Args:
        answer: in normal form; empty where no trace gave one.
        right: it is the item's.
        tokens: prompt and completion tokens.
        written: completion tokens.
        waited: of these, those that waited for one another (B_seq).
        traces: that were begun.
        killed: of these, ended by their confidence.
        share: of the winner among the answers; of a plain vote.
    """

    answer: str
    right: bool
    tokens: int
    written: int
    waited: int
    traces: int
    killed: int
    share: float


Items = Sequence[tuple[Task, str]]


async def vote(
    asked: argparse.Namespace, backend: Backend, items: Items, mode: Mode, keep: float, seed: int
) -> list[Voted]:
    """All items in one mode."""
    actor = ConfidentVote(
        backend,
        ShownExamples(),
        samples=asked.samples,
        mode=mode,
        keep=keep,
        window=asked.window,
        warm_up=asked.warm_up,
        at_once=asked.warm_up,
        temperature=asked.temperature,
        max_tokens=asked.tokens,
    )
    store = InMemoryStore()
    graph = confident_vote(actor, AnswerKey({task.id: answer for task, answer in items}))
    app = graph.compile(store=store, budget=Budget(trials=1), rules=Rules(rejudge_fails=0, rejudge_passes=0))
    gate = asyncio.Semaphore(asked.at_once)

    async def one(task: Task) -> Voted:
        async with gate:
            result = await app.arun(task, seed=seed)
        if result.error is not None:
            raise result.error
        records = await store.records(result.episode_id)
        calls = [
            Completion.model_validate_json(r.completion) for r in records if isinstance(r, ModelCall) and r.completion
        ]
        made = [r.artifact for r in records if isinstance(r, CandidateRecord) and r.trial > 0]
        answer = plain_answer(said_by([Candidate.from_bytes(await store.artifact(one)) for one in made[:1]]))
        return Voted(
            answer,
            result.verdict is Verdict.PASS,
            result.tokens,
            result.completion_tokens,
            result.critical_tokens,
            len(calls),
            sum("killed" in call.finish_reasons for call in calls),
            share_of(answer, calls),
        )

    return list(await asyncio.gather(*(one(task) for task, _ in items)))


def share_of(answer: str, calls: list[Completion]) -> float:
    """Of the traces that gave an answer, those that gave this one."""
    reader = ShownExamples()
    said = [plain_answer(own) for call in calls for text in call.texts if (own := reader.said(text))]
    return said.count(answer) / len(said) if said else 0.0


def agreement(mine: list[Voted], plain: list[Voted]) -> dict[str, Any]:
    """How many answers are those of the plain vote: of all items, and of those on which it is no near thing."""
    pairs = list(zip(mine, plain, strict=True))
    clear = [(m, p) for m, p in pairs if p.share >= CLEAR]
    same = [sum(m.answer == p.answer for m, p in some) for some in (pairs, clear)]
    low, high = wilson(same[0], len(pairs))
    return {
        "same_answer": f"{same[0]}/{len(pairs)}",
        "same_answer_95": [round(low, 3), round(high, 3)],
        "same_answer_where_clear": f"{same[1]}/{len(clear)}",
    }


def figures(voted: list[Voted], plain: list[Voted]) -> dict[str, Any]:
    """One mode beside the plain vote."""
    sums = {
        name: sum(getattr(v, name) for v in voted)
        for name in ("right", "tokens", "written", "waited", "traces", "killed")
    }
    base = {name: sum(getattr(v, name) for v in plain) for name in ("tokens", "written")}
    ratios = {f"{name}_of_plain": round(sums[name] / base[name], 3) for name in base}
    return {**sums, **ratios, **agreement(voted, plain)}


async def run(asked: argparse.Namespace) -> None:
    """All kinds of problems on one engine."""
    options: dict[str, Any] = {"max_model_len": asked.context, "max_num_seqs": asked.slots}
    options |= {"enforce_eager": True} if asked.eager else {}
    scheme, _, folder = asked.model.partition(":")
    kinds = {"vllm": VllmBackend, "vllm-server": VllmServerBackend}
    backend: Any = kinds[scheme](folder, **options) if scheme in kinds else backend_for(asked.model)
    about = {name: getattr(asked, name) for name in ("model", "items", "samples", "warm_up", "window", "temperature")}
    try:
        for kind in asked.problems:
            tell("confident", about | {"problems": kind} | await modes(asked, backend, kind))
    finally:
        await backend.aclose()


async def modes(asked: argparse.Namespace, backend: Backend, kind: Kind) -> dict[str, Any]:
    """All modes, the plain one first."""
    found: dict[str, Any] = {}
    items = problems(asked.items, asked.seed, kind)
    wanted: list[tuple[str, Mode, float, int]] = [
        ("plain", "majority", 90, 0),
        *((f"online_keep_{keep}", "online", keep, 0) for keep in asked.keep),
        ("plain_again", "majority", 90, OTHER_SEEDS),
        ("offline_keep_90", "offline", 90, 0),
    ]
    plain: list[Voted] = []
    for name, mode, keep, seed in wanted:
        started = time.perf_counter()
        voted = await vote(asked, backend, items, mode, keep, seed)
        plain = plain or voted
        found[name] = figures(voted, plain) | {"wall_s": round(time.perf_counter() - started, 1)}
        print(json.dumps({"bench": "confident", "problems": kind, "mode": name, **found[name]}), flush=True)
    return found


def main() -> None:
    """As the module says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    for name, default in (
        ("items", 50), ("samples", 64), ("warm-up", 16), ("window", 16), ("tokens", 96), ("seed", 0), ("at-once", 50),
        ("context", 1024), ("slots", 256),
    ):  # fmt: skip
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--problems", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--keep", type=int, nargs="+", default=[90, 50, 10], help="percent of traces that vote, online")
    parser.add_argument("--temperature", type=float, default=0.6)
    parser.add_argument("--eager", action="store_true", help="no compilation: for machines without a GPU")
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
