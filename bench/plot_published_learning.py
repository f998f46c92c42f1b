"""Solved after each trial in Reflexion's logs (arXiv 2303.11366), with and without reflections, out of our ledger.

    .venv/bin/python bench/plot_published_learning.py [--data FOLDER] [--out FILE.svg] [--json]

The logs are imported as `groundwire import` does it, into a database that is thrown away; the curves are read back
from there, with 95 % Wilson intervals. Data: `../shared/data` beside the repository.
"""

# pyright: reportUnknownMemberType=false
# matplotlib's stubs leave the file of savefig open

from __future__ import annotations

import argparse
import asyncio
import io
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from groundwire.core import MemoryKeys, Verdict, new_id
from groundwire.evaluation import Rate, read_run
from groundwire.logs import LoggedRun, runs_in, write_run
from groundwire.memory import SqlStore

DATA = Path(__file__).parents[2] / "shared" / "data"
SHOWN: Mapping[str, tuple[str, str]] = {
    "ALFWorld": ("reflexion_alfworld/reflexion", "reflexion_alfworld/base"),
    "HotpotQA (ReAct)": ("reflexion_hotpotqa/react_reflexion", "reflexion_hotpotqa/react_base"),
    "WebShop": ("reflexion_webshop/reflexion_1", "reflexion_webshop/base_2"),
}
COLOURS = ("#0b6e4f", "#888888")
matplotlib.rcParams.update({"svg.hashsalt": "groundwire", "font.size": 9})


async def curve(store: SqlStore, logged: LoggedRun) -> Sequence[Rate]:
    """The share that is solved after trial 1, 2, …"""
    run_id = new_id()
    written = await write_run(store, logged, key=MemoryKeys().create(run_id), run_id=run_id)
    rows = list((await read_run(store, written.run)).trials.rows())
    won = [row.trial for row in rows if row.visible is Verdict.PASS]
    trials = max(row.trial for row in rows)
    return [Rate(sum(at <= last for at in won), written.episodes) for last in range(1, trials + 1)]


async def curves(data: Path) -> Mapping[str, Mapping[str, Sequence[Rate]]]:
    """For each environment the curves with and without reflections."""
    found: dict[str, dict[str, Sequence[Rate]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        store = SqlStore(f"sqlite:///{folder}/ledger.db")
        for title, names in SHOWN.items():
            runs = {run.name: run for run in runs_in(data / names[0].partition("/")[0])}
            labels = ("with reflections", "without")
            found[title] = {label: await curve(store, runs[name]) for label, name in zip(labels, names, strict=True)}
        await store.aclose()
    return found


def draw(found: Mapping[str, Mapping[str, Sequence[Rate]]], out: Path) -> None:
    """One panel an environment."""
    figure = Figure(figsize=(9, 2.8), layout="constrained")
    panels = figure.subplots(1, len(found), sharey=True)
    for axes, (title, arms) in zip(panels, found.items(), strict=True):
        for colour, (label, rates) in zip(COLOURS, arms.items(), strict=True):
            trials = range(1, len(rates) + 1)
            reach = [rate.interval for rate in rates]
            solved = [rate.value or 0.0 for rate in rates]
            axes.plot(trials, solved, color=colour, marker="o", markersize=3, label=label)
            axes.fill_between(
                trials, [low for low, _ in reach], [high for _, high in reach], color=colour, alpha=0.15, linewidth=0
            )
        axes.set(title=title, xlabel="trials", ylim=(0, 1))
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("solved")
    panels[0].legend(frameon=False, loc="lower right")
    drawn = io.StringIO()
    figure.savefig(drawn, format="svg", metadata={"Date": None, "Creator": None})
    out.write_text(drawn.getvalue())


def main() -> int:
    """Draws and prints."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--out", type=Path, default=Path("docs/images/published-learning.svg"))
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if not options.data.is_dir():
        print(f"{options.data} is not there: the published logs are needed.", file=sys.stderr)
        return 2
    found = asyncio.run(curves(options.data))
    draw(found, options.out)
    counts = {
        title: {arm: [rate.part for rate in rates] for arm, rates in arms.items()} for title, arms in found.items()
    }
    print(json.dumps(counts) if options.json else "\n".join(f"{t}: {c}" for t, c in counts.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
