"""What a tool brings: what its helpers work out, what the application hands in, what a person has to allow."""

from __future__ import annotations

from pathlib import Path

import pytest
from audit_cases import written

from groundwire_audit._discover import audit_path
from groundwire_audit._report import AuditReport

AGENT = """
import time
from datetime import datetime
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain.tools import ToolRuntime
from agents import Agent, RunContextWrapper, function_tool
PAGES = ["a", "b"]
ORDERS = {"1": "sent", "2": "lost"}
def search(query, pages):
    return [p for p in pages if query in p]
class Plant:
    def run(self, speed):
        return self.quality(speed)
    def quality(self, speed):
        return 100 - abs(speed - 450) / 4.5
    def said(self, speed):
        return f"it runs at {speed}"
plant = Plant()
def polite(text):
    return "Dear user, " + text
"""


def report(source: str, folder: Path) -> AuditReport:
    """The report on a program."""
    return audit_path(written(AGENT + source, folder))


@pytest.mark.parametrize(
    ("tool", "wanted"),
    [
        ("@tool\ndef t(query: str):\n    found = search(query, PAGES)\n    return str(found)", "tool_loop"),
        ("@tool\ndef t(query: str):\n    return polite(query)", "ungrounded"),
        ("@tool\ndef t(speed: float):\n    return str(plant.run(speed))", "tool_loop"),
        ("@tool\ndef t(speed: float):\n    return plant.said(speed)", "ungrounded"),
        ("@tool\ndef t(day: datetime):\n    return f'booked on {day.strftime(\"%A\")}'", "ungrounded"),
        ("@tool\ndef t():\n    return time.strftime('%A')", "tool_loop"),
        ("@tool\ndef t(order: str):\n    return ORDERS.get(order, 'none')", "tool_loop"),
        ("@tool\ndef t(city: str):\n    seen = {'a': '9', 'b': '7'}\n    return seen.get(city.lower())", "tool_loop"),
        ("@tool\ndef t(given: dict):\n    return given.get('text')", "ungrounded"),
        ("@tool\ndef t(runtime: ToolRuntime):\n    return runtime.context.user_name", "tool_loop"),
        ("@tool\ndef t(runtime: ToolRuntime, text: str):\n    return polite(text)", "ungrounded"),
        ("@tool\ndef t(runtime: ToolRuntime):\n    return str(runtime.state['messages'])", "ungrounded"),
    ],
)
def test_what_a_tool_gives_back_says_whether_it_brings_anything(tool: str, wanted: str, tmp_path: Path) -> None:
    (loop,) = report(f"{tool}\nagent = create_agent(llm, tools=[t])\n", tmp_path).loops
    assert str(loop.verdict) == wanted


def test_the_context_of_a_run_comes_from_the_application_in_the_agents_sdk_too(tmp_path: Path) -> None:
    source = """
@function_tool
def t(wrapper: RunContextWrapper[dict]):
    ctx = wrapper.context
    return f"open tickets: {ctx.open_tickets}"
agent = Agent(name="a", tools=[t])
"""
    (loop,) = report(source, tmp_path).loops
    assert str(loop.verdict) == "tool_loop"


@pytest.mark.parametrize(
    ("middleware", "wanted"),
    [
        (
            'HumanInTheLoopMiddleware(interrupt_on={"send": True, "drop": {"allowed_decisions": ["approve"]}})',
            "grounded",
        ),
        ('HumanInTheLoopMiddleware(interrupt_on={"send": True, "drop": False})', "tool_loop"),
        ("", "ungrounded"),
    ],
)
def test_a_person_who_has_to_allow_each_tool_is_asked_on_every_round(
    middleware: str, wanted: str, tmp_path: Path
) -> None:
    source = f"""
@tool
def send(text: str):
    return "sent " + text
@tool
def drop(text: str):
    return "dropped " + text
agent = create_agent(llm, tools=[send, drop], middleware=[{middleware}])
"""
    (loop,) = report(source, tmp_path).loops
    assert str(loop.verdict) == wanted


FLAGS = """
class S(TypedDict):
    plan: str
    planned: bool
    reviewed: bool
def plan(state):
    return {"plan": llm.invoke("plan").content, "planned": PLANNED}
def review(state):
    return {"plan": llm.invoke(state["plan"]).content, "reviewed": True}
def route(state):
    if state.get("reviewed", False):
        return END
    return "review" if state.get("planned") else "plan"
g = StateGraph(S)
g.add_node("plan", plan)
g.add_node("review", review)
g.add_edge(START, "plan")
g.add_conditional_edges("plan", route, ["plan", "review", END])
g.add_conditional_edges("review", route, ["plan", "review", END])
graph = g.compile()
"""


@pytest.mark.parametrize(
    ("planned", "wanted"),
    [("True", set[str]()), ('"yes" in llm.invoke("ready?").content', {"plan → plan"})],
)
def test_a_way_that_asks_for_a_flag_to_be_what_the_node_never_leaves_is_none(
    planned: str, wanted: set[str], tmp_path: Path
) -> None:
    found = audit_path(written(FLAGS.replace("PLANNED", planned), tmp_path))
    assert {x.path for x in found.loops} == wanted


def test_a_graph_that_a_function_makes_is_reported_once(tmp_path: Path) -> None:
    source = """
def make():
    def write(state):
        return {"text": llm.invoke("x").content}
    g = StateGraph(dict)
    g.add_node("write", write)
    g.add_conditional_edges("write", lambda s: "write" if "no" in s["text"] else END, ["write", END])
    return g.compile()
graph = make()
def main():
    app = make()
    print(app.invoke({}))
if __name__ == "__main__":
    main()
"""
    assert [x.path for x in report(source, tmp_path).loops] == ["write → write"]


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ("", "ungrounded"),
        ('backend=FilesystemBackend(root_dir=".")', "tool_loop"),
        ("subagents=load_somewhere()", "unknown"),
        ('subagents=[{"name": "web", "tools": [get]}]', "tool_loop"),
    ],
)
def test_a_deep_agent_has_files_and_agents_that_work_for_it(options: str, wanted: str, tmp_path: Path) -> None:
    source = f"""
from deepagents import create_deep_agent
from deepagents.backends import FilesystemBackend
@tool
def say(text: str):
    return "said " + text
@tool
def get(url: str):
    return urllib.request.urlopen(url).read()
agent = create_deep_agent(tools=[say], {options})
"""
    (loop,) = report(source, tmp_path).loops
    assert str(loop.verdict) == wanted


@pytest.mark.parametrize(
    "given",
    [
        "from langchain_mcp_adapters.client import MultiServerMCPClient\n"
        "client = MultiServerMCPClient({})\ntools = asyncio.run(client.get_tools())",
        "from langchain_mcp_adapters.tools import load_mcp_tools\ntools = asyncio.run(load_mcp_tools(session))",
    ],
)
def test_tools_of_a_server_answer_from_outside(given: str, tmp_path: Path) -> None:
    (loop,) = report(f"import asyncio\n{given}\nagent = create_agent(llm, tools)\n", tmp_path).loops
    assert str(loop.verdict) == "tool_loop"


ASKS = 'return {{"notes": client.models.generate_content(contents="x", {}).text}}'
SEARCHES = """
from google import genai
client = genai.Client()
class S(TypedDict):
    notes: str
    enough: bool
class Verdict(BaseModel):
    enough: bool
def search(state):
    {search}
def look(state):
    return {{"enough": llm.with_structured_output(Verdict).invoke(state["notes"]).enough}}
g = StateGraph(S)
g.add_node("search", search)
g.add_node("look", look)
g.add_edge(START, "search")
g.add_edge("search", "look")
g.add_conditional_edges("look", lambda s: END if s["enough"] else "search", ["search", END])
graph = g.compile()
"""


@pytest.mark.parametrize(
    ("search", "wanted"),
    [
        (ASKS.format('config={"tools": [{"google_search": {}}]}'), "partly"),
        ('return {"notes": llm.bind_tools([{"type": "web_search_preview"}]).invoke("x").content}', "partly"),
        (ASKS.format('config={"temperature": 0}'), "ungrounded"),
        ('return {"notes": llm.bind_tools([{"type": "function", "function": {}}]).invoke("x").content}', "ungrounded"),
    ],
)
def test_what_a_models_provider_searches_comes_from_outside(search: str, wanted: str, tmp_path: Path) -> None:
    source = SEARCHES.format(search=search)
    (loop,) = audit_path(written(source, tmp_path)).loops
    assert str(loop.verdict) == wanted
