from typing import Annotated, Literal, TypedDict

from langchain_community.tools.tavily_search import TavilySearchResults
from langchain_core.messages import HumanMessage
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.prebuilt import ToolNode
from pydantic import BaseModel

search = TavilySearchResults(max_results=3)
llm = ChatOpenAI(model="gpt-4o")
planner_llm = llm.bind_tools([search])


class Critique(BaseModel):
    ok: bool
    text: str


class State(TypedDict):
    messages: Annotated[list, add_messages]
    report: str
    ok: bool


def planner(state: State):
    return {"messages": [planner_llm.invoke(state["messages"])]}


def writer(state: State):
    return {"report": llm.invoke([*state["messages"], HumanMessage("Write the report.")]).content}


def critic(state: State):
    c = llm.with_structured_output(Critique).invoke(state["report"])
    return {"ok": c.ok, "messages": [HumanMessage(c.text)]}


def after_planner(state: State) -> Literal["tools", "writer"]:
    last = state["messages"][-1]
    return "tools" if last.tool_calls else "writer"


def after_critic(state: State):
    if not state["ok"]:
        return "planner"
    return END


g = StateGraph(State)
g.add_node("planner", planner)
g.add_node("tools", ToolNode([search]))
g.add_node("writer", writer)
g.add_node("critic", critic)
g.add_edge(START, "planner")
g.add_conditional_edges("planner", after_planner)
g.add_edge("tools", "planner")
g.add_edge("writer", "critic")
g.add_conditional_edges("critic", after_critic, ["planner", END])
graph = g.compile()
