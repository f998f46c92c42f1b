"""`groundwire-audit` as linters are used: what is left out and why, baselines, formats, patches, exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from audit_cases import CASES, PRELUDE, written

from groundwire_audit import main

CRITIC = CASES["1 write and critique, no map, no cap"]
EXIT_STATUS = CASES["3 exit status"]
BRANCH = 'g.add_conditional_edges("critique", route)'


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    """The exit code and what was printed."""
    code = main(arguments)
    return code, capsys.readouterr().out


def found(capsys: pytest.CaptureFixture[str], *arguments: str) -> set[str]:
    """The files with an ungrounded loop."""
    report = json.loads(said(capsys, ".", "--json", *arguments)[1])
    return {x["place"]["file"] for g in report["graphs"] for x in g["loops"] if x["verdict"] == "ungrounded"}


# One line a finding.


def test_a_finding_is_one_line_with_its_place_rule_way_reason_and_change(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(CRITIC, folder)
    line = path.read_text().splitlines().index(BRANCH) + 1
    code, out = said(capsys, "target_graph.py")
    (first, _) = out.splitlines()
    assert code == 1
    assert first.startswith(f"target_graph.py:{line}:3: ✗ ungrounded-loop: write → critique → write: nothing outside")
    assert "state['approved'] ← a model (Chat)" in first
    assert "; change: between critique and write ask something outside" in first
    assert 'compile(interrupt_before=["write"])' in first


def test_graphs_without_a_loop_are_one_line_together(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plain = CRITIC.replace(BRANCH, "")
    written(CRITIC, folder, "a")
    written(plain, folder, "b")
    written(plain.replace("\ngraph =", "\nother ="), folder, "c")
    out = said(capsys, ".")[1]
    assert "2 graphs without a loop: graph, other" in out
    assert len(out.splitlines()) == 3


def test_a_wrong_name_lists_those_that_are_there(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(CRITIC, folder)
    assert main(["target_graph.py:nothing"]) == 2
    assert "Those that are there: g, graph." in capsys.readouterr().err


# What is left out of a folder.


@pytest.mark.parametrize(
    ("ignores", "excluded", "left"),
    [
        ("", (), {"a.py", "old/b.py", "old/keep.py"}),
        ("old/\n", (), {"a.py"}),
        ("old/*\n!old/keep.py\n", (), {"a.py", "old/keep.py"}),
        ("# a.py\n\n/b.py\n", (), {"a.py", "old/b.py", "old/keep.py"}),
        ("b.p?\n", (), {"a.py", "old/keep.py"}),
        ("**/k[a-f]ep.py\n", (), {"a.py", "old/b.py"}),
        ("**/**/**/**/**/**/**/**/b.py\n", (), {"a.py", "old/keep.py"}),
        ("*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b\n", (), {"a.py", "old/b.py", "old/keep.py"}),
        ("", ("old",), {"a.py"}),
        ("", ("old/b.py", "a.*"), {"old/keep.py"}),
    ],
)
def test_what_git_ignores_or_the_caller_excludes_is_left_out(
    ignores: str, excluded: tuple[str, ...], left: set[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "old").mkdir()
    for place, name in ((folder, "a"), (folder / "old", "b"), (folder / "old", "keep")):
        written(CRITIC, place, name)
    (folder / ".gitignore").write_text(ignores)
    assert found(capsys, *(x for e in excluded for x in ("--exclude", e))) == left


def test_patterns_above_the_folder_count_up_to_where_git_begins(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = folder / "one" / "two"
    inner.mkdir(parents=True)
    written(CRITIC, inner, "a")
    written(CRITIC, inner, "b")
    (folder / ".gitignore").write_text("one/two/a.py\n")
    monkeypatch.chdir(inner)
    assert found(capsys) == {"a.py", "b.py"}
    (folder / ".git").mkdir()
    assert found(capsys) == {"b.py"}


def test_tests_are_left_out_and_said(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "tests").mkdir()
    written(CRITIC, folder / "tests", "helper")
    written(CRITIC, folder, "test_graph")
    written(EXIT_STATUS, folder, "graph")
    code, out = said(capsys, ".")
    assert code == 0
    assert "2 test files left out: --tests audits them too" in out
    assert found(capsys, "--tests") == {"tests/helper.py", "test_graph.py"}
    assert said(capsys, "test_graph.py")[0] == 1, "a file that is named is audited"


def test_a_caller_that_mentions_no_langgraph_is_found_beside_its_maker(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "maker.py").write_text(
        "from langgraph.graph import END, StateGraph\n"
        "def make(steps, first, last):\n"
        "    g = StateGraph(dict)\n"
        "    for name, step in steps.items():\n        g.add_node(name, step)\n"
        "    g.set_entry_point(first)\n    g.add_edge(first, last)\n"
        "    g.add_conditional_edges(last, lambda s: first if s['ok'] == 'no' else END)\n"
        "    return g.compile()\n"
    )
    (folder / "zoo.py").write_text(
        "from maker import make\nfrom openai import OpenAI\n"
        "def ask(state):\n    return {'ok': OpenAI().chat.completions.create(messages=[]).choices[0].message.content}\n"
        "def zoo():\n    return make({'ask': ask, 'judge': ask}, 'ask', 'judge')\n"
    )
    out = said(capsys, ".")[1]
    assert "ungrounded-loop: ask → judge → ask" in out
    assert "unknown-loop" not in out


# Comments and baselines.


@pytest.mark.parametrize(
    ("comment", "code", "rules"),
    [
        ("# groundwire: ignore[ungrounded-loop] the editor reads each draft", 0, set[str]()),
        ("# groundwire: ignore[dead-node, ungrounded-loop]: the editor reads each draft", 0, set[str]()),
        ("# groundwire: ignore[ungrounded-loop]", 1, {"ignore-without-reason"}),
        ("# groundwire: ignore[unknown-loop] the editor reads each draft", 1, {"unused-ignore"}),
        ("# groundwire: ignore[ungrounded] the editor reads each draft", 1, {"unused-ignore"}),
    ],
)
@pytest.mark.parametrize("above", [True, False])
def test_a_comment_with_a_reason_leaves_a_finding_out(
    comment: str, code: int, rules: set[str], above: bool, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = f"{comment}\n{BRANCH}" if above else f"{BRANCH}  {comment}"
    written(CRITIC.replace(BRANCH, line), folder)
    ended, out = said(capsys, "target_graph.py", "--json")
    report = json.loads(out)
    assert ended == code
    assert {f["rule"] for f in report["findings"]} == rules
    (loop,) = report["graphs"][0]["loops"]
    assert loop["verdict"] == "ungrounded", "what it is does not change"
    assert (loop["suppressed"] == "the editor reads each draft") is (code == 0)


def test_what_is_left_out_is_shown_with_its_reason(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    comment = "  # groundwire: ignore[ungrounded-loop] the editor reads each draft"
    written(CRITIC.replace(BRANCH, BRANCH + comment), folder)
    out = said(capsys, "target_graph.py")[1]
    assert "left out: the editor reads each draft" in out
    assert "1 left out by a comment" in out
    log = json.loads(said(capsys, "target_graph.py", "--format", "sarif")[1])
    (result,) = log["runs"][0]["results"]
    assert result["suppressions"] == [{"kind": "inSource", "justification": "the editor reads each draft"}]


def test_a_baseline_knows_loops_by_what_they_are_and_not_by_their_line(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(CRITIC, folder)
    assert said(capsys, "target_graph.py", "--write-baseline", "known.json")[0] == 1
    path.write_text("\n\n# moved\n" + path.read_text())
    code, out = said(capsys, "target_graph.py", "--baseline", "known.json")
    assert code == 1 and "; known" in out, "without --fail-on-new it only shows"
    assert said(capsys, "target_graph.py", "--baseline", "known.json", "--fail-on-new")[0] == 0
    more = 'g.add_node("polish", write)\ng.add_edge("polish", "polish")\ng.add_edge("write", "polish")\n'
    path.write_text(path.read_text().replace("graph = g", f"{more}graph = g"))
    code, out = said(capsys, "target_graph.py", "--baseline", "known.json", "--fail-on-new")
    assert code == 1
    assert "1 known" in out


def test_what_is_no_baseline_is_said(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(CRITIC, folder)
    assert main(["target_graph.py", "--fail-on-new"]) == 2
    (folder / "b.json").write_text("[]")
    for name in ("b.json", "none.json"):
        assert main(["target_graph.py", "--baseline", name]) == 2
    assert "--write-baseline" in capsys.readouterr().err


# Formats and patches.


def test_github_annotations_can_not_be_forged(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = r"crit\n::error::100%,line=1"
    written(CRITIC.replace('"critique"', f'"{name}"'), folder)
    code, out = said(capsys, "target_graph.py", "--format", "github")
    (line,) = out.splitlines()
    assert code == 1
    assert line.startswith("::error file=target_graph.py,line=")
    assert "title=ungrounded-loop::write → crit ::error::100%25,line=1 → write" in line


def test_markdown_shows_text_and_no_markup(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(CRITIC.replace('"critique"', '"<b>|x|[a](b)"'), folder)
    out = said(capsys, "target_graph.py", "--format", "markdown")[1]
    row = next(x for x in out.splitlines() if "ungrounded-loop" in x)
    assert row.count("|") == 6
    assert "<b>" not in out and "[a]" not in out


@pytest.mark.parametrize(
    ("compiled", "fixed"),
    [
        ("g.compile()", 'g.compile(interrupt_before=["write"])'),
        ("g.compile(debug=True)", 'g.compile(debug=True, interrupt_before=["write"])'),
        ("g.compile(\n    debug=True,\n)", 'g.compile(\n    debug=True,\n    interrupt_before=["write"],\n)'),
        ("g.compile(\n    debug=True\n)", 'g.compile(\n    debug=True,\n    interrupt_before=["write"],\n)'),
    ],
)
def test_a_patch_lets_a_person_decide_and_the_loop_is_grounded_then(
    compiled: str, fixed: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(CRITIC.replace("g.compile()", compiled), folder)
    code, patch = said(capsys, "target_graph.py", "--fix")
    assert code == 1
    subprocess.run(["patch", "-p0"], input=patch, text=True, check=True, capture_output=True)
    assert f"graph = {fixed}" in path.read_text()
    assert said(capsys, "target_graph.py")[0] == 0


def test_where_nothing_can_be_fixed_the_patch_is_empty(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(EXIT_STATUS, folder)
    assert said(capsys, "target_graph.py", "--fix") == (0, "")


# Another interpreter, newer syntax.


def test_another_python_reads_the_source(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    written(CRITIC, folder)
    assert main(["target_graph.py", "--python", sys.executable, "--json"]) == 1
    assert json.loads(capfd.readouterr().out)["exit_code"] == 1
    assert main(["target_graph.py", "--python", "/nowhere/python"]) == 2
    assert "can't be run" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("line", "version", "since"),
    [
        ("type Names = list[str]", "3.12", (3, 12)),
        ("def first[T](x: T) -> T: return x", "3.12", (3, 12)),
        ("class Box[T]: pass", "3.12", (3, 12)),
        ("t'{x}'", "3.14", (3, 14)),
    ],
)
def test_newer_syntax_is_called_that(
    line: str, version: str, since: tuple[int, int], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if sys.version_info >= since:
        pytest.skip("this Python reads it")
    (folder / "graph.py").write_text(f"{PRELUDE}x = {{}}\n{line}\n")
    code, out = said(capsys, "graph.py", "--json")
    (finding,) = json.loads(out)["findings"]
    assert (code, finding["rule"]) == (3, "newer-syntax")
    assert f"Syntax of Python {version}" in finding["message"]


def test_what_is_no_python_at_all_is_a_syntax_error(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "graph.py").write_text("from langgraph.graph import StateGraph\nprint 'old'\n")
    code, out = said(capsys, "graph.py", "--json")
    assert (code, json.loads(out)["findings"][0]["rule"]) == (3, "syntax-error")
