"""Supervisors and swarms."""

import sqlite3
import subprocess

from langchain.chat_models import init_chat_model
from langchain_community.tools import DuckDuckGoSearchRun
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.prebuilt import create_react_agent
from langgraph_supervisor import create_supervisor
from langgraph_swarm import create_handoff_tool, create_swarm

model = ChatOpenAI(model="gpt-4o")


def search_web(query: str) -> str:
    """Searches the web."""
    return DuckDuckGoSearchRun().invoke(query)


def execute(code: str) -> str:
    """Executes Python."""
    return subprocess.check_output(["python", "-c", code], text=True)


@tool
def sql(query: str) -> str:
    """Asks the shop's database."""
    with sqlite3.connect("shop.db") as connection:
        return str(connection.execute(query).fetchall())


research_agent = create_react_agent(model, tools=[search_web], name="research_agent", prompt="Research.")
code_agent = create_react_agent(model, tools=[execute], name="code_agent")
poet = create_react_agent(model, tools=[], name="poet", prompt="You write poems.")
editor = create_react_agent(model, tools=[], name="editor", prompt="You make poems better.")

lab = create_supervisor([research_agent, code_agent], model=model, prompt="You lead a lab.").compile()
salon = create_supervisor(agents=[poet, editor], model=model, supervisor_name="host").compile(name="salon")

alice = create_react_agent(
    model, [sql, create_handoff_tool(agent_name="Bob", description="Bob speaks like a pirate")], name="Alice"
)
bob = create_react_agent(model, [create_handoff_tool(agent_name="Alice")], name="Bob", prompt="You are a pirate.")
shop = create_swarm([alice, bob], default_active_agent="Alice").compile(checkpointer=InMemorySaver())

optimist = create_react_agent(model, [create_handoff_tool(agent_name="pessimist")], name="optimist")
pessimist = create_react_agent(model, [create_handoff_tool(agent_name="optimist")], name="pessimist")
quarrel = create_swarm([optimist, pessimist], default_active_agent="optimist").compile()

# the second hands over to nobody: no way back
front_desk = create_react_agent(model, [create_handoff_tool(agent_name="archivist")], name="front_desk")
archivist = create_react_agent(model, [sql], name="archivist")
desk = create_swarm([front_desk, archivist], default_active_agent="front_desk").compile()
