"""A person reviews each version; a model never decides."""
from typing import TypedDict

from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt

llm = ChatOpenAI()


class Contract(TypedDict):
    terms: str
    clause: str
    notes: str
    status: str


def draft(state: Contract):
    return {"clause": llm.invoke(f"{state['terms']} {state.get('notes', '')}").content}


def legal(state: Contract):
    answer = interrupt({"clause": state["clause"]})
    status = "approved" if answer.get("ok") else "rejected"
    return {"status": status, "notes": answer.get("notes", "")}


def summarise(state: Contract):
    return {"notes": llm.invoke("Shorten: " + state["notes"]).content}


g = StateGraph(Contract)
g.add_node("draft", draft)
g.add_node("legal", legal)
g.add_node("summarise", summarise)
g.add_edge(START, "draft")
g.add_edge("draft", "legal")
g.add_conditional_edges("legal", lambda s: s["status"], {"approved": END, "rejected": "summarise"})
g.add_edge("summarise", "draft")
graph = g.compile()
