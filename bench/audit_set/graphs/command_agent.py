import os
import subprocess

from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.graph import END, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command


@tool
def shell(command: str) -> str:
    """Run a shell command."""
    return subprocess.check_output(command, shell=True, text=True, cwd=os.getcwd())


@tool
def read_file(path: str) -> str:
    """Read a file."""
    with open(path) as f:
        return f.read()


TOOLS = [shell, read_file]


def agent(state: MessagesState):
    response = ChatOpenAI(model="gpt-4o").bind_tools(TOOLS).invoke(state["messages"])
    if response.tool_calls:
        return Command(update={"messages": [response]}, goto="tools")
    return Command(update={"messages": [response]}, goto=END)


builder = StateGraph(MessagesState)
builder.add_node("agent", agent)
builder.add_node("tools", ToolNode(TOOLS))
builder.set_entry_point("agent")
builder.add_edge("tools", "agent")
coding_agent = builder.compile()
