"""`groundwire audit` as a person and as CI call it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from audit_cases import CASES, written
from cli import groundwire

CRITIC = CASES["1 write and critique, no map, no cap"]
LOOP = "write → critique → write"


@pytest.mark.parametrize(
    ("name", "flags", "code", "mark"),
    [
        ("1 write and critique, no map, no cap", (), 1, "✗ ungrounded-loop: write → critique → write"),
        ("3 exit status", ("--strict",), 0, "✓ grounded: write → run → write"),
        ("4 tool loop", ("--strict",), 0, "~ tool loop: agent → tools → agent"),
        ("6 search then judge", (), 0, "~ partly-grounded-loop: search → summarise → judge → search"),
        ("6 search then judge", ("--strict",), 1, "~ partly-grounded-loop: search → summarise → judge → search"),
        ("10 undeclared goto", (), 3, "? unknown-loop: supervisor → ? → supervisor"),
    ],
)
def test_exit_codes_and_what_is_printed(
    name: str, flags: tuple[str, ...], code: int, mark: str, tmp_path: Path
) -> None:
    path = written(CASES[name], tmp_path)
    ran = groundwire("audit", path.name, *flags, cwd=tmp_path)
    assert (ran.code, ran.err) == (code, "")
    assert mark in ran.out
    assert "read from the source; nothing was imported" in ran.out


def test_nothing_found_is_not_a_pass(tmp_path: Path) -> None:
    (tmp_path / "plain.py").write_text("print('hello')\n")
    ran = groundwire("audit", "plain.py", cwd=tmp_path)
    assert (ran.code, "nothing was audited" in ran.out) == (3, True)


def test_the_line_of_the_deciding_edge_is_named(tmp_path: Path) -> None:
    path = written(CRITIC, tmp_path)
    line = next(i for i, x in enumerate(path.read_text().splitlines(), 1) if "add_conditional_edges" in x)
    assert groundwire("audit", path.name, cwd=tmp_path).out.startswith(f"target_graph.py:{line}:3: ")


def test_json_sarif_and_svg_of_one_call_agree(tmp_path: Path) -> None:
    written(CRITIC, tmp_path)
    ran = groundwire("audit", "target_graph.py:graph", "--json", "--sarif", "a.sarif", "--svg", "a.svg", cwd=tmp_path)
    assert (ran.code, ran.data["exit_code"]) == (1, 1)
    (loop,) = ran.data["graphs"][0]["loops"]
    assert (loop["path"], loop["verdict"], loop["cap"]) == (LOOP, "ungrounded", "recursion limit only")
    (result,) = json.loads((tmp_path / "a.sarif").read_text())["runs"][0]["results"]
    assert result["properties"]["path"] == LOOP
    assert (tmp_path / "a.svg").read_text().startswith("<svg ")
    assert groundwire("audit", "target_graph.py", "--strict", "--json", cwd=tmp_path).data["exit_code"] == 1


def test_mermaid_is_printed_alone(tmp_path: Path) -> None:
    written(CRITIC, tmp_path)
    ran = groundwire("audit", "target_graph.py", "--mermaid", cwd=tmp_path)
    assert ran.out.splitlines()[1] == "flowchart TD"
    assert ran.code == 1


def test_names_cannot_move_the_cursor(tmp_path: Path) -> None:
    written(CRITIC.replace('"critique"', r'"crit\x1b[2Jique\u202e"'), tmp_path)
    for flags in ((), ("--mermaid",), ("--json",)):
        ran = groundwire("audit", "target_graph.py", *flags, cwd=tmp_path)
        assert ran.code == 1
        assert "\x1b[2J" not in ran.out
        assert "\u202e" not in ran.out


def test_roles_by_file_flag_and_project_the_nearer_wins(tmp_path: Path) -> None:
    written(CRITIC, tmp_path)
    (tmp_path / "roles.toml").write_text('critique = "human"\n')
    ran = groundwire("audit", "target_graph.py", "--roles", "roles.toml", cwd=tmp_path)
    assert (ran.code, "declared, not proved: critique (human)" in ran.out) == (0, True)
    flag = ("--role", "critique=critic")
    assert groundwire("audit", "target_graph.py", "--roles", "roles.toml", *flag, cwd=tmp_path).code == 1
    (tmp_path / "pyproject.toml").write_text('[tool.groundwire-audit.roles]\ncritique = "tool"\n')
    assert groundwire("audit", "target_graph.py", cwd=tmp_path).code == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nowhere.py",), "neither a file, a folder nor module:graph"),
        (("target_graph.py", "--role", "critique=boss"), "boss"),
        (("target_graph.py", "--role", "critique"), "--role node=tool"),
        (("target_graph.py", "--roles", "none.toml"), "none.toml can't be read"),
        (("target_graph.py", "--roles", "bad.toml"), "bad.toml gives 'critique' the role 'boss'"),
        (("target_graph.py", "--source", "--import"), "--source imports nothing"),
        (("notes.txt",), "neither a Python file nor a notebook"),
        (("target_graph.py:a b",), "can't be the name of a graph"),
        ((".", "--import"), "can't be imported"),
        (("target_graph.py", "--sarif", "no/such/folder/a.sarif"), "can't be written"),
        (("no_such_package:graph", "--source"), "is not below this folder"),
    ],
)
def test_what_cannot_be_asked_is_a_usage_error_that_says_why(
    arguments: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    written(CRITIC, tmp_path)
    (tmp_path / "bad.toml").write_text('critique = "boss"\n')
    (tmp_path / "notes.txt").write_text("x")
    ran = groundwire("audit", *arguments, cwd=tmp_path)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err


def test_a_module_is_imported_in_a_process_of_its_own(tmp_path: Path) -> None:
    written(f"open('imported.txt', 'w').write('x')\n{CRITIC}", tmp_path)
    ran = groundwire("audit", "target_graph:graph", cwd=tmp_path)
    assert ran.code == 1
    assert f"✗ ungrounded-loop: {LOOP}" in ran.out
    assert "imported in a process of its own" in ran.out
    assert "sandbox" in ran.out
    assert not (tmp_path / "imported.txt").exists()
    source = groundwire("audit", "target_graph:graph", "--source", cwd=tmp_path)
    assert (source.code, "nothing was imported" in source.out) == (1, True)


def test_where_the_import_fails_the_source_still_tells(tmp_path: Path) -> None:
    path = written(CRITIC, tmp_path)
    path.write_text("raise RuntimeError('set MY_KEY')\n" + path.read_text())
    ran = groundwire("audit", "target_graph:graph", cwd=tmp_path)
    assert ran.code == 1, "what the source shows counts"
    assert "RuntimeError: set MY_KEY" in ran.out
    assert "audited from the source instead" in ran.out
    path.write_text("raise RuntimeError('set MY_KEY')\n" + written(CASES["3 exit status"], tmp_path).read_text())
    assert groundwire("audit", "target_graph:graph", cwd=tmp_path).code == 3, "not all was seen"


def test_a_factory_is_called_where_that_is_asked_for(tmp_path: Path) -> None:
    written(f"{CRITIC}\ndef make():\n    return g.compile()\n", tmp_path)
    refused = groundwire("audit", "target_graph:make", cwd=tmp_path)
    assert (refused.code, "--call" in refused.err) == (2, True)
    assert groundwire("audit", "target_graph:make", "--call", cwd=tmp_path).code == 1


def test_a_trace_names_the_jumps_that_nobody_declared(tmp_path: Path) -> None:
    source = """
    def a(state) -> Command[Literal["b"]]:
        return Command(goto=state["go"])
    def b(state):
        return {}
    g = StateGraph(dict)
    for name, node in (("a", a), ("b", b), ("c", b)):
        g.add_node(name, node)
    g.add_edge(START, "a")
    graph = g.compile()
    def inputs():
        return {"go": "c"}
    """
    written(source, tmp_path)
    arguments = ("audit", "target_graph.py:graph", "--trace", "target_graph:inputs")
    ran = groundwire(*arguments, cwd=tmp_path)
    assert "! a → c   taken, declared nowhere" in ran.out
    assert "a → b   declared, never taken" in ran.out
    assert groundwire(*arguments, "--json", cwd=tmp_path).data["trace"]["undeclared"] == [["a", "c"]]
    wrong = groundwire(*arguments[:3], "target_graph:nowhere", cwd=tmp_path)
    assert (wrong.code, "has no function 'nowhere'" in wrong.err) == (2, True)
