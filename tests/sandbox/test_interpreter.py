"""What an interpreter needs to be seen, and that any supported one runs a guest."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from groundwire.core._errors import SandboxUnavailable
from groundwire.sandbox._interpreter import Interpreter, inspect_interpreter
from groundwire.sandbox._interpreter_view import barrier


def test_the_current_interpreter_is_found_with_its_environment():
    found = inspect_interpreter(Path(sys.executable))
    assert found.executable == Path(sys.executable)
    assert found.version == sys.version_info[:2]
    for prefix in (sys.prefix, sys.base_prefix):
        assert any(Path(prefix).is_relative_to(f) for f in (*found.folders, Path("/usr")))
    found.refuse_private_folders()


def test_this_process_answers_as_another_one_of_its_interpreter_would(monkeypatch: pytest.MonkeyPatch):
    python = Path(sys.executable)
    own = inspect_interpreter(python)
    monkeypatch.setattr(sys, "executable", "/elsewhere/python")  # so that another one is asked
    assert inspect_interpreter(python) == own


def test_an_interpreter_that_does_not_run_is_said(tmp_path: Path):
    with pytest.raises(SandboxUnavailable, match="does not run"):
        inspect_interpreter(tmp_path / "python")
    fake = tmp_path / "python"
    fake.write_text("#!/bin/sh\necho hello\n")
    fake.chmod(0o755)
    with pytest.raises(SandboxUnavailable, match="does not run"):
        inspect_interpreter(fake)


def test_an_old_interpreter_is_refused(tmp_path: Path):
    fake = tmp_path / "python"
    fake.write_text("#!/bin/sh\nprintf '/x/bin/python\\n/x\\n/x\\n/x/lib\\n3 8\\n'\n")
    fake.chmod(0o755)
    with pytest.raises(SandboxUnavailable, match=r"3\.8.*3\.9 or newer"):
        inspect_interpreter(fake)


@pytest.mark.parametrize("folder", ["/home", str(Path.home()), "/etc", "/var"])
def test_a_home_or_system_folder_is_never_shown(folder: str):
    interpreter = Interpreter(Path(folder) / "bin/python", (3, 12), (Path(folder),), ())
    with pytest.raises(SandboxUnavailable, match="holds a home or system folder"):
        interpreter.refuse_private_folders()


def test_a_barrier_is_the_outermost_folder_that_is_closed_to_others(tmp_path: Path):
    closed = tmp_path / "closed"
    below = closed / "also closed" / "open"
    below.mkdir(parents=True)
    (closed / "also closed").chmod(0o700)
    closed.chmod(0o700)
    outer = barrier(tmp_path / "x")
    assert barrier(below / "x") == (outer or closed)
    assert barrier(Path("/usr/bin")) is None
