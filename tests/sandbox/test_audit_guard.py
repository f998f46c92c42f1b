"""What `groundwire-audit` imports in our sandboxes sees little and reaches less."""

from __future__ import annotations

import os
import socket
from dataclasses import replace
from pathlib import Path

import pytest
from audit_cases import CASES, written

from groundwire_audit import AuditError, Grounding, ImportFailed, Mode
from groundwire_audit.live._importing import ImportJob, audit_imported

CRITIC = CASES["1 write and critique, no map, no cap"]
REACHES_OUT = """
import os, socket
for path in ({outside!r}, "inside.txt"):
    try:
        open(path, "w").write("x")
    except OSError:
        pass
reached = [name for name in (".env", "server.pem") if os.path.exists(name)]
reached += ["environment"] if "SECRET_KEY" in os.environ else []
try:
    socket.create_connection(("127.0.0.1", {port}), 2)
    reached.append("network")
except OSError:
    pass
raise RuntimeError("reached: " + ", ".join(reached))
"""


def job(folder: Path, **more: object) -> ImportJob:
    return replace(ImportJob(file="target_graph.py", name="graph", root=folder), **more)  # pyright: ignore[reportArgumentType] # any field


def why(one: ImportJob) -> str:
    with pytest.raises(ImportFailed) as failed:
        audit_imported(one)
    return str(failed.value)


def test_the_graph_is_audited_as_an_object_and_the_guard_is_named(tmp_path: Path) -> None:
    written(CRITIC, tmp_path)
    report, guard = audit_imported(job(tmp_path))
    assert [(x.path, x.verdict) for x in report.loops] == [("write → critique → write", Grounding.UNGROUNDED)]
    assert report.graphs[0].mode is Mode.IMPORT
    assert report.loops[0].place.file == "target_graph.py"
    assert "sandbox" in guard


def test_what_an_import_does_stays_in_the_sandbox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY", "not for strangers")
    (tmp_path / ".env").write_text("KEY=1\n")
    (tmp_path / "server.pem").write_text("-----BEGIN\n")
    with socket.create_server(("127.0.0.1", 0)) as server:
        source = REACHES_OUT.format(outside=str(tmp_path / "outside.txt"), port=server.getsockname()[1])
        (tmp_path / "target_graph.py").write_text(source)
        assert why(job(tmp_path)) == "RuntimeError: reached: "
    assert not (tmp_path / "outside.txt").exists()
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
        ("import no_such_package", "No module named 'no_such_package'"),
        ("import os; os._exit(3)", "the process ended with 3"),
        ("import os; open(os.path.join(os.environ['GROUNDWIRE_OUT'], 'audit.json'), 'w').write('['); os._exit(0)",
         "no report that can be read"),
        ("import os; open(os.path.join(os.environ['GROUNDWIRE_OUT'], 'audit.json'), 'w').write('[' * 100000);"
         "os._exit(0)", "no report that can be read"),
        ("import os; open(os.path.join(os.environ['GROUNDWIRE_OUT'], 'audit.json'), 'w')"
         """.write('{"ok": true, "report": {"target": 1, "graphs": [3]}}'); os._exit(0)""",
         "no report that can be read"),
    ],
)  # fmt: skip
def test_an_import_that_fails_says_how(source: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "target_graph.py").write_text(source)
    assert said in why(job(tmp_path))


def test_an_import_that_hangs_is_ended(tmp_path: Path) -> None:
    (tmp_path / "target_graph.py").write_text("import time\ntime.sleep(600)\n")
    assert why(job(tmp_path, timeout_s=3.0)) == "importing it took longer than 3 s"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read all")
def test_folders_that_may_not_be_read_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0)
    written(CRITIC, tmp_path)
    report, _ = audit_imported(job(tmp_path))
    assert report.exit_code() == 1
