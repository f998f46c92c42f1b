"""Reads account numbers from scans; the check digit says whether the reading can be right."""
from typing import TypedDict

from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, StateGraph


class Scan(TypedDict):
    image: str
    number: str
    valid: bool
    tries: int


llm = ChatOpenAI(model="gpt-4o")


def luhn(number: str) -> bool:
    digits = [int(c) for c in number if c.isdigit()]
    odd = digits[-1::-2]
    even = [sum(divmod(2 * d, 10)) for d in digits[-2::-2]]
    return (sum(odd) + sum(even)) % 10 == 0


def read(state: Scan):
    return {"number": llm.invoke([("user", [{"type": "image_url", "image_url": state["image"]}])]).content, "tries": state["tries"] + 1}


def check(state: Scan):
    return {"valid": luhn(state["number"])}


def route(state: Scan):
    return END if state["valid"] or state["tries"] > 3 else "read"


g = StateGraph(Scan)
g.add_node("read", read)
g.add_node("check", check)
g.add_edge(START, "read")
g.add_edge("read", "check")
g.add_conditional_edges("check", route, ["read", END])
graph = g.compile()
