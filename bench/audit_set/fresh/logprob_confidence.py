import math
from typing import TypedDict

from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, StateGraph


class T(TypedDict):
    source: str
    translation: str
    confidence: float


llm = ChatOpenAI(model="gpt-4o-mini").bind(logprobs=True)


def translate(state: T):
    msg = llm.invoke(f"Translate to German: {state['source']}")
    logprobs = [t["logprob"] for t in msg.response_metadata["logprobs"]["content"]]
    return {"translation": msg.content, "confidence": math.exp(sum(logprobs) / len(logprobs))}


def confident(state: T):
    return END if state["confidence"] > 0.9 else "translate"


g = StateGraph(T)
g.add_node("translate", translate)
g.add_edge(START, "translate")
g.add_conditional_edges("translate", confident)
app = g.compile()
