"""Queues, lists that are changed in place, actions that a model chooses, settings: by what they do, else unknown."""

from __future__ import annotations

from pathlib import Path

import pytest
from audit_cases import written

from groundwire_audit._discover import audit_path
from groundwire_audit._report import Grounding, Loop


def only_loop(source: str, folder: Path) -> Loop:
    """The loop of a graph that has one."""
    (loop,) = audit_path(written(source, folder)).loops
    return loop


ANSWERED = """
import queue, threading
inbox = queue.Queue()
def write(state):
    {body}
    return {{"text": llm.invoke(answer).content, "done": answer}}
g = StateGraph(dict)
g.add_node("write", write)
g.add_edge(START, "write")
g.add_conditional_edges("write", lambda s: END if s["done"] == "yes" else "write", ["write", END])
graph = g.compile()
"""
RUNS_IT = """out = queue.Queue()
    def work(code, results):
        results.put(subprocess.run(code).stdout)
    threading.Thread(target=work, args=(state["code"], out)).start()
    answer = out.get()"""


@pytest.mark.parametrize(
    ("body", "verdict"),
    [("answer = inbox.get()", Grounding.UNKNOWN), (RUNS_IT, Grounding.GROUNDED)],
    ids=["somebody fills it", "filled here by what is run"],
)
def test_what_comes_out_of_a_queue_is_what_was_put_in(body: str, verdict: Grounding, tmp_path: Path) -> None:
    assert only_loop(ANSWERED.format(body=body), tmp_path).verdict is verdict


def test_items_that_are_taken_off_in_place_are_a_worklist(tmp_path: Path) -> None:
    loop = only_loop(
        """
class S(TypedDict):
    open: list
    notes: list
def work(state):
    item = state["open"].pop(0)
    return {"notes": [llm.invoke(item).content]}
g = StateGraph(S)
g.add_node("work", work)
g.add_edge(START, "work")
g.add_conditional_edges("work", lambda s: "work" if s["open"] else END, ["work", END])
graph = g.compile()
""",
        tmp_path,
    )
    assert loop.verdict is Grounding.WORKLIST


ACTS = """
class Action(BaseModel):
    kind: str
    url: str
def decide(state):
    chosen = llm.with_structured_output(Action).invoke(state["seen"])
    return {{"action": chosen.model_dump(), "step": state.get("step", 0) + 1}}
def act(state):
    action = state["action"]
    if action["kind"] == "read":
        return {{"seen": {outside}}}
    return {{"seen": "nothing"}}
def route(state):
    return END if state["action"]["kind"] == "answer" or state["step"] > 8 else "decide"
g = StateGraph(dict)
g.add_node("decide", decide)
g.add_node("act", act)
g.add_edge(START, "decide")
g.add_edge("decide", "act")
g.add_conditional_edges("act", route, ["decide", END])
graph = g.compile()
"""


@pytest.mark.parametrize(
    ("outside", "verdict"),
    [
        ('urllib.request.urlopen(action["url"]).read()', Grounding.TOOL_LOOP),
        ('{"home": "welcome", "shop": "sold out"}[action["url"]]', Grounding.UNGROUNDED),
    ],
    ids=["a world", "a table in the source"],
)
def test_actions_of_the_only_model_are_a_tool_loop_if_they_reach_outside(
    outside: str, verdict: Grounding, tmp_path: Path
) -> None:
    assert only_loop(ACTS.format(outside=outside), tmp_path).verdict is verdict


def test_the_default_of_a_setting_decides_nothing(tmp_path: Path) -> None:
    loop = only_loop(
        """
from pydantic_settings import BaseSettings
class Settings(BaseSettings):
    review: bool = False
settings = Settings()
def write(state):
    return {"text": llm.invoke(state["text"]).content}
def route(state):
    if settings.review and state["text"] != "good":
        return "write"
    return END
g = StateGraph(dict)
g.add_node("write", write)
g.add_edge(START, "write")
g.add_conditional_edges("write", route, ["write", END])
graph = g.compile()
""",
        tmp_path,
    )
    assert loop.verdict is Grounding.UNGROUNDED


def test_an_agent_whose_tools_come_out_of_a_table_by_name_is_unknown(tmp_path: Path) -> None:
    loop = only_loop(
        """
from plugins import registry
by_name = {one.name: one for one in registry.all()}
def agent(state: MessagesState):
    return {"messages": [llm.bind_tools([]).invoke(state["messages"])]}
def tools(state: MessagesState):
    return {"messages": [by_name[c["name"]].invoke(c["args"]) for c in state["messages"][-1].tool_calls]}
g = StateGraph(MessagesState)
g.add_node("agent", agent)
g.add_node("tools", tools)
g.add_edge(START, "agent")
g.add_conditional_edges("agent", lambda s: "tools" if s["messages"][-1].tool_calls else END, ["tools", END])
g.add_edge("tools", "agent")
graph = g.compile()
""",
        tmp_path,
    )
    assert loop.verdict is Grounding.UNKNOWN


DEBATE = """
rounds = int(input("How many rounds? ").strip())
class S(TypedDict):
    text: str
    count: int
def one(state):
    {more}
    return {{"text": llm.invoke(state["text"]).content, "count": state["count"] + 1}}
def two(state):
    return {{"text": llm.invoke(state["text"]).content, "count": state["count"] + 1}}
def route(state):
    if {test}:
        return "done"
    return "two" if state["count"] % 2 else "one"
g = StateGraph(S)
g.add_node("one", one)
g.add_node("two", two)
g.add_node("done", lambda state: {{}})
g.add_edge(START, "one")
g.add_conditional_edges("one", route, {{"two": "two", "done": "done"}})
g.add_conditional_edges("two", route, {{"one": "one", "done": "done"}})
graph = g.compile()
"""


@pytest.mark.parametrize(
    ("more", "test", "wanted"),
    [
        ("pass", 'state["count"] >= rounds', Grounding.UNGROUNDED),
        ("shown = str(rounds).lower()", 'state["count"] >= 2 * rounds', Grounding.UNGROUNDED),
        ("pass", 'input("enough? ").strip().lower() == "yes"', Grounding.GROUNDED),
    ],
)
def test_a_limit_that_a_person_named_before_the_loop_is_no_person_in_it(
    more: str, test: str, wanted: Grounding, tmp_path: Path
) -> None:
    report = audit_path(written(DEBATE.format(more=more, test=test), tmp_path))
    assert [loop.verdict for loop in report.loops] == [wanted]
    assert not [f.rule for g in report.graphs for f in g.findings], "one router for two nodes: each map is a part of it"


@pytest.mark.parametrize(
    ("test", "otherwise", "wanted"),
    [
        ('END if s["said"] is None else "write"', "None", Grounding.GROUNDED),
        ('"write" if s.get("said") else END', '""', Grounding.GROUNDED),
        ('"write" if s["said"] else END', '"again"', Grounding.PARTLY),
        ('"write" if s["said"] is None else END', "None", Grounding.PARTLY),
    ],
)
def test_where_only_what_a_person_said_leads_round_it_may_be_optional(
    test: str, otherwise: str, wanted: Grounding, tmp_path: Path
) -> None:
    source = f"""
class S(TypedDict):
    text: str
    said: str
    asks: bool
def write(state):
    return {{"text": llm.invoke("write").content}}
def ask(state):
    said = {otherwise}
    if state["asks"]:
        said = input("more? ")
    return {{"said": said}}
g = StateGraph(S)
g.add_node("write", write)
g.add_node("ask", ask)
g.add_edge(START, "write")
g.add_edge("write", "ask")
g.add_conditional_edges("ask", lambda s: {test}, ["write", END])
graph = g.compile()
"""
    (loop,) = audit_path(written(source, tmp_path)).loops
    assert loop.verdict is wanted
