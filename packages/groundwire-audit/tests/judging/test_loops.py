"""The verdict is per loop, and comes from what really decides, not from what a node or key is called."""

from __future__ import annotations

from pathlib import Path

import pytest
from audit_cases import imported, written

from groundwire_audit._discover import audit_path
from groundwire_audit._report import AuditReport, Grounding, Level, Loop
from groundwire_audit.live._graphs import audit_object

CRITIC_BESIDE_TOOLS = """
class S(MessagesState):
    draft: str
    good: bool
@tool
def look_up(city: str) -> str:
    "The weather."
    return urllib.request.urlopen("http://weather/" + city).read().decode()
def agent(state):
    return {"messages": [llm.bind_tools([look_up]).invoke(state["messages"])]}
def critic(state):
    said = llm.with_structured_output(dict).invoke(state["messages"][-1])
    return {"good": said["good"]}
def after_agent(state):
    return "tools" if state["messages"][-1].tool_calls else "critic"
g = StateGraph(S)
g.add_node("agent", agent)
g.add_node("tools", ToolNode([look_up]))
g.add_node("critic", critic)
g.add_edge(START, "agent")
g.add_conditional_edges("agent", after_agent, ["tools", "critic"])
g.add_edge("tools", "agent")
g.add_conditional_edges("critic", lambda s: END if s["good"] else "agent", ["agent", END])
graph = g.compile()
"""

JUDGED = """
class S(TypedDict):
    answer: str
    marks: dict
    score: float
def answer(state):
    return {{"answer": llm.invoke("answer").content}}
def judge(state):
    marks = llm.with_structured_output(dict).invoke(state["answer"])
    {body}
def route(state):
    return END if state["score"] >= 0.7 else "answer"
g = StateGraph(S)
g.add_node("answer", answer)
g.add_node("judge", judge)
g.add_edge(START, "answer")
g.add_edge("answer", "judge")
g.add_conditional_edges("judge", route, ["answer", END])
graph = g.compile()
"""

WIRED_ONLY = """
class S(TypedDict):
    x: int
def a(state):
    return {{"x": 1}}
g = StateGraph(S)
{wiring}
graph = g
"""


def by_path(report: AuditReport) -> dict[str, Loop]:
    return {x.path: x for x in report.loops}


def test_a_critic_loop_beside_a_tool_loop_is_still_seen(tmp_path: Path) -> None:
    loops = by_path(audit_path(written(CRITIC_BESIDE_TOOLS, tmp_path)))
    assert {p: str(x.verdict) for p, x in loops.items()} == {
        "agent → tools → agent": "tool_loop",
        "agent → critic → agent": "ungrounded",
    }
    assert loops["agent → critic → agent"].level is Level.ERROR


@pytest.mark.parametrize(
    "body",
    [
        "return {'score': sum(marks.values()) / len(marks)}",
        "return {'score': 1.0 if all(marks.values()) else 0.0}",
        "return {'score': max(0.0, min(1.0, float(marks['score']) * 0.1))}",
        "import statistics\n    return {'score': statistics.mean(float(v) for v in marks.values())}",
        "weights = {'a': 0.5, 'b': 0.5}\n    return {'score': sum(w * marks[k] for k, w in weights.items())}",
        "score = 0\n    for mark in marks.values():\n        if mark > 3:\n            score += 1\n"
        "    return {'score': score / 5}",
    ],
    ids=["mean", "all", "clamped", "statistics", "weighted", "counted"],
)
def test_arithmetic_on_a_models_own_ratings_is_still_the_models_word(body: str, tmp_path: Path) -> None:
    (loop,) = audit_path(written(JUDGED.format(body=body), tmp_path)).loops
    assert (loop.verdict, loop.kind) == (Grounding.UNGROUNDED, "model's judgement")
    assert "a model (Chat)" in loop.why


def test_the_same_arithmetic_on_a_test_run_is_grounded(tmp_path: Path) -> None:
    body = "done = subprocess.run(['pytest', '-q'], capture_output=True)\n    return {'score': 1.0 - done.returncode}"
    (loop,) = audit_path(written(JUDGED.format(body=body), tmp_path)).loops
    assert (loop.verdict, loop.kind) == (Grounding.GROUNDED, "executed code")


@pytest.mark.parametrize("name", ["run_tests", "verify", "human_review", "compiler", "fact_check"])
def test_a_name_grounds_nothing(name: str, tmp_path: Path) -> None:
    source = JUDGED.format(body="return {'score': marks['score']}").replace('"judge"', f'"{name}"')
    (loop,) = audit_path(written(source, tmp_path)).loops
    assert (loop.path, loop.verdict) == (f"answer → {name} → answer", Grounding.UNGROUNDED)


@pytest.mark.parametrize(
    ("wiring", "rule"),
    [
        ('g.add_node("a", a)\ng.add_node("b", a)\ng.add_edge(START, "a")\ng.add_edge("a", END)', "dead-node"),
        ('g.add_node("a", a)\ng.add_node("b", a)\ng.add_edge(START, "a")\ng.add_edge("a", "b")\ng.add_edge("b", "a")',
         "no-exit"),
        ('g.add_node("a", a)\ng.add_edge(START, "a")\ng.add_edge("a", "typo")', "unknown-node"),
        ('g.add_node("a", a)\ng.add_edge(START, "a")\ng.add_conditional_edges("a", lambda s: "nowhere")',
         "unknown-target"),
        ('g.add_node("a", a)\ng.add_edge(START, "a")\ng.add_conditional_edges("a", lambda s: "no", {"yes": "a"})',
         "label-not-in-map"),
    ],
)  # fmt: skip
def test_wrong_wiring_is_a_finding(wiring: str, rule: str, tmp_path: Path) -> None:
    report = audit_path(written(WIRED_ONLY.format(wiring=wiring), tmp_path))
    assert {f.rule for f in report.all_findings()} == {rule}
    assert report.exit_code(strict=True) == 1


def test_a_node_that_a_flag_of_some_caller_would_wire_is_not_dead(tmp_path: Path) -> None:
    source = """
    OFF = {"more": False}
    def a(state):
        return {"x": 1}
    def build(more: bool):
        g = StateGraph(dict)
        g.add_node("a", a)
        g.add_node("extra", a)
        g.add_edge(START, "a")
        if more:
            g.add_edge("a", "extra")
        else:
            g.add_edge("a", END)
        g.add_edge("extra", END)
        return g.compile()
    def make():
        return build(OFF["more"])
    """
    assert list(audit_path(written(source, tmp_path)).all_findings()) == []


@pytest.mark.parametrize(
    "router",
    ["flow.route", "flow", "partial(route, flow)", "lambda s: route(flow, s)"],
    ids=["a method", "an object", "with an argument", "a lambda"],
)
def test_what_a_router_that_two_branches_share_says_for_the_other_is_no_key_error(router: str, tmp_path: Path) -> None:
    source = f"""
    from functools import partial
    def route(flow, state):
        return {{"w": "again", "j": "fix"}}.get(state["kind"], "end")
    class Flow:
        def route(self, state):
            if state["kind"] == "w":
                return "again"
            return "fix" if state["kind"] == "j" else "end"
        __call__ = route
    flow = Flow()
    def a(state):
        return {{"kind": ChatOpenAI().invoke("x").content}}
    g = StateGraph(dict)
    g.add_node("a", a)
    g.add_node("b", a)
    g.add_edge(START, "a")
    g.add_conditional_edges("a", {router}, {{"again": "a", "end": "b"}})
    g.add_conditional_edges("b", {router}, {{"fix": "a", "end": END}})
    graph = g.compile()
    """
    assert list(audit_path(written(source, tmp_path)).all_findings()) == []


def test_a_jump_that_is_not_declared_is_a_finding(tmp_path: Path) -> None:
    source = """
    class S(TypedDict):
        x: int
    def a(state) -> Command[Literal["b"]]:
        return Command(goto="b" if state["x"] else "c")
    def b(state):
        return {"x": 1}
    g = StateGraph(S)
    g.add_node("a", a)
    g.add_node("b", b)
    g.add_node("c", b)
    g.add_edge(START, "a")
    graph = g.compile()
    """
    report = audit_path(written(source, tmp_path))
    assert {f.rule for f in report.all_findings()} == {"undeclared-jump"}


def test_more_loops_than_can_be_listed_are_not_passed_as_seen(tmp_path: Path) -> None:
    source = """
    class S(TypedDict):
        score: str
    def step(state):
        return {"score": subprocess.run(["make"], capture_output=True).stdout.decode()}
    names = [f"n{i}" for i in range(12)]
    g = StateGraph(S)
    for name in names:
        g.add_node(name, step)
        g.add_conditional_edges(name, lambda s: s["score"], [*names, END])
    g.add_edge(START, "n0")
    graph = g
    """
    report = audit_object(imported(written(source, tmp_path)).graph)
    assert {x.verdict for x in report.loops} <= {Grounding.GROUNDED, Grounding.WORKLIST}
    assert {f.rule for f in report.all_findings()} == {"too-many-loops"}
    assert report.exit_code() == 3


def test_send_and_parallel_branches_are_ways_round(tmp_path: Path) -> None:
    source = """
    class S(TypedDict):
        parts: Annotated[list, operator.add]
        good: bool
    def plan(state):
        return {"parts": []}
    def draft(state):
        return {"parts": [llm.invoke("part").content]}
    def review(state):
        return {"good": "yes" in llm.invoke(str(state["parts"])).content}
    def fan_out(state):
        return [Send("draft", {"part": p}) for p in ("a", "b")]
    g = StateGraph(S)
    g.add_node("plan", plan)
    g.add_node("draft", draft)
    g.add_node("review", review)
    g.add_edge(START, "plan")
    g.add_conditional_edges("plan", fan_out, ["draft"])
    g.add_edge("draft", "review")
    g.add_conditional_edges("review", lambda s: END if s["good"] else "plan", ["plan", END])
    graph = g.compile()
    """
    path = written(source, tmp_path)
    for report in (audit_path(path), audit_object(imported(path).graph)):
        (loop,) = report.loops
        assert (loop.path, loop.verdict) == ("plan → draft → review → plan", Grounding.UNGROUNDED)


def test_a_graph_run_in_a_node_is_shown_inside_it(tmp_path: Path) -> None:
    source = """
    class S(TypedDict):
        draft: str
        ok: bool
    def write(state):
        return {"draft": llm.invoke("w").content}
    def critique(state):
        return {"ok": "good" in llm.invoke(state["draft"]).content}
    inner = StateGraph(S)
    inner.add_node("write", write)
    inner.add_node("critique", critique)
    inner.add_edge(START, "write")
    inner.add_edge("write", "critique")
    inner.add_conditional_edges("critique", lambda s: END if s["ok"] else "write")
    outer = StateGraph(S)
    outer.add_node("polish", inner.compile())
    outer.add_edge(START, "polish")
    outer.add_edge("polish", END)
    graph = outer.compile()
    """
    path = written(source, tmp_path)
    for report in (audit_path(path, wanted="graph"), audit_object(imported(path).graph)):
        assert [x.path for x in report.loops] == ["polish/write → polish/critique → polish/write"]
        assert report.exit_code() == 1


@pytest.mark.parametrize(("left", "wanted"), [("len(leads)", "worklist"), ("3", "ungrounded")])
def test_a_count_down_from_how_many_there_were_works_through_items(left: str, wanted: str, tmp_path: Path) -> None:
    source = f"""
import requests
from langchain_openai import ChatOpenAI
from langgraph.graph import END, StateGraph
llm = ChatOpenAI()
def fetch(s):
    leads = requests.get("https://crm.example/leads").json()
    return {{"leads": leads, "left": {left}}}
def take(s):
    return {{"lead": s["leads"].pop()}}
def score(s):
    return {{"score": llm.invoke(str(s["lead"])).content}}
def write(s):
    return {{"left": s["left"] - 1}}
g = StateGraph(dict)
for name, node in (("fetch", fetch), ("take", take), ("score", score), ("write", write), ("skip", write)):
    g.add_node(name, node)
g.set_entry_point("fetch")
g.add_edge("fetch", "take")
g.add_conditional_edges("take", lambda s: "go" if s["left"] > 0 else "stop", {{"go": "score", "stop": END}})
g.add_conditional_edges("score", lambda s: "yes" if "good" in s["score"] else "no", {{"yes": "write", "no": "skip"}})
g.add_edge("write", "take")
g.add_edge("skip", "take")
app = g.compile()
"""
    assert {str(x.verdict) for x in audit_path(written(source, tmp_path)).loops} == {wanted}
