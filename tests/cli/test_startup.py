"""What a command loads: nothing heavy to refuse an argument, and only what it uses to come to a baseline."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cli import BUGGY, lay_out

PROBE = Path(__file__).parents[2] / "bench" / "startup_probe.py"
HEAVY = {"langgraph", "langchain_core", "langsmith", "sqlalchemy", "alembic", "litellm", "libcst", "numpy"}
MODULES = 185
"""The most of ours that `repair` may load before its baseline is judged; 298 when everything was loaded."""


def start(folder: Path, *arguments: str) -> tuple[dict[str, Any], str]:
    """What the program had loaded when it ended or said baseline, and what it printed."""
    out = folder / "probe.json"
    command = [sys.executable, str(PROBE), str(out), *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)
    return json.loads(out.read_text()), done.stdout + done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("repair", "nowhere"), "nowhere is not a folder"),
        (("repair", ".", "--sandbox", "magic"), "no sandbox 'magic'"),
        (("repair", ".", "--db", "mysql://host/base"), "can't keep its memory in 'mysql'"),
        (("repair", ".", "--model", "magic:thing"), "model form 'magic:'"),
        (("repair", ".", "--reuse", "some"), "setting reuse is wrong"),
        (("repair", ".", "--max-trials", "0"), "Invalid value for '--max-trials'"),
        (("run", "no_such_graph", "."), "no graph 'no_such_graph'"),
        (("run", "nothing.py:graph", "."), "no file nothing.py"),
        (("run", "code_repair", "nowhere"), "nowhere is not a folder"),
        (("run", "code_repair", ".", "--sandbox", "magic"), "no sandbox 'magic'"),
        (("run", "code_repair", ".", "--shard", "3/2"), "'3/2' is not a shard"),
        (("run", "code_repair", ".", "--select", "worst"), "--select worst"),
        (("bench", "no_such", "--data", "."), "no benchmark 'no_such'"),
        (("bench", "mbpp", "--data", "nowhere"), "no file or folder nowhere"),
        (("learn", "no_such_world"), "no world called 'no_such_world'"),
        (("learn", "maze", "--graph", "no_such_graph"), "no graph 'no_such_graph'"),
        (("learn", "maze", "--plot", "nowhere/curve.png"), "no folder nowhere"),
        (("learn", "--resume", "0", "--db", "nonsense"), "URL can't be read"),
        (("resume", "0", "--db", "nonsense"), "URL can't be read"),
        (("replay", "0", "--db", "nonsense"), "URL can't be read"),
        (("show", "0", "--db", "nonsense"), "URL can't be read"),
        (("report", "0", "--html", "nowhere/page.html"), "no folder nowhere"),
        (("export", "0", "--format", "no_such", "--out", "rows.jsonl"), "no format 'no_such'"),
        (("export", "0", "--format", "sft", "--out", "nowhere/rows.jsonl"), "no folder nowhere"),
        (("export", "0", "--format", "sft", "--out", "rows.jsonl", "--gold", "none.jsonl"), "none.jsonl"),
        (("import", "nowhere"), "no file or folder nowhere"),
        (("graphs", "no_such_graph"), "no graph 'no_such_graph'"),
        (("demo", "--sandbox", "magic"), "no sandbox 'magic'"),
        (("doctor", "--magic"), "No such option"),
        (("audit", "nowhere"), "nowhere is neither a file"),
        (("memory", "list", "--state", "magic"), "'magic' is no state"),
        (("memory", "search", "words", "--db", "nonsense"), "URL can't be read"),
        (("memory", "show", "0", "--db", "nonsense"), "URL can't be read"),
        (("memory", "forget", "0", "--db", "nonsense"), "URL can't be read"),
        (("memory", "quarantine", "0", "--db", "nonsense"), "URL can't be read"),
        (("memory", "export", "--db", "nonsense"), "URL can't be read"),
        (("memory", "import", "nowhere.jsonl"), "no file or folder nowhere.jsonl"),
        (("memory", "stats", "--db", "nonsense"), "URL can't be read"),
        (("memory", "vacuum", "--older-than", "-1"), "Invalid value for '--older-than'"),
        (("model", "path", "magic"), "no model 'magic'"),
        (("model", "install", "magic"), "no model 'magic'"),
        (("model", "remove", "magic"), "no model 'magic'"),
    ],
    ids=str,
)
def test_a_wrong_argument_is_refused_before_anything_heavy_is_loaded(
    tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    found, said = start(tmp_path, *arguments)
    assert found["code"] == 2
    assert message in " ".join(said.split())
    assert {name.partition(".")[0] for name in found["modules"]} & HEAVY == set()
    assert not (tmp_path / "groundwire.db").exists()


@pytest.mark.parametrize("arguments", [("--help",), ("--version",), ("repair", "--help")], ids=" ".join)
def test_help_and_version_load_no_more_than_the_flags(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    found, said = start(tmp_path, *arguments)
    assert found["code"] == 0 and "groundwire" in said
    assert {name.partition(".")[0] for name in found["modules"]} & {*HEAVY, "rich"} == set()


def test_an_unknown_benchmark_is_refused_without_any_benchmark(tmp_path: Path) -> None:
    found, _ = start(tmp_path, "bench", "no_such", "--data", ".")
    made = {name for name in found["modules"] if name.startswith("groundwire.benchmarks.")}
    assert made == {"groundwire.benchmarks._base", "groundwire.benchmarks._catalogue"}


def test_show_reads_the_ledger_without_what_runs_a_graph(tmp_path: Path) -> None:
    lay_out(tmp_path, BUGGY)
    start(tmp_path, "repair", ".", "--max-trials", "1")
    found, said = start(tmp_path, "show")
    assert found["code"] == 0 and "interrupted" in said, "the probe ends a repair at its baseline"
    assert {"langgraph", "sqlalchemy.orm", "litellm"} & set(found["modules"]) == set()


def test_a_word_near_a_command_is_told_which(tmp_path: Path) -> None:
    found, said = start(tmp_path, "repairr")
    assert found["code"] == 2
    assert "No such command 'repairr'. Did you mean 'repair'" in said
    assert not any(name.startswith("groundwire.cli.commands._repair") for name in found["modules"])


def test_repair_comes_to_its_baseline_with_what_it_uses(tmp_path: Path) -> None:
    lay_out(tmp_path, {**BUGGY, "pyproject.toml": '[tool.pytest.ini_options]\npythonpath = ["."]\n'})
    start(tmp_path, "repair", ".")  # makes the database, which takes the migrations
    found, said = start(tmp_path, "repair", ".")
    assert found["code"] is None, said
    assert not any(name.startswith("groundwire_audit") for name in found["modules"])
    ours = [name for name in found["modules"] if name.startswith("groundwire.")]
    unused = (
        "groundwire.agents.worlds", "groundwire.agents.width", "groundwire.models",
        "groundwire.benchmarks", "groundwire.cli._export", "groundwire.cli._report",
        "groundwire.demo", "groundwire.evaluation", "groundwire.graphs.run._result",
        "groundwire.logs", "groundwire.memory._derived_tables", "groundwire.memory._experience",
        "groundwire.memory.migrations", "groundwire.memory._tables", "groundwire.sandbox._proxy",
        "groundwire.tools.environments",
        "groundwire.training",
    )  # fmt: skip
    assert [name for name in ours if name.startswith(unused)] == []
    commands = [name for name in ours if name.startswith("groundwire.cli.commands.")]
    assert commands == [f"groundwire.cli.commands._{name}" for name in ("app", "options", "repair")]
    assert len(ours) <= MODULES
    others = {
        "alembic",
        "docker",
        "doctest",
        "jinja2",
        "libcst",
        "litellm",
        "numpy",
        "sqlalchemy.orm",
        "sqlalchemy.dialects.postgresql",
    }
    assert others & set(found["modules"]) == set()
