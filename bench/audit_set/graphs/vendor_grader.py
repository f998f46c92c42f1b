from typing import TypedDict

from acme_quality import QualityGate
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, StateGraph

gate = QualityGate(profile="strict")
llm = ChatOpenAI()


class S(TypedDict):
    text: str
    passed: bool


def write(s: S):
    return {"text": llm.invoke("write").content}


def control(s: S):
    return {"passed": gate.inspect(s["text"]).passed}


g = StateGraph(S)
g.add_node("write", write)
g.add_node("control", control)
g.add_edge(START, "write")
g.add_edge("write", "control")
g.add_conditional_edges("control", lambda s: END if s["passed"] else "write", ["write", END])
graph = g.compile()
