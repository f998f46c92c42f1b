"""Extracts fields three times in parallel and starts over while the three don't agree."""
from collections import Counter
from operator import add
from typing import Annotated, TypedDict

from langchain_openai import ChatOpenAI
from langgraph.constants import Send
from langgraph.graph import END, START, StateGraph
from pydantic import BaseModel


class Fields(BaseModel):
    party: str
    amount: float


class S(TypedDict):
    text: str
    votes: Annotated[list[dict], add]
    agreed: bool


model = ChatOpenAI(model="gpt-4o", temperature=0.6).with_structured_output(Fields)


def fan(state: S):
    return [Send("extract", {"text": state["text"]}) for _ in range(3)]


def extract(state: S):
    return {"votes": [model.invoke(state["text"]).model_dump()]}


def count(state: S):
    parties = Counter(v["party"] for v in state["votes"][-3:])
    return {"agreed": parties.most_common(1)[0][1] >= 2}


def route(state: S):
    if state["agreed"]:
        return END
    return [Send("extract", {"text": state["text"]}) for _ in range(3)]


g = StateGraph(S)
g.add_node("extract", extract)
g.add_node("count", count)
g.add_conditional_edges(START, fan, ["extract"])
g.add_edge("extract", "count")
g.add_conditional_edges("count", route, ["extract", END])
graph = g.compile()
