"""Agents out of `create_agent` and `create_react_agent`, as people write them."""

import subprocess
from datetime import datetime

import requests
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain.chat_models import init_chat_model
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langchain_tavily import TavilySearch
from langgraph.prebuilt import create_react_agent
from langgraph.types import interrupt

llm = ChatOpenAI(model="gpt-4o-mini")


@tool
def weather(city: str) -> str:
    """Weather of a city."""
    return requests.get("https://wttr.in/" + city, timeout=5).text


@tool
def note_down(thought: str) -> str:
    """Keeps a thought."""
    return f"Noted: {thought}"


@tool
def run_python(code: str) -> str:
    """Runs code."""
    done = subprocess.run(["python", "-c", code], capture_output=True, text=True)
    return done.stdout + done.stderr


@tool
def ask_boss(question: str) -> str:
    """Asks the person in charge."""
    return interrupt({"question": question})


@tool
def improve(text: str) -> str:
    """Makes a text better."""
    return llm.invoke("Improve this: " + text).content


@tool
def now() -> str:
    """What time it is."""
    return datetime.now().isoformat()


forecaster = create_agent("openai:gpt-4o", tools=[weather], system_prompt="You know the weather.")
dreamer = create_agent(model=init_chat_model("anthropic:claude-sonnet-4"), tools=[note_down])
coder = create_react_agent(llm, [run_python, note_down])
clerk = create_react_agent(model=llm, tools=[ask_boss])
polisher = create_react_agent(llm, tools=[improve], prompt="Improve until it shines.")
searcher = create_react_agent("openai:gpt-4.1", [TavilySearch(max_results=3)])
watch = create_agent(llm, [now])
talker = create_agent(llm, tools=[])


def make_helper(tools):
    return create_agent(llm, tools=tools)


careful = create_agent(
    llm,
    tools=[run_python],
    middleware=[HumanInTheLoopMiddleware(interrupt_on={"run_python": True})],
)


@tool
def research(question: str) -> str:
    """Hands a question to the searcher."""
    answer = searcher.invoke({"messages": [("user", question)]})
    return answer["messages"][-1].content


boss = create_agent(llm, tools=[research])


@tool
def ponder(question: str) -> str:
    """Hands a question to the dreamer."""
    answer = dreamer.invoke({"messages": [("user", question)]})
    return answer["messages"][-1].content


philosopher = create_agent(llm, tools=[ponder])
