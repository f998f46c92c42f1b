from datetime import date
from typing import Any, TypedDict

from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, StateGraph
from pydantic import BaseModel, PositiveFloat, ValidationError


class Invoice(BaseModel):
    number: str
    due: date
    total: PositiveFloat


class State(TypedDict):
    text: str
    raw: str
    invoice: Any
    errors: list
    attempts: int


llm = ChatOpenAI(model="gpt-4o-mini")


def extract(state: State):
    complaint = "\n".join(str(e) for e in state.get("errors", []))
    return {"raw": llm.invoke(f"Invoice as JSON: {state['text']}\n{complaint}").content, "attempts": state.get("attempts", 0) + 1}


def validate(state: State):
    try:
        inv = Invoice.model_validate_json(state["raw"])
    except ValidationError as err:
        return {"errors": err.errors()}
    return {"invoice": inv, "errors": []}


def route(state: State):
    if not state["errors"]:
        return "ok"
    if state["attempts"] >= 3:
        return "ok"
    return "fix"


g = StateGraph(State)
g.add_node("extract", extract)
g.add_node("validate", validate)
g.add_edge(START, "extract")
g.add_edge("extract", "validate")
g.add_conditional_edges("validate", route, {"ok": END, "fix": "extract"})
graph = g.compile()
