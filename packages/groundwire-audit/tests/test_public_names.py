"""The public page is pinned; importing it costs nothing; nothing but the standard library is imported anywhere."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import groundwire_audit

PUBLIC = {
    "AuditError", "AuditReport", "Finding", "GatedEdge", "GatedGraph", "GatedWiring", "GraphReport", "Grounding",
    "Guard", "GuardUnavailable", "GuardedEnd", "GuardedJob", "ImportFailed", "Level", "Loop", "LoopStep", "Mode",
    "SourcePlace", "TraceReport", "assert_grounded", "audit", "main",
}  # fmt: skip
PACKAGE = Path(groundwire_audit.__file__).parent
BLOCKED = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] not in {*sys.stdlib_module_names, "groundwire_audit"}:
            raise ImportError(f"{name} is not installed")
sys.meta_path.insert(0, Blocked())
"""


def test_public_names_are_pinned_load_and_say_what_they_are() -> None:
    assert set(groundwire_audit.__all__) == PUBLIC
    for name in PUBLIC:
        assert getattr(groundwire_audit, name).__doc__
    assert set(dir(groundwire_audit)) >= PUBLIC
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        groundwire_audit.nonsense  # noqa: B018


def test_every_other_module_is_private_and_has_no_list_of_names() -> None:
    modules = [path for path in PACKAGE.rglob("*.py") if path.name != "__init__.py"]
    assert {path.name for path in modules if not path.name.startswith("_")} == {"guest.py"}
    assert not [path for path in modules if "__all__" in path.read_text(encoding="utf-8")]


def foreign(module: ast.Module) -> Iterator[str]:
    for node in ast.walk(module):
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        yield from (n for n in names if n.split(".")[0] not in {*sys.stdlib_module_names, "groundwire_audit"})


def test_nothing_but_the_standard_library_is_imported() -> None:
    found = {(p.name, name) for p in PACKAGE.rglob("*.py") for name in foreign(ast.parse(p.read_bytes()))}
    assert found == {("_pytest_plugin.py", "pytest")}, "pytest itself loads the plugin"


def test_an_audit_runs_where_nothing_else_is_installed(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(
        "from langgraph.graph import START, StateGraph\n"
        "g = StateGraph(dict)\n"
        "g.add_node('a', lambda state: {})\n"
        "g.add_edge(START, 'a')\n"
        "g.add_edge('a', 'a')\n"
    )
    script = f"{BLOCKED}\nfrom groundwire_audit import main\nraise SystemExit(main(['agent.py', '--sarif', 's.json']))"
    ran = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "1 loop in 1 graph: 1 worklist" in ran.stdout
    assert (tmp_path / "s.json").exists()


@pytest.mark.parametrize(
    ("statement", "absent"),
    [
        ("import groundwire_audit", {"dataclasses", "argparse", "groundwire_audit._report"}),
        ("import groundwire_audit._pytest_plugin", {"groundwire_audit._report", "groundwire_audit._audit"}),
        ("from groundwire_audit import audit", {"groundwire_audit.reading", "groundwire_audit.live"}),
        ("from groundwire_audit import main", {"groundwire_audit.reading", "groundwire_audit.showing"}),
    ],
)
def test_parts_load_only_when_used(statement: str, absent: set[str]) -> None:
    code = f"import sys; before = set(sys.modules); {statement}; print(' '.join(set(sys.modules) - before))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert absent & set(loaded) == set()
