"""Nodes whose names, maps or makers are not literals: kept, or said to be out of sight."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from audit_cases import PRELUDE, written

from groundwire_audit._discover import audit_path
from groundwire_audit._report import AuditReport, Grounding

NODES = """
class S(TypedDict):
    text: str
    ok: str
def write(state):
    return {"text": llm.invoke("write").content}
def judge(state):
    return {"ok": llm.invoke("good? " + state["text"]).content}
"""


def audited(source: str, folder: Path) -> AuditReport:
    """The audit of a file that begins with two nodes."""
    return audit_path(written(NODES + source, folder))


@pytest.mark.parametrize(
    ("first", "second"),
    [("first", "second"), ('f"{first}_step"', 'f"{second}_step"'), ('first + "_a"', 'first + "_b"')],
)
def test_nodes_may_be_named_by_parameters(first: str, second: str, tmp_path: Path) -> None:
    report = audited(
        f"""
def make(first, second):
    g = StateGraph(S)
    g.add_node({first}, write)
    g.add_node({second}, judge)
    g.set_entry_point({first})
    g.add_edge({first}, {second})
    g.add_conditional_edges({second}, lambda s: "end" if s["ok"] == "yes" else "on", {{"end": END, "on": {first}}})
    return g.compile()
""",
        tmp_path,
    )
    assert [x.verdict for x in report.loops] == [Grounding.UNGROUNDED]


def test_a_tool_node_is_called_as_it_says(tmp_path: Path) -> None:
    report = audited(
        """
@tool
def look_up(q: str) -> str:
    "Looks up."
    return urllib.request.urlopen(q).read().decode()
look = ToolNode([look_up], name="look")
def agent(state: MessagesState):
    return {"messages": [llm.bind_tools([look_up]).invoke(state["messages"])]}
g = StateGraph(MessagesState)
g.add_node(agent)
g.add_node(look)
g.add_edge(START, "agent")
g.add_conditional_edges("agent", lambda s: "look" if s["messages"][-1].tool_calls else END)
g.add_edge("look", "agent")
graph = g.compile()
""",
        tmp_path,
    )
    assert [(x.path, x.verdict) for x in report.loops] == [("agent → look → agent", Grounding.TOOL_LOOP)]
    assert not list(report.all_findings())


MAKER = """
from langgraph.graph import END, StateGraph
def make(steps, first, last):
    g = StateGraph(dict)
    for name, step in steps.items():
        g.add_node(name, step)
    g.set_entry_point(first)
    g.add_edge(first, last)
    g.add_conditional_edges(last, lambda s: "on" if s["ok"] == "no" else "end", {"on": first, "end": END})
    return g.compile()
"""


def test_a_maker_in_another_module_is_followed_from_who_calls_it(tmp_path: Path) -> None:
    (tmp_path / "maker.py").write_text(MAKER)
    caller = tmp_path / "agent.py"
    caller.write_text(
        PRELUDE
        + "from maker import make\n"
        + textwrap.dedent(NODES)
        + 'def agent():\n    return make({"write": write, "judge": judge}, "write", "judge")\n'
    )
    report = audit_path(caller)
    assert [(x.path, x.verdict) for x in report.loops] == [("write → judge → write", Grounding.UNGROUNDED)]


def test_a_maker_whose_nodes_are_not_in_sight_is_unknown(tmp_path: Path) -> None:
    path = tmp_path / "maker.py"
    path.write_text(MAKER)
    report = audit_path(path)
    assert [x.verdict for x in report.loops] == [Grounding.UNKNOWN]
    assert report.exit_code() == 3


SWITCHED = """
class Agent:
    def __init__(self):
        self.configure()
    def configure(self, {parameter}):
        g = StateGraph(S)
        g.add_node("write", write)
        g.set_entry_point("write")
        if {test}:
            g.add_node("judge", judge)
            g.add_edge("write", "judge")
            g.add_conditional_edges("judge", lambda s: END if s["ok"] == "yes" else "write", ["write", END])
        else:
            g.add_edge("write", END)
        self.app = g.compile()
"""


@pytest.mark.parametrize(
    ("parameter", "test"), [("critic=False", "critic"), ("rounds=0", "rounds > 0"), ("judges=None", "judges")]
)
def test_what_a_class_leaves_off_can_be_switched_on(parameter: str, test: str, tmp_path: Path) -> None:
    report = audited(SWITCHED.format(parameter=parameter, test=test), tmp_path)
    assert [(x.path, x.verdict) for x in report.loops] == [("write → judge → write", Grounding.UNGROUNDED)]


@pytest.mark.parametrize("kind", ["CompiledStateGraph", "Pregel", "StateGraph"])
def test_a_graph_that_is_handed_in_can_do_anything(kind: str, tmp_path: Path) -> None:
    report = audited(
        f"""
from langgraph.graph.state import CompiledStateGraph
from langgraph.pregel import Pregel
def make(inner: {kind}, check: {kind}):
    g = StateGraph(S)
    g.add_node("inner", inner)
    g.add_node("check", check)
    g.add_edge(START, "inner")
    g.add_edge("inner", "check")
    g.add_conditional_edges("check", lambda s: "inner" if s["text"] else END, ["inner", END])
    return g
""",
        tmp_path,
    )
    assert [x.verdict for x in report.loops] == [Grounding.UNKNOWN]
    assert report.exit_code() == 3
