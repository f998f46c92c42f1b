import operator
from typing import Annotated, TypedDict

from duckduckgo_search import DDGS
from langchain_openai import ChatOpenAI
from langgraph.constants import Send
from langgraph.graph import END, START, StateGraph
from pydantic import BaseModel


class Queries(BaseModel):
    queries: list[str]


class Check(BaseModel):
    is_sufficient: bool
    follow_up_queries: list[str]


class Overall(TypedDict):
    topic: str
    queries: list[str]
    results: Annotated[list, operator.add]
    is_sufficient: bool
    follow_up: list[str]
    loop_count: int


class OneQuery(TypedDict):
    query: str


llm = ChatOpenAI(model="gpt-4o")


def make_queries(state: Overall):
    return {"queries": llm.with_structured_output(Queries).invoke(state["topic"]).queries}


def fan_out(state: Overall):
    return [Send("search_one", {"query": q}) for q in state["queries"]]


def search_one(state: OneQuery):
    with DDGS() as ddgs:
        hits = list(ddgs.text(state["query"], max_results=5))
    return {"results": hits}


def reflect(state: Overall):
    c = llm.with_structured_output(Check).invoke(str(state["results"]))
    return {"is_sufficient": c.is_sufficient, "follow_up": c.follow_up_queries, "loop_count": state["loop_count"] + 1}


def evaluate(state: Overall):
    if state["is_sufficient"] or state["loop_count"] >= 2:
        return "write"
    return [Send("search_one", {"query": q}) for q in state["follow_up"]]


def write(state: Overall):
    return {"topic": llm.invoke(str(state["results"])).content}


b = StateGraph(Overall)
b.add_node("make_queries", make_queries)
b.add_node("search_one", search_one)
b.add_node("reflect", reflect)
b.add_node("write", write)
b.add_edge(START, "make_queries")
b.add_conditional_edges("make_queries", fan_out, ["search_one"])
b.add_edge("search_one", "reflect")
b.add_conditional_edges("reflect", evaluate, ["search_one", "write"])
b.add_edge("write", END)
graph = b.compile()
