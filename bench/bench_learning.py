"""Learning in worlds, with memory against without, on the same seeds: figures and plots of every world that we have.

    bench/bench_learning.py --out FOLDER [--world NAME …] [--seeds N] [--first-seed N] [--trials N] [--model NAME]
                            [--plots]

Each world has a fresh ledger in FOLDER. What has ended there is not played again, and what was cut off goes on, so the
same command may be given until it is through. A JSON line a world is in FOLDER/results.jsonl; the table is printed.
NAME may say how that world is played: FrozenLake-v1,seeds=200,trials=10,model=bandit
Learners that forget everything (random, heuristic) have one arm, as both would be the same to the letter.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from groundwire.tools import BUILT_IN

PROGRAM = Path(sys.executable).with_name("groundwire")
SEEDS, FIRST_SEED, TRIALS, MODEL = 60, 0, 5, "tabular"
FORGETFUL = ("random", "heuristic")
TEXT_WORLDS = ("textworld:easy", "textworld:medium", "textworld:hard")
GYMNASIUM = ("FrozenLake-v1", "Taxi-v4", "CliffWalking-v1")


@dataclass(frozen=True)
class Plan:
    """How one world is played."""

    world: str
    seeds: int
    trials: int
    model: str
    first_seed: int

    @classmethod
    def parse(cls, text: str, usual: argparse.Namespace) -> Plan:
        """`NAME` or `NAME,seeds=200,…`; a name may hold commas of its own."""
        options = dict(re.findall(r",(seeds|trials|model)=([^,]+)", text))
        name = re.sub(r",(?:seeds|trials|model)=[^,]+", "", text)
        plan = cls(name, usual.seeds, usual.trials, options.get("model", usual.model), usual.first_seed)
        return replace(plan, **{key: int(value) for key, value in options.items() if key != "model"})

    @property
    def file(self) -> str:
        """A name for its files."""
        return re.sub(r"[^\w.-]+", "_", f"{self.world}-{self.model}-{self.seeds}x{self.trials}-from-{self.first_seed}")


def lines_of(plan: Plan, folder: Path, *, plots: bool) -> Iterator[Mapping[str, Any]]:
    """Plays, or goes on; yields what the command tells."""
    begun = folder / f"{plan.file}.run"
    common = ["--db", f"sqlite:///{folder / plan.file}.db", "--json"]
    if plots:
        common += ["--plot", str(folder / f"{plan.file}.png"), "--plot", str(folder / f"{plan.file}.svg")]
    if begun.exists():
        asked = ["--resume", begun.read_text(), *common]
    else:
        size = ["--episodes", str(plan.seeds), "--seed", str(plan.first_seed), "--trials", str(plan.trials)]
        control = ["--no-control"] if plan.model in FORGETFUL else []
        asked = [plan.world, *size, "--model", plan.model, *control, *common]
    with subprocess.Popen([PROGRAM, "learn", *asked], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            told = json.loads(line)
            if told["type"] == "run" and "control_of" not in told:
                begun.write_text(told["run_id"])
            yield told


def measured(plan: Plan, folder: Path, *, plots: bool) -> Mapping[str, Any] | None:
    """One world's figures; None where the command could not come to its end."""
    summary, seconds, trials = None, 0.0, 0
    for told in lines_of(plan, folder, plots=plots):
        if told["type"] == "episode":
            seconds, trials = seconds + told["seconds"], trials + told["trials"]
        elif told["type"] == "summary":
            summary = told
    if summary is None:
        return None
    told = {name: _figures(one) for name, one in summary["learning"].items()}
    return {
        "world": plan.world,
        "seeds": plan.seeds,
        "trials": plan.trials,
        "model": plan.model,
        "first_seed": plan.first_seed,
        "python": platform.python_version(),
        "load": round(os.getloadavg()[0], 1),
        "arms": told,
        "memory": summary["memory"],
        "exit_code": summary["exit_code"],
        "no_verdict": [arm["no_verdict"] for arm in summary["arms"]],
        "trials_played": trials,
        "episode_seconds": round(seconds, 1),
    }


def _figures(learning: Mapping[str, Any]) -> Mapping[str, Any]:
    share = [round(rate["part"] / rate["whole"], 4) for rate in learning["by_trial"]]
    return {"won_by_trial": share, "stretches": learning["stretches"], "to_success": learning["to_success"]}


def row(told: Mapping[str, Any]) -> str:
    """A line of the table."""
    arms = told["arms"]
    by = {one["what"].split(" within")[0]: one for one in told["memory"]}
    cells = [told["world"], told["model"], f"{told['seeds']} × {told['trials']}"]
    cells += [_by_trial(arms[name]) if name in arms else "the same" for name in ("without_memory", "with_memory")]
    cells += [_difference(by.get(what), unit) for what, unit in (("won", 100), ("first trials won", 100))]
    stretches = arms["with_memory"]["stretches"]
    cells.append(" → ".join(f"{one['mean']:.1f} [{one['low']:.1f}, {one['high']:.1f}]" for one in _ends(stretches)))
    return f"| {' | '.join(cells)} |"


def _by_trial(arm: Mapping[str, Any]) -> str:
    return " ".join(f"{100 * share:.0f}" for share in arm["won_by_trial"])


def _difference(one: Mapping[str, Any] | None, unit: int) -> str:
    if one is None or one["difference"] is None:
        return ""
    low, high = (f"{unit * one[end]:+.0f}" for end in ("low", "high"))
    return f"{unit * one['difference']:+.0f} [{low}, {high}], p = {one['p']:.1g}: {one['answer']}"


def _ends(stretches: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    return (stretches[0], stretches[-1]) if len(stretches) > 1 else stretches


HEAD = (
    "| world | learner | seeds × trials | % won by trial, without | with memory | difference at the end |"
    " difference in the first trial | trials to success with memory, first → last stretch |"
    "\n|---|---|---|---|---|---|---|---|"
)


def known(file: Path) -> dict[str, Mapping[str, Any]]:
    """What earlier calls have measured, by its plan's file name."""
    rows: Sequence[Any] = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    return {Plan(one["world"], one["seeds"], one["trials"], one["model"], one["first_seed"]).file: one for one in rows}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--world", action="append", help="only these; default: all")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--first-seed", type=int, default=FIRST_SEED)
    parser.add_argument("--trials", type=int, default=TRIALS)
    parser.add_argument("--model", default=MODEL)
    parser.add_argument("--plots", action="store_true")
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    file = asked.out / "results.jsonl"
    every = [*GYMNASIUM, *TEXT_WORLDS, *(name.replace("_", "-") for name in BUILT_IN)]
    print(HEAD, flush=True)
    for text in asked.world or every:
        plan = Plan.parse(text, asked)
        told = known(file).get(plan.file) or measured(plan, asked.out, plots=asked.plots)
        if told is None:
            print(f"{plan.world}: it did not come to its end; see above", file=sys.stderr)
            continue
        if plan.file not in known(file):
            with file.open("a") as out:
                out.write(f"{json.dumps(told)}\n")
        print(row(told), flush=True)


if __name__ == "__main__":
    main()
