from typing import TypedDict

from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, StateGraph


class State(TypedDict):
    goal: str
    steps: list[str]
    notes: list[str]


llm = ChatOpenAI(model="gpt-4o")


def plan(state: State):
    lines = llm.invoke("Steps for " + state["goal"]).content.split("\n")
    return {"steps": [s for s in lines if s.strip()], "notes": []}


def do_step(state: State):
    step = state["steps"][0]
    result = llm.invoke(f"Do {step}. Notes {state['notes']}").content
    return {"steps": state["steps"][1:], "notes": state["notes"] + [result]}


def router(state: State):
    if not state["steps"]:
        return "end"
    return "next"


g = StateGraph(State)
g.add_node("plan", plan)
g.add_node("do_step", do_step)
g.add_edge(START, "plan")
g.add_edge("plan", "do_step")
g.add_conditional_edges("do_step", router, {"end": END, "next": "do_step"})
graph = g.compile()
