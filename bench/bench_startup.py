"""What starting costs, as CPU seconds of fresh processes, interleaved so that a noisy machine hits all alike.

    .venv/bin/python bench/bench_startup.py [--rounds 9] [--before CHECKOUT] [--json]

`repair` is a project of two tests, up to the line that says how its baseline went; the processes in the sandbox are not
counted. Byte code is read from `__pycache__`, as after an installation, also where PYTHONDONTWRITEBYTECODE is set: with
that, our modules and no others would be compiled each time. `--before` names another checkout, whose `src` is measured
in the same rounds. Goals: `import groundwire` at most 0.3 s, a wrong argument 0.4 s, `repair` 1.2 times
`import langgraph.graph`.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PROBE = HERE / "startup_probe.py"
PROJECT = {
    "pyproject.toml": '[tool.pytest.ini_options]\npythonpath = ["."]\n',
    "price.py": (
        "def total(prices):\n    result = 0\n    for price in prices:\n        result -= price\n    return result\n"
    ),
    "test_price.py": (
        "from price import total\n\n\ndef test_none():\n    assert total([]) == 0\n\n\n"
        "def test_some():\n    assert total([1, 2]) == 3\n"
    ),
}
IMPORT = (
    "import json, resource, sys\nimport {module}\nused = resource.getrusage(resource.RUSAGE_SELF)\n"
    "print(json.dumps({{'cpu_s': used.ru_utime + used.ru_stime, 'modules': sorted(sys.modules)}}))"
)
REFERENCE = "import langgraph.graph"
COMMANDS = {
    "groundwire --version": ("--version",),
    "groundwire --help": ("--help",),
    "groundwire repair --help": ("repair", "--help"),
    "repair, wrong path": ("repair", "no/such/folder"),
    "repair, unknown sandbox": ("repair", ".", "--sandbox", "magic"),
    "run, unknown graph": ("run", "no_such_graph", "."),
    "bench, unknown benchmark": ("bench", "no_such", "--data", "."),
    "show": ("show",),
    "repair to its baseline": ("repair", "."),
}


@dataclass
class Measured:
    """One row: seconds of each round, and modules, ours and all."""

    seconds: list[float] = field(default_factory=list[float])
    ours: int = 0
    modules: int = 0

    def add(self, found: dict[str, Any]) -> None:
        """Another round."""
        self.seconds.append(found["cpu_s"])
        self.ours = sum(name.startswith("groundwire.") for name in found["modules"])
        self.modules = len(found["modules"])


def once(name: str, source: Path, folder: Path) -> dict[str, Any]:
    """One process."""
    env = {**os.environ, "PYTHONPATH": str(source), "XDG_DATA_HOME": str(folder / "data")}
    env["XDG_STATE_HOME"] = str(folder / "state")
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    if name.startswith("import "):
        command = [sys.executable, "-c", IMPORT.format(module=name.removeprefix("import "))]
        return json.loads(subprocess.run(command, env=env, capture_output=True, check=True, cwd=folder).stdout)
    out = folder / "probe.json"
    command = [sys.executable, str(PROBE), str(out), *COMMANDS[name]]
    subprocess.run(command, env=env, capture_output=True, check=False, cwd=folder / "project", stdin=subprocess.DEVNULL)
    return json.loads(out.read_text(encoding="utf-8"))


def measure(sources: dict[str, Path], rounds: int) -> dict[str, dict[str, Measured]]:
    """All rows of each source, one process at a time; a first round, which writes byte code and databases, is left
    out."""
    rows = {label: {name: Measured() for name in (REFERENCE, "import groundwire", *COMMANDS)} for label in sources}
    with tempfile.TemporaryDirectory() as made:
        for label in sources:
            project = Path(made) / label / "project"
            project.mkdir(parents=True)
            for name, text in PROJECT.items():
                (project / name).write_text(text, encoding="utf-8")
        for turn in range(rounds + 1):
            for name in (REFERENCE, "import groundwire", *COMMANDS):
                for label, source in sources.items():
                    found = once(name, source, Path(made) / label)
                    if turn:
                        rows[label][name].add(found)
    return rows


def main() -> None:
    """Prints medians, ratios and counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--before", type=Path)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    sources = {"now": HERE.parent / "src"}
    if arguments.before:
        sources = {"before": arguments.before.resolve() / "src", **sources}
    rows = measure(sources, arguments.rounds)
    unit = statistics.median(second for each in rows.values() for second in each[REFERENCE].seconds)
    if arguments.json:
        print(json.dumps({label: {name: vars(row) for name, row in each.items()} for label, each in rows.items()}))
        return
    for label, each in rows.items():
        print(f"{label:<28}{'CPU s':>8}{'x langgraph':>13}{'our modules':>13}{'all':>7}")
        for name, row in each.items():
            seconds = statistics.median(row.seconds)
            print(f"  {name:<26}{seconds:8.3f}{seconds / unit:13.2f}{row.ours:13}{row.modules:7}")


if __name__ == "__main__":
    main()
