"""`assert_grounded`, as a project's own tests call it, and the fixture of the pytest plugin."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from audit_cases import CASES, imported, written

import groundwire_audit
from groundwire_audit import AuditReport, assert_grounded

CRITIC = CASES["1 write and critique, no map, no cap"]


def case(name: str, folder: Path) -> ModuleType:
    return imported(written(CASES[name], folder))


def test_an_ungrounded_loop_fails_with_what_decides_it_and_where(tmp_path: Path) -> None:
    graph = case("1 write and critique, no map, no cap", tmp_path).graph
    with pytest.raises(AssertionError) as failed:
        assert_grounded(graph)
    said = str(failed.value)
    assert said.startswith("1 loop is not grounded:\n  write → critique → write: ungrounded: ")
    assert "state['approved'] ← a model (Chat)" in said
    assert "target_graph.py:" in said


def test_a_grounded_graph_gives_its_report(tmp_path: Path) -> None:
    report = assert_grounded(case("3 exit status", tmp_path).graph, strict=True)
    assert [x.kind for x in report.loops] == ["executed code"]


def test_strict_asks_for_more(tmp_path: Path) -> None:
    for name in ("6 search then judge", "10 undeclared goto"):
        graph = case(name, tmp_path).graph
        assert isinstance(assert_grounded(graph), AuditReport)
        with pytest.raises(AssertionError, match="not grounded"):
            assert_grounded(graph, strict=True)


def test_a_loop_may_be_accepted_by_its_path_or_by_a_role(tmp_path: Path) -> None:
    graph = case("1 write and critique, no map, no cap", tmp_path).graph
    assert_grounded(graph, allow=["write → critique → write"])
    assert_grounded(graph, roles={"critique": "human"})
    with pytest.raises(AssertionError):
        assert_grounded(graph, allow=["critique → write → critique"])


def test_a_process_that_has_imported_us_can_still_start_pytest() -> None:
    # where a package with a plugin is installed, pytest warns of modules that were there before it could rewrite them
    assert "PYTEST_DONT_REWRITE" in (groundwire_audit.__doc__ or "")


def test_the_fixture_is_there_in_any_project_and_costs_no_import(tmp_path: Path) -> None:
    written(CRITIC, tmp_path)
    (tmp_path / "test_it.py").write_text(
        "import sys\n"
        "def test_nothing_of_ours_is_loaded():\n"
        "    held = {m for m in sys.modules if m.split('.')[0] in {'groundwire', 'groundwire_audit', 'langgraph'}}\n"
        "    light = {'groundwire_audit', 'groundwire_audit._pytest_plugin'}\n"
        "    assert held <= light, held\n"
        "def test_grounded(assert_grounded):\n"
        "    import target_graph\n"
        "    assert_grounded(target_graph.graph)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:asyncio", "test_it.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 1, ran.stdout
    assert "1 failed, 1 passed" in ran.stdout
    assert "AssertionError: 1 loop is not grounded:" in ran.stdout
    assert "_audit.py" not in ran.stdout, "the helper's own lines are left out of the traceback"
