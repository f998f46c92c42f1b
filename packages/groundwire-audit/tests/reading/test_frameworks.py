"""Ready-made agents of several frameworks, and agents that hand over to one another."""

from __future__ import annotations

from pathlib import Path

import pytest

from groundwire_audit._discover import audit_path

IMPORTS = """
import requests
from agents import Agent, Runner, WebSearchTool, function_tool, handoff
"""


def verdicts(source: str, folder: Path) -> dict[tuple[str, str], str]:
    """(graph, way round) → verdict."""
    path = folder / "program.py"
    path.write_text(source)
    return {(g.name, x.path): str(x.verdict) for g in audit_path(path).graphs for x in g.loops}


LOOP = "agent → tools → agent"


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        (
            "@function_tool\ndef get(u: str):\n    return requests.get(u).text\na = Agent(name='a', tools=[get])",
            "tool_loop",
        ),
        (
            "@function_tool(name_override='x')\ndef say(u: str):\n    return 'said ' + u\na = Agent(tools=[say])",
            "ungrounded",
        ),
        ("a = Agent[str](name='a', tools=[WebSearchTool()])", "tool_loop"),
        ("a = Agent(name='a', mcp_servers=[server])", "unknown"),
        ("from smolagents import CodeAgent\na = CodeAgent(tools=[], model=m)", "tool_loop"),
        (
            "from smolagents import ToolCallingAgent, tool\n@tool\ndef echo(x: str):\n    return x\n"
            "a = ToolCallingAgent(tools=[echo], model=m)",
            "ungrounded",
        ),
        (
            "from pydantic_ai import Agent as P\na = P('m')\n@a.tool_plain(retries=2)\ndef get(u: str):\n    return requests.get(u).text",  # noqa: E501
            "tool_loop",
        ),
        (
            "from pydantic_ai import Agent as P, Tool\ndef echo(x: str):\n    return x\na = P('m', tools=[Tool(echo)])",
            "ungrounded",
        ),
        (
            "from crewai import Agent as C\nfrom crewai_tools import ScrapeWebsiteTool\na = C(role='r', tools=[ScrapeWebsiteTool()])",  # noqa: E501
            "tool_loop",
        ),
        (
            "from llama_index.core.agent import ReActAgent\ndef get(u: str):\n    return requests.get(u).text\na = ReActAgent.from_tools([get], llm=m)",  # noqa: E501
            "tool_loop",
        ),
    ],
)
def test_an_agent_goes_on_through_its_tools(source: str, wanted: str, tmp_path: Path) -> None:
    assert verdicts(f"{IMPORTS}{source}\n", tmp_path) == {("a", LOOP): wanted}


def test_an_agent_whose_parameters_name_its_tools_later_has_no_loop_without_one(tmp_path: Path) -> None:
    assert verdicts(f"{IMPORTS}a = Agent(name='a', tools=[], mcp_servers=[])\n", tmp_path) == {}


def test_agents_that_hand_over_there_and_back_are_a_loop_of_models(tmp_path: Path) -> None:
    source = "one = Agent(name='1')\ntwo = Agent(name='2', handoffs=[one])\none.handoffs = [handoff(two)]\n"
    assert verdicts(IMPORTS + source, tmp_path) == {("one + two", "one → two → one"): "ungrounded"}


def test_handing_over_one_way_is_no_loop(tmp_path: Path) -> None:
    source = "one = Agent(name='1')\ntwo = Agent(name='2', handoffs=[one])\n"
    assert verdicts(IMPORTS + source, tmp_path) == {}


def test_a_swarm_leads_where_its_handoff_tools_say(tmp_path: Path) -> None:
    source = """
from langgraph.prebuilt import create_react_agent
from langgraph_swarm import create_handoff_tool, create_swarm
a = create_react_agent("m", [create_handoff_tool(agent_name="b")], name="a")
b = create_react_agent("m", [], name="b")
swarm = create_swarm([a, b], default_active_agent="a").compile()
"""
    assert verdicts(source, tmp_path) == {}


@pytest.mark.parametrize(
    ("options", "wanted"), [("needs_approval=True", "grounded"), ("needs_approval=False", "ungrounded")]
)
def test_a_tool_that_needs_approval_asks_a_person(options: str, wanted: str, tmp_path: Path) -> None:
    source = f"@function_tool({options})\ndef say(u: str):\n    return 'said ' + u\na = Agent(tools=[say])\n"
    assert verdicts(IMPORTS + source, tmp_path) == {("a", LOOP): wanted}


def test_the_source_of_a_library_itself_means_the_same_as_to_everybody(tmp_path: Path) -> None:
    package = tmp_path / "agents"
    package.mkdir()
    (package / "__init__.py").write_text(
        "from .agent import Agent\nfrom .run import Runner\nfrom .tool import function_tool\n"
    )
    (package / "agent.py").write_text(
        "class Agent:\n    def __init__(self, name, handoffs=()):\n        self.handoffs = handoffs\n"
    )
    (package / "run.py").write_text("class Runner: ...\n")
    (package / "tool.py").write_text("def function_tool(f):\n    return f\n")
    source = (
        "from agents import Agent\none = Agent(name='1')\ntwo = Agent(name='2', handoffs=[one])\none.handoffs = [two]\n"
    )
    assert verdicts(source, tmp_path) == {("one + two", "one → two → one"): "ungrounded"}


@pytest.mark.parametrize("base", ["class Talker(ABC):\n    @abstractmethod\n    def chat(self, m): ...", ""])
def test_a_class_of_models_that_others_fill_in_is_one_by_its_name(base: str, tmp_path: Path) -> None:
    made = base.replace("Talker", "BaseLLM") if base else "from house.models import BaseLLM"
    source = f"""
from abc import ABC, abstractmethod
{made}
class Writer:
    def __init__(self, llm: BaseLLM):
        self.llm = llm
    def write(self, task):
        draft = self.llm.chat([task])
        while "yes" not in self.llm.chat(["enough?", draft]):
            draft = self.llm.chat(["more", draft])
        return draft
"""
    assert verdicts(source, tmp_path) == {("Writer.write", "Writer.write ⟲"): "ungrounded"}


def test_what_the_library_of_a_model_takes_out_of_its_reply_is_the_reply(tmp_path: Path) -> None:
    source = """
from house.backends import wrapper
def ask(p):
    return wrapper.Api.first_text(wrapper.Api.call(prompt=p, max_tokens=9))
def write(task):
    draft = ask(task)
    while "fine" not in ask(draft):
        draft = ask("more " + draft)
    return draft
"""
    assert verdicts(source, tmp_path) == {("write", "write ⟲"): "ungrounded"}
