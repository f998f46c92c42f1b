from typing import Literal

from langchain_core.messages import HumanMessage, SystemMessage
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, MessagesState, StateGraph
from pydantic import BaseModel

members = ["reporter", "stylist"]


class Route(BaseModel):
    next: Literal["reporter", "stylist", "FINISH"]


class State(MessagesState):
    next: str


llm = ChatOpenAI(model="gpt-4o")


def supervisor(state: State):
    decision = llm.with_structured_output(Route).invoke([SystemMessage("Who acts next?")] + state["messages"])
    return {"next": decision.next}


def worker(name):
    def run(state: State):
        out = llm.invoke([SystemMessage(f"You are the {name}.")] + state["messages"])
        return {"messages": [HumanMessage(content=out.content, name=name)]}

    return run


g = StateGraph(State)
g.add_node("supervisor", supervisor)
for m in members:
    g.add_node(m, worker(m))
    g.add_edge(m, "supervisor")
g.add_edge(START, "supervisor")
conditional_map = {k: k for k in members}
conditional_map["FINISH"] = END
g.add_conditional_edges("supervisor", lambda x: x["next"], conditional_map)
graph = g.compile()
