"""The scripts of a GPU lease, as far as no GPU is needed: what engines would be told, how a session is steered."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from processes import is_alive

ROOT = Path(__file__).parents[1]
SESSION = ROOT / "bench" / "gpu" / "session.sh"
NOTHING = "n k verified repair unverified model-judged failed"
WAITS = """#!/bin/sh
echo $$ > {pid}
exec sleep 120
"""


def session(parts: Path, *verb: str, python: Path | str = sys.executable, skip: str = "") -> tuple[int, str]:
    out = parts / "out"
    out.mkdir(exist_ok=True)
    environment = {**os.environ, "PYTHON": str(python), "SMALL": "1", "SKIP": skip, "OUT": str(out)}
    ran = subprocess.run(
        ["bash", SESSION, parts, *verb], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300
    )
    return ran.returncode, ran.stdout + ran.stderr


def program(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o700)
    return path


def test_what_each_engine_would_be_told_is_found_out_on_any_machine(tmp_path: Path) -> None:
    code, said = session(tmp_path, "check")
    assert code == 0, said
    told = [json.loads(line)["told"] for line in said.splitlines() if line.startswith('{"check"')]
    assert len(told) == 5 and all("--load-format=dummy" in one for one in told), said
    assert "checked: " in said

    refused = subprocess.run(
        [sys.executable, ROOT / "bench/gpu/replicas.py", tmp_path, "--weights", "pt", "--gpus", "1", "--check"],
        capture_output=True, text=True,
    )  # fmt: skip
    assert refused.returncode == 1 and "load_format=pt can't be set" in refused.stderr


def test_a_session_tells_what_is_new_and_ends_by_itself(tmp_path: Path) -> None:
    assert session(tmp_path, skip=NOTHING)[0] == 0
    code, said = session(tmp_path, "wait", "60")
    while code == 0:
        code, more = session(tmp_path, "wait", "60")
        said += more
    assert code == 2 and said.count("s  done") == 1, said
    assert session(tmp_path, "wait", "1") == (2, ""), "what was shown is not shown again"
    assert "done" in (tmp_path / "out" / "session.log").read_text()


def test_a_step_that_fails_ends_the_waiting_with_its_last_lines(tmp_path: Path) -> None:
    broken = program(tmp_path / "python", "#!/bin/sh\necho it has no card\nexit 1\n")
    assert session(tmp_path, "again", "k", python=broken)[0] == 0
    code, said = session(tmp_path, "wait", "120", python=broken)
    assert code == 1 and "it has no card" in said and "k ends with status 1" in said, said


def test_a_step_is_run_again_and_all_is_ended_by_number(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    waits = program(tmp_path / "python", WAITS.format(pid=pid))

    def begun() -> int:
        assert session(tmp_path, "again", "k", python=waits)[0] == 0
        code = 0
        while not pid.exists() or not pid.read_text():
            assert code == 0
            code, _ = session(tmp_path, "wait", "1", python=waits)
        number = int(pid.read_text())
        pid.unlink()
        return number

    first = begun()
    second = begun()
    assert first != second and not is_alive(first) and is_alive(second)
    assert session(tmp_path, "stop")[0] == 0
    assert not is_alive(second)
    assert session(tmp_path, "wait", "1")[0] == 2
