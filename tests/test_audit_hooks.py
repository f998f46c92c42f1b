"""The pre-commit hook and the GitHub Action of the audit: run as those run them, from this checkout."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[1]
GRAPH = """
from langchain_openai import ChatOpenAI
from langgraph.graph import END, StateGraph
llm = ChatOpenAI()
def write(state):
    return {"text": llm.invoke(state["text"]).content}
g = StateGraph(dict)
g.add_node("write", write)
g.set_entry_point("write")
g.add_conditional_edges("write", lambda s: END if s["text"] == "ok" else "write", ["write", END])
graph = g.compile()
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "graph.py").write_text(GRAPH)
    return tmp_path


def run(command: list[str], folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """A command with this Python first, and with nothing of ours installed."""
    python = Path(sys.base_prefix) / "bin"
    environment = {"PATH": f"{python}:{os.environ['PATH']}", "HOME": str(folder), **variables}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


def test_the_hook_audits_the_repository_it_runs_in(project: Path) -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert (hook["language"], hook["pass_filenames"]) == ("script", False)
    ran = run([str(ROOT / hook["entry"]), *hook["args"]], project)
    assert (ran.returncode, ran.stderr) == (1, "")
    assert "graph.py:10:3: ✗ ungrounded-loop: write → write" in ran.stdout


def action(project: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    """The action's step, with its inputs as GitHub hands them over."""
    read: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
    (step,) = read["runs"]["steps"]
    given = {name: str(inputs.get(name, spec["default"])) for name, spec in read["inputs"].items()}
    variables = {k: given[v.removeprefix("${{ inputs.").removesuffix(" }}")] for k, v in step["env"].items()}
    (project / "script.sh").write_text(step["run"])
    return run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "script.sh"],
        project,
        GITHUB_ACTION_PATH=str(ROOT),
        GITHUB_OUTPUT=str(project / "output"),
        GITHUB_STEP_SUMMARY=str(project / "summary"),
        **variables,
    )


def test_the_action_annotates_and_fails_on_an_ungrounded_loop(project: Path) -> None:
    ran = action(project, sarif="audit.sarif")
    assert (ran.returncode, ran.stderr) == (1, "")
    assert ran.stdout.startswith("::error file=graph.py,line=10,col=3,title=ungrounded-loop::write → write")
    assert (project / "output").read_text() == "exit-code=1\n"
    assert "| graph.py:10:3 | ungrounded-loop |" in (project / "summary").read_text()
    assert '"ungrounded-loop"' in (project / "audit.sarif").read_text()


def test_the_inputs_of_the_action_are_never_part_of_its_script(project: Path) -> None:
    ran = action(project, path='"; touch forged; "', args="--strict")
    assert ran.returncode == 2
    assert not (project / "forged").exists()
