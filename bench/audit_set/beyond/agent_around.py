"""Ready-made agents as nodes of graphs that send them back to work."""

from typing import Literal, TypedDict

import requests
from langchain.agents import create_agent
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command
from pydantic import BaseModel

llm = ChatOpenAI(model="gpt-4o")


@tool
def lookup(term: str) -> str:
    """Looks a term up."""
    return requests.get("https://example.org/define", params={"q": term}).text


class Grade(BaseModel):
    good_enough: bool
    remarks: str


class Essay(TypedDict):
    messages: list
    remarks: str
    good: bool


writer_agent = create_agent(llm, tools=[lookup], name="writer_agent")
judge = llm.with_structured_output(Grade)


def writer(state: Essay):
    answer = writer_agent.invoke({"messages": state["messages"]})
    return {"messages": answer["messages"]}


def grader(state: Essay) -> Command[Literal["writer", "__end__"]]:
    grade = judge.invoke(state["messages"])
    if grade.good_enough:
        return Command(goto=END, update={"good": True})
    return Command(goto="writer", update={"remarks": grade.remarks})


essays = StateGraph(Essay)
essays.add_node("writer", writer)
essays.add_node("grader", grader)
essays.add_edge(START, "writer")
essays.add_edge("writer", "grader")
essay_graph = essays.compile()
