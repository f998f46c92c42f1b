"""Import mode without any sandbox installed: a process with limits, a clean environment, and a copy of the folder."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path

import pytest
from audit_cases import CASES, written

from groundwire_audit import AuditError, Grounding, GuardedJob, GuardUnavailable, ImportFailed, Mode
from groundwire_audit.live import _guards
from groundwire_audit.live._guards import find_guard, run_in_subprocess
from groundwire_audit.live._importing import ImportJob, audit_imported

CRITIC = CASES["1 write and critique, no map, no cap"]
LEAVES = "import os; out = os.path.join(os.environ['GROUNDWIRE_OUT'], 'audit.json'); "


@pytest.fixture(autouse=True)
def nothing_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch)


def offer(monkeypatch: pytest.MonkeyPatch, *guards: object) -> None:
    def entry_points(*, group: str) -> list[object]:
        return list(guards) if group == _guards.GROUP else []

    monkeypatch.setattr(_guards, "entry_points", entry_points)


def job(folder: Path, **more: object) -> ImportJob:
    return replace(ImportJob(file="target_graph.py", name="graph", root=folder), **more)  # pyright: ignore[reportArgumentType] # any field


def why(one: ImportJob) -> str:
    with pytest.raises(ImportFailed) as failed:
        audit_imported(one)
    return str(failed.value)


def test_the_graph_is_audited_as_an_object_and_what_is_missing_is_said(tmp_path: Path) -> None:
    written(CRITIC, tmp_path)
    report, guard = audit_imported(job(tmp_path))
    assert [(x.path, x.verdict) for x in report.loops] == [("write → critique → write", Grounding.UNGROUNDED)]
    assert report.graphs[0].mode is Mode.IMPORT
    assert report.loops[0].place.file == "target_graph.py"
    assert "the network was reachable: install groundwire for a sandbox" in guard
    assert "install" not in audit_imported(job(tmp_path, sandbox="subprocess"))[1]


def test_an_import_sees_neither_secrets_nor_the_environment_and_works_on_a_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_KEY", "not for strangers")
    (tmp_path / ".env").write_text("KEY=1\n")
    (tmp_path / "server.pem").write_text("-----BEGIN\n")
    (tmp_path / "target_graph.py").write_text(
        "import os\nopen('inside.txt', 'w').write('x')\n"
        "seen = [n for n in ('.env', 'server.pem') if os.path.exists(n)] + [n for n in os.environ if 'SECRET' in n]\n"
        "raise RuntimeError('seen: ' + ', '.join(seen))\n"
    )
    assert why(job(tmp_path)) == "RuntimeError: seen: "
    assert not (tmp_path / "inside.txt").exists()


def test_a_variable_that_is_named_is_passed_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MODEL_KEY", "k")
    (tmp_path / "target_graph.py").write_text("import os\nraise RuntimeError('seen: ' + os.environ['MODEL_KEY'])\n")
    assert why(job(tmp_path)) == "KeyError: 'MODEL_KEY'"
    assert why(job(tmp_path, env=["MODEL_KEY"])) == "RuntimeError: seen: k"
    with pytest.raises(AuditError, match="NOT_SET is not set"):
        audit_imported(job(tmp_path, env=["NOT_SET"]))


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("raise RuntimeError('no key')", "RuntimeError: no key"),
        ("import sys; sys.exit(0)", "SystemExit: 0"),
        ("import os; os._exit(3)", "the process ended with 3"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "the process ended with None"),
        ("bytearray(8 << 30)", "MemoryError"),
        (LEAVES + "open(out, 'w').write('['); os._exit(0)", "no report that can be read"),
        (LEAVES + "open(out, 'w').write('[' * 100000); os._exit(0)", "no report that can be read"),
        (LEAVES + "open(out, 'w').truncate(17 << 20); os._exit(0)", "the process ended with 0"),
        (LEAVES + "os.symlink('/etc/hostname', out); os._exit(0)", "the process ended with 0"),
        (LEAVES + "os.mkfifo(out); os._exit(0)", "the process ended with 0"),
        (LEAVES + "os.mkdir(out); os._exit(0)", "the process ended with 0"),
    ],
)
def test_an_import_that_fails_says_how(source: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "target_graph.py").write_text(source)
    assert said in why(job(tmp_path))


def test_an_import_that_hangs_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    pid = tmp_path / "child.pid"
    (tmp_path / "target_graph.py").write_text(
        "import subprocess, time\n"
        "child = subprocess.Popen(['sleep', '600'])\n"
        f"open({str(pid)!r}, 'w').write(str(child.pid))\n"
        "time.sleep(600)\n"
    )
    assert why(job(tmp_path, timeout_s=5.0)) == "importing it took longer than 5 s"
    assert is_gone(int(pid.read_text()))


def is_gone(pid: int) -> bool:
    """True once a process has ended, be it that nobody has asked for its status yet."""
    for _ in range(100):
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize("kind", ["bubblewrap", "landlock", "docker"])
def test_a_sandbox_of_groundwire_is_refused_with_where_to_get_it(kind: str) -> None:
    with pytest.raises(GuardUnavailable, match="Install groundwire") as refused:
        run_in_subprocess(GuardedJob("pass"), kind)
    assert refused.value.exit_code == 3


def test_an_unknown_sandbox_and_an_interpreter_that_is_none_are_usage_errors(tmp_path: Path) -> None:
    with pytest.raises(AuditError, match="no sandbox 'magic'"):
        run_in_subprocess(GuardedJob("pass"), "magic")
    with pytest.raises(AuditError, match="can't be started"):
        audit_imported(job(tmp_path, python=tmp_path / "none"))


def test_an_installed_guard_comes_before_our_own(monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_guard() is run_in_subprocess

    class Offered:
        name = "theirs"

        def load(self) -> object:
            return print

    offer(monkeypatch, Offered())
    assert find_guard() is print


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read all")
def test_folders_that_may_not_be_read_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0)
    written(CRITIC, tmp_path)
    report, _ = audit_imported(job(tmp_path))
    assert report.exit_code() == 1
