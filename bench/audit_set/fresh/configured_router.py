from typing import TypedDict

from langchain_openai import ChatOpenAI
from langgraph.graph import START, StateGraph


class S(TypedDict):
    text: str


llm = ChatOpenAI()


def draft(state: S):
    return {"text": llm.invoke("Go on: " + state["text"]).content}


def publish(state: S):
    return {"text": state["text"].strip()}


def route(state: S, config):
    return config["configurable"]["policy"](state)


g = StateGraph(S)
g.add_node("draft", draft)
g.add_node("publish", publish)
g.add_edge(START, "draft")
g.add_conditional_edges("draft", route)
graph = g.compile()
