from typing import TypedDict

from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, StateGraph


class Inbox(TypedDict):
    emails: list[dict]
    current: dict
    labels: dict


llm = ChatOpenAI(model="gpt-4o-mini")


def take_next(state: Inbox):
    emails = list(state["emails"])
    current = emails.pop(0)
    return {"emails": emails, "current": current}


def classify(state: Inbox):
    label = llm.invoke("Label: " + state["current"]["body"]).content
    return {"labels": {**state["labels"], state["current"]["id"]: label}}


def more(state: Inbox):
    return "take_next" if state["emails"] else END


g = StateGraph(Inbox)
g.add_node("take_next", take_next)
g.add_node("classify", classify)
g.add_edge(START, "take_next")
g.add_edge("take_next", "classify")
g.add_conditional_edges("classify", more, ["take_next", END])
graph = g.compile()
