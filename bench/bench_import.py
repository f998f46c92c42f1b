"""What importing costs, as CPU seconds of fresh processes, interleaved so that a noisy machine hits all alike.

    .venv/bin/python bench/bench_import.py [--rounds 15] [--json]

Goals: `import groundwire` under 0.3 s, `groundwire --help` under 0.6 s, `from groundwire import FeedbackGraph` at most
1.2 times langgraph's own import.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
from pathlib import Path

HELP = str(Path(sys.executable).with_name("groundwire"))
COMMANDS = {
    "python": [sys.executable, "-c", "pass"],
    "import groundwire": [sys.executable, "-c", "import groundwire"],
    "groundwire --help": [HELP, "--help"],
    "langgraph": [sys.executable, "-c", "from langgraph.graph import StateGraph"],
    "FeedbackGraph": [sys.executable, "-c", "from groundwire import FeedbackGraph"],
    "FeedbackGraph, compiled": [
        sys.executable,
        "-c",
        "from groundwire import FeedbackGraph as G\n"
        "g = G().add_actor('a', object()).add_tool('t', object()).add_edge('a', 't').refine('t', to='a').compile()",
    ],
}


def cpu_seconds(command: list[str]) -> float:
    """User and system seconds of one process."""
    # byte code is read from `__pycache__`, as after an installation
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=env)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Prints medians and ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    times: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(arguments.rounds):
        for name, command in COMMANDS.items():
            times[name].append(cpu_seconds(command))
    medians = {name: statistics.median(values) for name, values in times.items()}
    if arguments.json:
        print(json.dumps(medians))
        return
    for name, seconds in medians.items():
        print(f"{name:26} {seconds:6.3f} s CPU   {seconds / medians['langgraph']:5.2f} x langgraph")


if __name__ == "__main__":
    main()
