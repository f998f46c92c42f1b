"""The GitHub Action and the GitLab jobs of `ci/`: their own shell steps, run as those run them, from this checkout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from cli import BUGGY, lay_out

ROOT = Path(__file__).parents[1]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "ci/repair/action.yml").read_text())
GITLAB: dict[str, Any] = yaml.safe_load((ROOT / "ci/gitlab.yml").read_text())
TICKS = "x = '````'\n"


def run(script: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """A step, as a runner starts it."""
    (folder / "script.sh").write_text(script)
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", **variables}
    shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "script.sh"]
    return subprocess.run(shell, cwd=folder, env=environment, capture_output=True, text=True)


def action(folder: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    """The action's step, with its inputs as GitHub hands them over."""
    step = next(step for step in ACTION["runs"]["steps"] if step.get("id") == "repair")
    given = {name: str(inputs.get(name.replace("-", "_"), spec["default"])) for name, spec in ACTION["inputs"].items()}
    known = {f"${{{{ inputs.{name} }}}}": value for name, value in given.items()}
    known["${{ runner.temp }}/groundwire-repair"] = str(folder / "out")
    return run(
        step["run"],
        folder,
        GITHUB_ACTION_PATH=str(ROOT / "ci/repair"),
        GITHUB_OUTPUT=str(folder / "output"),
        GITHUB_STEP_SUMMARY=str(folder / "summary"),
        **{name: known[value] for name, value in step["env"].items()},
    )


@pytest.mark.slow
def test_a_failing_job_gets_a_patch_and_a_suggestion_and_nothing_is_pushed(tmp_path: Path) -> None:
    lay_out(tmp_path / "shop", BUGGY)
    ran = action(tmp_path, python=sys.executable, path="shop", args="--rejudge 0 --test-strength off")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert (tmp_path / "output").read_text() == f"exit-code=0\npatch={tmp_path}/out/fix.patch\n"
    suggestion = (tmp_path / "summary").read_text()
    assert "With this patch 2 of 2 tests pass" in suggestion
    assert "+        result += price\n" in suggestion
    assert (tmp_path / "shop/shop/price.py").read_text() == BUGGY["shop/price.py"]


def test_an_input_is_never_part_of_the_script_and_a_wrong_one_fails_the_step(tmp_path: Path) -> None:
    ran = action(tmp_path, python=sys.executable, path='"; touch forged; "')
    assert ran.returncode == 2
    assert not (tmp_path / "forged").exists()
    assert "## groundwire: no suggestion" in (tmp_path / "summary").read_text()


def test_only_what_is_there_is_named_and_nothing_may_push() -> None:
    (install,) = (step for step in ACTION["runs"]["steps"] if step.get("id") == "install")
    for name in ("packages/groundwire-audit", "."):
        assert f'"$GITHUB_ACTION_PATH/../../{name}"'.replace('/."', '"') in install["run"]
        assert (ROOT / name / "pyproject.toml").exists()
    (upload,) = (step for step in ACTION["runs"]["steps"] if "uses" in step)
    assert upload["if"] == "steps.repair.outputs.patch != ''"
    whole = (ROOT / "ci/repair/action.yml").read_text() + (ROOT / "ci/gitlab.yml").read_text()
    assert not [word for word in ("git push", "GITHUB_TOKEN", "secrets.", "CI_JOB_TOKEN") if word in whole]
    assert not [s for s in ACTION["runs"]["steps"] if "${{" in s.get("run", "")], "inputs come as variables"


def job(name: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """A GitLab job's script, with the variables of all that it extends."""
    told = {**GITLAB[GITLAB[name]["extends"]]["variables"], **GITLAB[name].get("variables", {})}
    return run("\n".join(GITLAB[name]["script"]), folder, **{**told, "GROUNDWIRE_SOURCE": str(ROOT), **variables})


def test_the_gitlab_audit_gives_a_code_quality_report(tmp_path: Path) -> None:
    (tmp_path / "graph.py").write_text(
        "from langchain_openai import ChatOpenAI\nfrom langgraph.graph import END, StateGraph\nllm = ChatOpenAI()\n"
        "def write(state):\n    return {'text': llm.invoke(state['text']).content}\n"
        "g = StateGraph(dict)\ng.add_node('write', write)\ng.set_entry_point('write')\n"
        "g.add_conditional_edges('write', lambda s: END if s['text'] == 'ok' else 'write', ['write', END])\n"
    )
    ran = job(".groundwire-audit", tmp_path)
    assert ran.returncode == 1, "an ungrounded loop fails the job, and the report is there all the same"
    found = json.loads((tmp_path / GITLAB[".groundwire-audit"]["artifacts"]["reports"]["codequality"]).read_text())
    errors = [finding for finding in found if finding["check_name"] == "ungrounded-loop"]
    assert [finding["location"] for finding in errors] == [{"path": "graph.py", "lines": {"begin": 9}}]
    assert {finding["severity"] for finding in errors} == {"major"}
    assert len({finding["fingerprint"] for finding in found}) == len(found)


def test_the_gitlab_repair_says_what_is_wrong_with_how_it_was_called(tmp_path: Path) -> None:
    ran = job(".groundwire-repair", tmp_path, GROUNDWIRE_PATH="nowhere; touch forged")
    assert ran.returncode == 2
    assert "is not a folder" in ran.stdout
    assert not (tmp_path / "forged").exists()


def suggested(tmp_path: Path, said: dict[str, Any] | str) -> str:
    (tmp_path / "repair.json").write_text(said if isinstance(said, str) else json.dumps(said))
    command = [sys.executable, ROOT / "ci/suggestion.py", tmp_path / "repair.json"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_a_suggestion_holds_hostile_text_as_text(tmp_path: Path) -> None:
    verified = {"stop_reason": "verified", "patch": f"+{TICKS}+</details>@all\n", "patch_encoding": "utf-8"}
    rest = {"tests": {"passed": 1, "cases": 1}, "unforgeable": False, "run_id": "<b>", "test_strength": {"weak": True}}
    text = suggested(tmp_path, {**verified, **rest})
    assert f"`````diff\n+{TICKS}" in text
    assert "not unforgeable" in text
    assert "read it with care" in text
    assert "\\<b\\>" in text
    failed = {"stop_reason": "exhausted", "detail": "![x](http://evil) @all\x1b[31m", "judged": 3, "patch": None}
    text = suggested(tmp_path, failed)
    assert "\\!\\[x\\]\\(http://evil\\) \\@all�\\[31m" in text
    assert "printed no JSON" in suggested(tmp_path, "Traceback")
