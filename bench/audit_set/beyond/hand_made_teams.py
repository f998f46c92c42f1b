"""Supervisors that people build themselves, of ready-made agents."""

from typing import Literal

import httpx
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command
from typing_extensions import TypedDict

llm = ChatOpenAI(model="gpt-4o")


class Router(TypedDict):
    next: Literal["scout", "scribe", "FINISH"]


class State(MessagesState):
    next: str


@tool
def fetch(url: str) -> str:
    """Fetches a page."""
    return httpx.get(url).text


scout_agent = create_agent(llm, tools=[fetch])
scribe_agent = create_agent(llm, tools=[])


def lead(state: State) -> Command[Literal["scout", "scribe", "__end__"]]:
    reply = llm.with_structured_output(Router).invoke(state["messages"])
    goto = reply["next"]
    if goto == "FINISH":
        goto = END
    return Command(goto=goto, update={"next": goto})


def scout(state: State) -> Command[Literal["lead"]]:
    result = scout_agent.invoke(state)
    return Command(update={"messages": [HumanMessage(result["messages"][-1].content, name="scout")]}, goto="lead")


def scribe(state: State) -> Command[Literal["lead"]]:
    result = scribe_agent.invoke(state)
    return Command(update={"messages": [HumanMessage(result["messages"][-1].content, name="scribe")]}, goto="lead")


builder = StateGraph(State)
builder.add_edge(START, "lead")
builder.add_node("lead", lead)
builder.add_node("scout", scout)
builder.add_node("scribe", scribe)
crew = builder.compile()


class Ask(MessagesState):
    active: str


def ana(state: Ask) -> Command[Literal["ben", "__end__"]]:
    answer = llm.invoke(state["messages"])
    if "over to ben" in answer.content.lower():
        return Command(goto="ben", update={"messages": [answer]})
    return Command(goto=END, update={"messages": [answer]})


def ben(state: Ask) -> Command[Literal["ana", "__end__"]]:
    answer = llm.invoke(state["messages"])
    if "over to ana" in answer.content.lower():
        return Command(goto="ana", update={"messages": [answer]})
    return Command(goto=END, update={"messages": [answer]})


pair = StateGraph(Ask)
pair.add_node(ana)
pair.add_node(ben)
pair.add_edge(START, "ana")
network = pair.compile()
