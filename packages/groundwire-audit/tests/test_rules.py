"""Each rule has a page, whose first example breaks it and whose second one does not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from groundwire_audit._discover import audit_path
from groundwire_audit._report import Level
from groundwire_audit._rules import RULES, change_for, rule_of

PAGES = Path(__file__).parents[3] / "docs" / "audit-rules"
pytestmark = pytest.mark.skipif(not PAGES.is_dir(), reason="the pages are in the repository, not in the distribution")


def examples(rule: str) -> list[str]:
    """The programs of a page."""
    return re.findall(r"^```python\n(.*?)^```", (PAGES / f"{rule}.md").read_text(), flags=re.MULTILINE | re.DOTALL)


def broken(source: str, folder: Path) -> set[str]:
    """The rules that a program breaks."""
    path = folder / "graph.py"
    path.write_text(source)
    report = audit_path(path)
    return {f.rule for f in report.all_findings()} | {rule_of(x) for x in report.loops if x.level is not Level.NONE}


def test_there_is_a_page_for_each_rule_and_no_other() -> None:
    assert {p.stem for p in PAGES.glob("*.md")} == set(RULES)


@pytest.mark.parametrize("rule", [r for r in RULES if PAGES.is_dir() and examples(r)])
def test_the_first_example_breaks_the_rule_and_the_second_does_not(rule: str, tmp_path: Path) -> None:
    bad, good = examples(rule)
    assert rule in broken(bad, tmp_path)
    assert rule not in broken(good, tmp_path)


GRAPH = """
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, StateGraph
def write(state):
    return {"text": ChatOpenAI().invoke("write").content}
def judge(state):
    return {"good": "yes" in ChatOpenAI().invoke(state["text"]).content}
def polish(state):
    return {"text": polished(state["text"])}
g = StateGraph(dict)
for name, node in {"write": write, "judge": judge, "polish": polish}.items():
    g.add_node(name, node)
g.add_edge(START, "write")
g.add_edge("write", "judge")
g.add_conditional_edges("judge", lambda s: END if s["good"] else "polish", ["polish", END])
g.add_edge("polish", "write")
graph = g.compile()
"""


def test_the_change_is_asked_for_where_it_is_decided_and_the_role_of_whom_nobody_sees(tmp_path: Path) -> None:
    path = tmp_path / "graph.py"
    path.write_text(GRAPH.replace('polished(state["text"])', "'x'"))
    (decided,) = audit_path(path).loops
    assert "between judge and polish ask something outside" in change_for(decided)
    path.write_text(
        GRAPH.replace('{"good": "yes" in ChatOpenAI()', '{"good": "yes" in judges()').replace("polished", "")
    )
    (unseen,) = audit_path(path).loops
    assert "--role judge=tool" in change_for(unseen)


def test_what_ends_a_loop_in_a_nodes_source_is_no_limit_of_the_graph(tmp_path: Path) -> None:
    again = """
    tries = 0
    while tries < 3:
        try:
            return {"text": json.loads(ChatOpenAI().invoke("x").content)}
        except ValueError:
            tries += 1
"""
    path = tmp_path / "graph.py"
    path.write_text("import json\n" + GRAPH.replace('    return {"text": polished(state["text"])}', again))
    inside = [x for x in audit_path(path).loops if x.inside]
    assert [(x.cap, x.notes) for x in inside] == [("capped", ())]


def test_every_loop_that_breaks_a_rule_has_a_smallest_change(tmp_path: Path) -> None:
    for rule in ("ungrounded-loop", "partly-grounded-loop", "unknown-loop", "form-only-loop"):
        path = tmp_path / "graph.py"
        path.write_text(examples(rule)[0])
        assert [bool(change_for(x)) for x in audit_path(path).loops] == [True]
