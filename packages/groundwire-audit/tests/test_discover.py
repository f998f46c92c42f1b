"""Source mode: files, folders and notebooks as they really lie about; nothing of them is ever run."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from audit_cases import CASES, written

from groundwire_audit._discover import audit_path
from groundwire_audit._errors import AuditError
from groundwire_audit._report import AuditReport, Grounding, Loop
from groundwire_audit.judging import _audit_graph as audit_graph
from groundwire_audit.judging._loops import loops_of
from groundwire_audit.judging._wiring import WiredGraph
from groundwire_audit.reading import _source_reader as source_reader
from groundwire_audit.reading._files import MAX_SOURCE_BYTES

CRITIC = CASES["1 write and critique, no map, no cap"]
EXIT_STATUS = CASES["3 exit status"]

LEAVES_TRACES = """
open(TRACE, "a").write("imported")
def write(state):
    open(TRACE, "a").write("node")
    return {"draft": llm.invoke("write").content}
@tool
def note(text: str) -> str:
    "Writes a note."
    open(TRACE, "a").write("tool")
    return text
def route(state):
    open(TRACE, "a").write("router")
    return "tools" if state["messages"][-1].tool_calls else END
class Build:
    def __init__(self):
        open(TRACE, "a").write("made")
        g = StateGraph(MessagesState)
        g.add_node("write", write)
        g.add_node("tools", ToolNode([note]))
        g.add_edge(START, "write")
        g.add_conditional_edges("write", route)
        g.add_edge("tools", "write")
        self.graph = g.compile()
graph = Build().graph
"""


def rules(report: AuditReport) -> set[str]:
    return {f.rule for f in report.all_findings()}


def notebook(path: Path, *cells: str) -> Path:
    body: dict[str, object] = {
        "cells": [
            {"cell_type": "markdown", "source": ["# A graph"]},
            *({"cell_type": "code", "source": c.splitlines(keepends=True)} for c in cells),
        ],
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {},
    }
    path.write_text(json.dumps(body))
    return path


def test_nothing_of_the_source_is_run(tmp_path: Path) -> None:
    trace = tmp_path / "trace.txt"
    report = audit_path(written(f"TRACE = {str(trace)!r}\n{LEAVES_TRACES}", tmp_path))
    assert [(x.path, x.verdict) for x in report.loops] == [("write → tools → write", Grounding.UNGROUNDED)]
    assert not trace.exists()


def test_a_folder_gives_each_graph_with_the_file_it_is_in(tmp_path: Path) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    written(CRITIC, tmp_path / "deep" / "er", "critic")
    written(EXIT_STATUS, tmp_path, "runs")
    (tmp_path / "other.py").write_text("print('nothing to do with it')\n")
    report = audit_path(tmp_path)
    found = {Path(g.place.file).name: [str(x.verdict) for x in g.loops] for g in report.graphs}
    assert found == {"critic.py": ["ungrounded"], "runs.py": ["grounded"]}
    assert report.exit_code() == 1


def test_environments_and_hidden_folders_are_left_out(tmp_path: Path) -> None:
    for name in (".hidden", "site-packages", "node_modules", "own_env"):
        (tmp_path / name).mkdir()
        written(CRITIC, tmp_path / name)
    (tmp_path / "own_env" / "pyvenv.cfg").write_text("home = /usr/bin\n")
    assert audit_path(tmp_path).graphs == ()


WRITE_AND_RUN = """
class S(TypedDict):
    draft: str
    code: int
def write(state):
    return {"draft": llm.invoke("write").content}
g = StateGraph(S)
g.add_node("write", write)
g.add_node("run", run)
g.add_edge(START, "write")
g.add_edge("write", "run")
g.add_conditional_edges("run", lambda s: END if s["code"] == 0 else "write", ["write", END])
graph = g.compile()
"""
"""`run` is named before it."""


def test_nodes_of_another_module_are_followed(tmp_path: Path) -> None:
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / "__init__.py").write_text("")
    (tmp_path / "agents" / "checks.py").write_text(
        "import subprocess\n\n\ndef run(state):\n    done = subprocess.run(['make'])\n"
        "    return {'code': done.returncode}\n"
    )
    source = f"from agents.checks import run\n{WRITE_AND_RUN}"
    (loop,) = audit_path(written(source, tmp_path)).loops
    assert (loop.verdict, loop.kind) == (Grounding.GROUNDED, "executed code")


def test_an_import_inside_a_package_begins_at_its_root_and_not_beside_the_importer(tmp_path: Path) -> None:
    package, tools = tmp_path / "agent", tmp_path / "tools"
    for folder in (package, tools):
        folder.mkdir()
    (package / "__init__.py").write_text("")
    (package / "tools.py").write_text("from tools import look\n")
    (tools / "__init__.py").write_text("import subprocess\ndef look(): return subprocess.run(['make']).returncode\n")
    own = "from agent.tools import look\nfrom tools import look as same\n"
    source = f"{own}def run(state):\n    return {{'code': look() + same()}}\n{WRITE_AND_RUN}"
    (loop,) = audit_path(written(source, package)).loops
    assert (loop.verdict, loop.kind) == (Grounding.GROUNDED, "executed code")


def test_what_its_author_switches_on_by_a_flag_is_no_dead_node(tmp_path: Path) -> None:
    source = """
    class Flags:
        graded: bool = True
    class S(TypedDict):
        text: str
    def build(flags: Flags | None = None):
        chosen = flags or Flags()
        g = StateGraph(S)
        for name in ("read", "grade", "accept"):
            g.add_node(name, lambda state: {"text": "x"})
        g.add_edge(START, "read")
        if chosen.graded:
            g.add_edge("read", "grade")
        else:
            g.add_edge("read", "accept")
        return g.compile()
    """
    report = audit_path(written(source, tmp_path))
    assert not [f for g in report.graphs for f in g.findings]


def test_a_class_whose_first_reading_was_cut_short_is_read_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source_reader, "MODULE_STEPS", 200)
    source = f"""
    class S(TypedDict):
        text: str
    class Team:
        def __init__(self):
            self.parts = self.make_parts()
            self.long = [{", ".join(f"int('{n}')" for n in range(300))}]
            self.wire()
        def make_parts(self):
            inner = StateGraph(S)
            inner.add_node("say", lambda state: {{"text": llm.invoke("x").content}})
            inner.add_edge(START, "say")
            return inner.compile()
        def wire(self):
            g = StateGraph(S)
            g.add_node("part", self.parts)
            g.add_node("look", lambda state: {{}})
            g.add_edge(START, "part")
            g.add_edge("part", "look")
            g.add_conditional_edges("look", lambda s: END if "ok" in s["text"] else "part", ["part", END])
            self.graph = g.compile()
    Team()
    """
    (loop,) = audit_path(written(source, tmp_path)).loops
    assert loop.path == "part → look → part"


def test_names_of_nodes_that_only_edges_spell_out_are_no_crash(tmp_path: Path) -> None:
    source = """
    class S(TypedDict):
        text: str
    def build(plan):
        g = StateGraph(S)
        for spec in plan.specs:
            g.add_node(spec.name, lambda state: {"text": llm.invoke("x").content})
        g.add_node("end", lambda state: {})
        g.add_edge(START, plan.specs[0].name)
        for n, spec in enumerate(plan.specs):
            g.add_edge(spec.name, plan.specs[n + 1].name if n + 1 < len(plan.specs) else "end")
        return g
    def main(plan):
        return build(plan).compile()
    """
    report = audit_path(written(source, tmp_path))
    assert report.graphs and not [f for g in report.graphs for f in g.findings if f.rule == "audit-failed"]


def test_a_graph_made_in_a_function_that_needs_arguments_is_read(tmp_path: Path) -> None:
    source = """
    def make_graph(llm, retries: int, name="writer"):
        def write(state):
            return {"draft": llm.invoke("write").content}
        def judge(state):
            return {"ok": llm.with_structured_output(dict).invoke(state["draft"])["ok"]}
        g = StateGraph(dict)
        g.add_node("write", write)
        g.add_node("judge", judge)
        g.set_entry_point("write")
        g.add_edge("write", "judge")
        g.add_conditional_edges("judge", lambda s: END if s["ok"] else "write")
        return g.compile(name=name)
    """
    report = audit_path(written(source, tmp_path))
    assert [(x.path, x.verdict) for x in report.loops] == [("write → judge → write", Grounding.UNGROUNDED)]


def test_one_graph_of_several_is_named(tmp_path: Path) -> None:
    second = EXIT_STATUS.replace("graph = g.compile()", "checked = g.compile()")
    path = written(CRITIC + second, tmp_path)
    assert len(audit_path(path).graphs) == 2
    assert [g.name for g in audit_path(path, wanted="checked").graphs] == ["checked"]
    with pytest.raises(AuditError, match="no graph 'nowhere'") as refused:
        audit_path(path, wanted="nowhere")
    assert refused.value.do == "Those that are there: checked, g, graph."


def test_a_notebook_is_read_with_its_magics_and_named_by_cell(tmp_path: Path) -> None:
    first = written("%pip install langgraph\n!ls -la\nfiles = !ls\n%%time\n", tmp_path).read_text()
    path = notebook(tmp_path / "book.ipynb", first, "%%bash\nthis is (not python", CRITIC, "graph.invoke?")
    report = audit_path(path)
    (loop,) = report.loops
    assert (loop.verdict, loop.place.cell) == (Grounding.UNGROUNDED, 4)
    line = CRITIC.splitlines()[loop.place.line - 1]
    assert "add_conditional_edges" in line
    assert rules(report) == set()


def test_a_broken_cell_costs_only_itself(tmp_path: Path) -> None:
    first = written("", tmp_path).read_text()
    report = audit_path(notebook(tmp_path / "book.ipynb", first, "def broken(:\n", CRITIC))
    assert [x.verdict for x in report.loops] == [Grounding.UNGROUNDED]
    (finding,) = report.findings
    assert (finding.rule, finding.place.cell) == ("syntax-error", 3)


@pytest.mark.parametrize(
    ("content", "rule"),
    [
        (b"from langgraph.graph import StateGraph\ndef broken(:\n", "syntax-error"),
        (b"# coding: no-such-thing\nfrom langgraph.graph import StateGraph\n", "unreadable-file"),
        (b"import langgraph\nx = '\x00'\n", "syntax-error"),
        (b"import langgraph\nx = " + b"(" * 5000 + b")" * 5000 + b"\n", "syntax-error"),
    ],
)
def test_what_is_not_python_is_a_finding_and_no_crash(content: bytes, rule: str, tmp_path: Path) -> None:
    path = tmp_path / "odd.py"
    path.write_bytes(content)
    report = audit_path(path)
    assert {f.rule for f in report.findings} <= {rule, "too-complex"}
    assert report.findings
    assert report.exit_code() == 3


@pytest.mark.parametrize("content", ["[]", "{}", '{"cells": 3}', "not json", "[" * 100_000, '{"cells": [1, {"a": 2}]}'])
def test_what_is_no_notebook_is_a_finding_and_no_crash(content: str, tmp_path: Path) -> None:
    path = tmp_path / "odd.ipynb"
    path.write_text(content)
    report = audit_path(path)
    assert report.exit_code() == 3
    assert rules(report) <= {"unreadable-file"}


@pytest.mark.parametrize("expression", ["+".join(["1"] * 20_000), "not " * 5000 + "1", "f" + "(1)" * 2000])
def test_a_very_long_expression_does_not_end_the_audit(expression: str, tmp_path: Path) -> None:
    written(CRITIC, tmp_path, "critic")
    (tmp_path / "long.py").write_text(f"import langgraph\nx = {expression}\n")
    report = audit_path(tmp_path)
    assert [x.verdict for x in report.loops] == [Grounding.UNGROUNDED]


def test_where_the_audit_itself_breaks_only_that_graph_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = loops_of

    def break_on_run(wiring: WiredGraph, prefix: str = "") -> list[Loop]:
        if "run" in wiring.graph.nodes:
            raise KeyError("nobody foresaw this")
        return real(wiring, prefix)

    monkeypatch.setattr(audit_graph, "loops_of", break_on_run)
    written(EXIT_STATUS, tmp_path, "runs")
    only = audit_path(tmp_path)
    assert (rules(only), only.exit_code()) == ({"audit-failed"}, 3)
    written(CRITIC, tmp_path, "critic")
    both = audit_path(tmp_path)
    assert ([x.verdict for x in both.loops], both.exit_code()) == ([Grounding.UNGROUNDED], 1)


def test_a_huge_file_is_not_read(tmp_path: Path) -> None:
    written(CRITIC, tmp_path, "critic")
    with (tmp_path / "huge.py").open("wb") as file:
        file.truncate(MAX_SOURCE_BYTES * 1000)
    report = audit_path(tmp_path)
    assert rules(report) == {"file-too-large"}
    assert [x.verdict for x in report.loops] == [Grounding.UNGROUNDED]


def test_links_in_a_circle_and_pipes_are_passed_by(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "self.py").symlink_to("self.py")
    os.mkfifo(tmp_path / "pipe.py")
    written(CRITIC, tmp_path, "critic")
    report = audit_path(tmp_path)
    assert len(report.graphs) == 1
    assert rules(audit_path(tmp_path / "pipe.py")) == {"unreadable-file"}


def test_modules_that_import_each_other_are_read_once(tmp_path: Path) -> None:
    (tmp_path / "left.py").write_text("from right import *\nimport right\nfrom target_graph import *\nA = right.B\n")
    (tmp_path / "right.py").write_text("from left import *\nimport left\nB = left.A\n")
    report = audit_path(written("from left import *\n" + CRITIC, tmp_path))
    assert [x.verdict for x in report.loops] == [Grounding.UNGROUNDED]


def test_the_old_graph_class_is_named_and_still_judged(tmp_path: Path) -> None:
    source = CRITIC.replace("g = StateGraph(S)", "from langgraph.graph import Graph\ng = Graph()")
    report = audit_path(written(source, tmp_path))
    assert "old-api" in rules(report)
    assert [x.verdict for x in report.loops] == [Grounding.UNGROUNDED]


@pytest.mark.parametrize(
    "expression",
    ["2 ** 10 ** 9", "1 << 10 ** 10", "'a' * 10 ** 10", "[0] * 10 ** 10", "9 ** 9 ** 9 ** 9", "10 ** 10 ** 10 % 7",
     "'%1000000000d' % 1", "f'{1:1000000000}'", "list(range(10 ** 12))", "sum(range(10 ** 12))",
     "[x for x in range(10 ** 9)]", "int('9' * 10 ** 6)", "'{:1000000000}'.format(1)", "'a'.ljust(10 ** 10)"],
)  # fmt: skip
def test_what_would_be_expensive_is_not_worked_out(expression: str, tmp_path: Path) -> None:
    source = (
        f"x = {expression}\nfor i in range(10 ** 12):\n    x = i\nwhile True:\n    x = x + x\n    if x: break\n{CRITIC}"
    )
    report = audit_path(written(source, tmp_path))
    assert [x.verdict for x in report.loops] == [Grounding.UNGROUNDED]


def test_folders_that_may_not_be_read_are_left_out(
    open_folder: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    (open_folder / "closed").mkdir(mode=0)
    written(CRITIC, open_folder)
    monkeypatch.chdir(open_folder)
    request.getfixturevalue("powerless")
    assert audit_path(open_folder).graphs


def test_a_statement_that_cannot_be_read_costs_itself_alone(tmp_path: Path) -> None:
    path = written(CRITIC, tmp_path)
    before, after = path.read_text().split("def critique")
    path.write_text(f"{before}class Broken:\n    def half(self:\n        pass\n\n\ndef critique{after}\nprint 'old'\n")
    report = audit_path(path)
    assert [x.path for x in report.loops] == ["write → critique → write"]
    assert [f.rule for f in report.findings] == ["syntax-error", "syntax-error"]
    assert {f.place.line for f in report.findings} == {
        path.read_text().splitlines().index(line) + 1 for line in ("    def half(self:", "print 'old'")
    }


def test_a_node_that_is_added_after_compiling_is_no_crash(tmp_path: Path) -> None:
    more = 'graph.add_node("late", write)\ngraph.add_edge("late", "write")\ngraph.get_graph().draw_mermaid_png()\n'
    report = audit_path(written(CRITIC + more, tmp_path))
    assert "audit-failed" not in rules(report)
    assert [x.path for x in report.loops] == ["write → critique → write"]
