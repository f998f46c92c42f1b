"""Declared roles: from flags, files, the project and comments; shown as declared, and refused where they are wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
from audit_cases import CASES, written

from groundwire_audit import AuditError
from groundwire_audit._discover import audit_path
from groundwire_audit._report import Grounding, Loop
from groundwire_audit._roles import roles_of_file, roles_of_flags, roles_of_project

CRITIC = CASES["1 write and critique, no map, no cap"]
NO_OP_TOOL = CASES["5 no-op tool"]


def only(path: Path, declared: dict[str, str] | None = None) -> Loop:
    (loop,) = audit_path(path, roles=declared).loops
    return loop


@pytest.mark.parametrize(
    ("role", "verdict"),
    [
        ("tool", Grounding.GROUNDED),
        ("world", Grounding.GROUNDED),
        ("human", Grounding.GROUNDED),
        ("critic", Grounding.UNGROUNDED),
        ("actor", Grounding.UNGROUNDED),
        ("model", Grounding.UNGROUNDED),
        ("pure", Grounding.UNGROUNDED),
    ],
)
def test_a_role_replaces_what_was_read_and_is_shown(role: str, verdict: Grounding, tmp_path: Path) -> None:
    loop = only(written(CRITIC, tmp_path), {"critique": role})
    assert (loop.verdict, loop.declared) == (verdict, (f"critique ({role})",))


def test_a_comment_beside_the_function_or_the_node_declares_too(tmp_path: Path) -> None:
    for old, new in (
        ("def critique(state):", "def critique(state):  # groundwire: tool"),
        ('g.add_node("critique", critique)', 'g.add_node("critique", critique)  # groundwire: tool'),
    ):
        loop = only(written(CRITIC.replace(old, new), tmp_path))
        assert (loop.verdict, loop.declared) == (Grounding.GROUNDED, ("critique (tool)",)), new


@pytest.mark.parametrize(
    ("comment", "declares"),
    [
        ('# groundwire: tool\ng.add_node("critique", critique)', True),
        ('# groundwire: tool\n# it runs the linter\n\ng.add_node("critique", critique)', True),
        ('g.add_node(\n    "critique",\n    critique,\n)  # groundwire: tool', True),
        ('x = 1  # groundwire: tool\ng.add_node("critique", critique)', False),
        ('"# groundwire: tool"\ng.add_node("critique", critique)', False),
        ('# groundwire: tool\nx = 1\ng.add_node("critique", critique)', False),
        ('g.add_node("critique", critique)\n# groundwire: tool', False),
    ],
)
def test_a_comment_belongs_to_its_own_line_or_to_the_code_right_below(
    comment: str, declares: bool, tmp_path: Path
) -> None:
    loop = only(written(CRITIC.replace('g.add_node("critique", critique)', comment), tmp_path))
    assert (loop.verdict is Grounding.GROUNDED, bool(loop.declared)) == (declares, declares)


def test_a_comment_that_names_no_role_declares_nothing(tmp_path: Path) -> None:
    source = CRITIC.replace("def critique(state):", "def critique(state):  # groundwire: trust-me")
    assert only(written(source, tmp_path)).verdict is Grounding.UNGROUNDED


def test_a_tool_may_be_declared_by_its_name(tmp_path: Path) -> None:
    path = written(NO_OP_TOOL, tmp_path)
    name = NO_OP_TOOL.split("@tool\ndef ")[1].split("(")[0]
    assert only(path).verdict is Grounding.UNGROUNDED
    for role, verdict in (
        ("world", Grounding.TOOL_LOOP),
        ("human", Grounding.TOOL_LOOP),
        ("pure", Grounding.UNGROUNDED),
    ):
        assert only(path, {name: role}).verdict is verdict
    assert only(path, {name: "world"}).declared == (f"{name} (world)",)
    commented = NO_OP_TOOL.replace(f"def {name}(", f"# groundwire: world\ndef {name}(")
    assert only(written(commented, tmp_path)).declared == (f"{name} (world)",)


def test_a_declared_tool_that_a_node_runs_by_itself_is_shown_too(tmp_path: Path) -> None:
    source = """
    class S(TypedDict):
        draft: str
        verdict: str
    @tool
    def lint(text: str) -> str:
        "Lints."
        return text
    def write(state):
        return {"draft": llm.invoke("write").content}
    def check(state):
        return {"verdict": lint.invoke(state["draft"])}
    g = StateGraph(S)
    g.add_node("write", write)
    g.add_node("check", check)
    g.add_edge(START, "write")
    g.add_edge("write", "check")
    g.add_conditional_edges("check", lambda s: END if s["verdict"] == "clean" else "write", ["write", END])
    graph = g.compile()
    """
    path = written(source, tmp_path)
    assert only(path).verdict is Grounding.UNGROUNDED
    loop = only(path, {"lint": "tool"})
    assert (loop.verdict, loop.declared) == (Grounding.GROUNDED, ("lint (tool)",))


def test_a_role_of_nothing_is_a_finding(tmp_path: Path) -> None:
    report = audit_path(written(CRITIC, tmp_path), roles={"critic": "tool"})
    assert [f.rule for f in report.findings] == ["unused-role"]
    assert report.loops[0].verdict is Grounding.UNGROUNDED


def test_flags() -> None:
    assert roles_of_flags(["a=tool", "x=y=human", " b =PURE"]) == {"a": "tool", "x=y": "human", "b": "pure"}
    for wrong in ("tool", "=tool", "a=boss", "a="):
        with pytest.raises(AuditError):
            roles_of_flags([wrong])


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("r.toml", 'check = "tool"\n"my node" = "human"\n'),
        ("r.toml", '[roles]\ncheck = "tool"\n"my node" = "human"\n'),
        ("r.json", '{"check": "tool", "my node": "human"}'),
        ("r.json", '{"roles": {"check": "tool", "my node": "human"}}'),
    ],
)
def test_files(name: str, content: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(content)
    assert roles_of_file(tmp_path / name) == {"check": "tool", "my node": "human"}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("r.toml", "check = tool\n"),
        ("r.toml", "check = 3\n"),
        ("r.toml", 'check = "boss"\n'),
        ("r.toml", 'roles = "tool"\n'),
        ("r.json", "[]"),
        ("r.json", "{"),
        ("r.json", "[" * 100_000),
        ("r.toml", "\x00"),
        ("r.toml", "#" * (1024 * 1024 + 1)),
    ],
)
def test_a_file_that_holds_no_roles_is_refused_with_its_name(name: str, content: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(AuditError, match=r"r\.(toml|json)"):
        roles_of_file(tmp_path / name)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AuditError, match="can't be read"):
        roles_of_file(tmp_path / "none.toml")


def test_a_project_declares_in_the_nearest_pyproject(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.groundwire-audit.roles]\ncheck = "tool"\nroles = "human"\n')
    (tmp_path / "src").mkdir()
    assert roles_of_project(tmp_path / "src") == {"check": "tool", "roles": "human"}
    (tmp_path / "src" / "pyproject.toml").write_text("[project]\nname = 'inner'\n")
    assert roles_of_project(tmp_path / "src") == {}
    (tmp_path / "src" / "pyproject.toml").write_text("broken = [")
    assert roles_of_project(tmp_path / "src") == {}
    (tmp_path / "src" / "pyproject.toml").write_text('[tool.groundwire-audit.roles]\ncheck = "boss"\n')
    with pytest.raises(AuditError, match="boss"):
        roles_of_project(tmp_path / "src")
