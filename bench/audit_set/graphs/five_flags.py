from typing import Literal, TypedDict

from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, StateGraph
from pydantic import BaseModel


class Checklist(BaseModel):
    has_intro: bool
    has_sources: bool
    is_polite: bool
    is_complete: bool
    is_correct: bool


class State(TypedDict):
    question: str
    reply: str
    checklist: Checklist
    rounds: int


llm = ChatOpenAI(model="gpt-4o-mini")
checker = llm.with_structured_output(Checklist)


def respond(state: State):
    return {"reply": llm.invoke(f"{state['question']} / {state.get('checklist')}").content, "rounds": state.get("rounds", 0) + 1}


def inspect_reply(state: State):
    return {"checklist": checker.invoke(state["reply"])}


def points(checklist: Checklist) -> int:
    return sum(1 for value in checklist.model_dump().values() if value)


def gate(state: State) -> Literal["respond", "__end__"]:
    if points(state["checklist"]) < 4 and state["rounds"] < 10:
        return "respond"
    return "__end__"


b = StateGraph(State)
b.add_node("respond", respond)
b.add_node("inspect_reply", inspect_reply)
b.add_edge(START, "respond")
b.add_edge("respond", "inspect_reply")
b.add_conditional_edges("inspect_reply", gate)
graph = b.compile()
