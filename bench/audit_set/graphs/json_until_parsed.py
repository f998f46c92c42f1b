import json

from langchain_community.chat_models import ChatOllama
from langgraph.graph import END, START, StateGraph
from typing_extensions import TypedDict


class S(TypedDict):
    text: str
    entities: list
    malformed: bool


llm = ChatOllama(model="mistral", format="json")


def extract(state: S):
    raw = llm.invoke("Entities as a JSON list: " + state["text"]).content
    try:
        return {"entities": json.loads(raw), "malformed": False}
    except json.JSONDecodeError:
        return {"malformed": True}


g = StateGraph(S)
g.add_node("extract", extract)
g.add_edge(START, "extract")
g.add_conditional_edges("extract", lambda s: "extract" if s["malformed"] else END, {"extract": "extract", END: END})
graph = g.compile()
