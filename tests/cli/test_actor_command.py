"""`groundwire repair --actor-command`: another program proposes, groundwire judges."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from cli import BUGGY, groundwire, lay_out

pytestmark = pytest.mark.usefixtures("one_look")
TEST = "python -m pytest -q"
AGENT = """
import json, os, pathlib, sys
told = sys.stdin.read()
assert "assert -3 == 3" in told, told
assert os.environ["AGENT_KEY"] == "sk-abcdefgh"
print("using", os.environ["AGENT_KEY"])
price = pathlib.Path("shop/price.py")
price.write_text(price.read_text().replace("-=", "+="))
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return lay_out(tmp_path / "project", BUGGY)


@pytest.mark.parametrize("flags", [(), ("--no-actor-sandbox",)])
def test_another_program_s_change_is_verified(project: Path, tmp_path: Path, flags: tuple[str, ...]) -> None:
    agent = lay_out(project, {"agent.py": AGENT}) / "agent.py"
    command = f"{sys.executable} {agent}" if flags else "python agent.py"
    ran = groundwire(
        "repair", project, "--test", TEST, "--actor-command", command, "--actor-env", "AGENT_KEY", "--json", *flags,
        env={"AGENT_KEY": "sk-abcdefgh"},
    )  # fmt: skip
    assert ran.code == 0, ran.err
    assert ran.data["stop_reason"] == "verified"
    assert "+        result += price" in ran.data["patch"]
    shown = groundwire("show", ran.data["run_id"], "--json").data
    (program,) = [r for r in shown["episodes"][0]["records"] if r["kind"] == "ProgramRun"]
    assert program["stdout"] == "using [AGENT_KEY]\n"
    assert "sk-abcdefgh" not in str(shown)
    assert "program" in groundwire("show", ran.data["run_id"]).out


def test_an_executable_bit_is_judged_verified_patched_and_applied(tmp_path: Path) -> None:
    test = "import subprocess\n\n\ndef test_it_runs():\n    assert subprocess.run(['./run.sh']).returncode == 0\n"
    task = 'editable = ["*.sh"]\n'
    project = lay_out(tmp_path / "project", {"run.sh": "#!/bin/sh\n", "test_run.py": test, "task.toml": task})
    ran = groundwire("repair", project, "--test", TEST, "--actor-command", "chmod +x run.sh", "--apply", "--json")
    assert ran.code == 0, ran.out + ran.err
    assert ran.data["patch"] == "diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\n"
    assert (project / "run.sh").stat().st_mode & 0o777 == 0o755
    again = groundwire("replay", ran.data["run_id"], "--verify")
    assert again.code == 0, again.out + again.err


def test_each_program_that_can_not_propose_gets_one_clear_answer(project: Path) -> None:
    ran = groundwire("repair", project, "--test", TEST, "--actor-command", "no-such-agent --fix")
    assert ran.code == 2 and "no-such-agent can't be started" in ran.err and "Traceback" not in ran.err
    ran = groundwire("repair", project, "--test", TEST, "--actor-command", "sed -i s/3/-3/ tests/test_price.py")
    assert ran.code == 1 and "tests/test_price.py" in ran.out
    ran = groundwire("repair", project, "--test", TEST, "--actor-command", "true", "--actor-env", "NOT_SET_ANYWHERE")
    assert ran.code == 2 and "NOT_SET_ANYWHERE" in ran.err
    ran = groundwire("repair", project, "--test", TEST, "--actor-command", "")
    assert ran.code == 2 and "empty" in ran.err


def test_n_runs_in_a_trial_by_settings_of_the_environment(project: Path) -> None:
    agent = "from os import environ as e; open('shop/n.py', 'w').write(e['GROUNDWIRE_ATTEMPT'] + e['A'] + e['B'])"
    settings = {"GROUNDWIRE_ACTOR_COMMAND": f'{sys.executable} -c "{agent}"', "GROUNDWIRE_ACTOR_ENV": "A, B"}
    ran = groundwire(
        "repair", project, "--test", TEST, "-n", "3", "--max-trials", "1", "--json",
        env={**settings, "A": "1", "B": "2"},
    )  # fmt: skip
    assert ran.code == 4, ran.out + ran.err
    assert ran.data["candidates"] == 3


def test_a_stranger_s_project_can_not_choose_the_program(project: Path) -> None:
    lay_out(project, {"pyproject.toml": '[tool.groundwire]\nactor-command = "touch /tmp/owned"\n'})
    ran = groundwire("repair", project)
    assert ran.code == 2 and "actor_command" in ran.err


SPY = """
import glob, os, pathlib
places = [os.environ["LEDGER"], os.environ["KEYS"], os.environ["HIDDEN"]]
print([place for place in places if os.path.exists(place)])
raise SystemExit(3)
"""


def test_by_itself_a_program_sees_no_key_no_ledger_and_no_hidden_test(project: Path, tmp_path: Path) -> None:
    hidden = lay_out(tmp_path / "kept", {"test_more.py": "from shop.price import total\n"})
    state, data = tmp_path / "state", tmp_path / "data"
    asked = {"LEDGER": data, "KEYS": state / "groundwire" / "keys", "HIDDEN": hidden}
    env = {"XDG_STATE_HOME": str(state), "XDG_DATA_HOME": str(data), **{n: str(p) for n, p in asked.items()}}
    lay_out(project, {"spy.py": SPY})
    names = [part for name in asked for part in ("--actor-env", name)]
    seen: dict[str, str] = {}
    for flag in ("--actor-sandbox", "--no-actor-sandbox"):
        command = f"{sys.executable} {project / 'spy.py'}" if flag.startswith("--no") else "python spy.py"
        given = () if flag == "--actor-sandbox" else (flag,)
        ran = groundwire(
            "repair", project, "--test", TEST, "--actor-command", command, *names, *given, "--json", env=env
        )
        assert ran.code == 1, ran.out + ran.err
        assert ("--actor-network" in ran.data["detail"]) == (not given)
        shown = groundwire("show", ran.data["run_id"], "--json", env=env).data
        (program,) = [r for r in shown["episodes"][0]["records"] if r["kind"] == "ProgramRun"]
        seen[flag] = program["stdout"]
    assert seen["--actor-sandbox"].strip() == "[]"
    assert "[KEYS]" in seen["--no-actor-sandbox"] and "[LEDGER]" in seen["--no-actor-sandbox"]


def test_a_program_says_that_a_test_contradicts_the_task(project: Path) -> None:
    says = "print('thinking'); print('CONTRADICTION: test_price.py::{}'); print('The task wants 3, the test -3.')"
    ran = groundwire(
        "repair", project, "--test", TEST, "--actor-command", f'python -c "{says.format("test_some")}"', "--json"
    )
    assert ran.code == 8, ran.out + ran.err
    assert (ran.data["verdict"], ran.data["stop_reason"]) == ("fail", "contradiction")
    assert ran.data["detail"].endswith("test_price.py::test_some: The task wants 3, the test -3.")
    assert ran.data["candidates"] == 0
    shown = groundwire("show", ran.data["run_id"])
    assert shown.code == 0 and "contradicts" in shown.out
    again = groundwire("replay", ran.data["run_id"], "--verify")
    assert again.code == 0, again.out + again.err
    bad = groundwire("repair", project, "--test", TEST, "--actor-command", f'python -c "{says.format("test_none")}"')
    assert bad.code == 1 and "no such case has failed" in bad.out


def test_a_program_that_names_a_file_elsewhere_runs_as_the_user_and_it_is_said(project: Path, tmp_path: Path) -> None:
    agent = lay_out(tmp_path / "mine", {"agent.py": AGENT}) / "agent.py"
    asked = ("repair", project, "--test", TEST, "--actor-command", f"python {agent}", "--actor-env", "AGENT_KEY")
    ran = groundwire(*asked, env={"AGENT_KEY": "sk-abcdefgh"})
    assert ran.code == 0, ran.out + ran.err
    assert "agent.py lies outside the sandbox, so the program runs as you" in ran.out
    kept_in = groundwire(*asked, "--actor-sandbox", env={"AGENT_KEY": "sk-abcdefgh"})
    assert kept_in.code == 1 and "runs as you" not in kept_in.out.partition("\n")[0]
