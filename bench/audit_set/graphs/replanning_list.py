from typing import TypedDict

from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, StateGraph
from pydantic import BaseModel


class Plan(BaseModel):
    steps: list[str]


class State(TypedDict):
    goal: str
    steps: list[str]
    done: list[str]


llm = ChatOpenAI(model="gpt-4o")


def plan(state: State):
    return {"steps": llm.with_structured_output(Plan).invoke(state["goal"]).steps, "done": []}


def work(state: State):
    out = llm.invoke("Do: " + state["steps"][0]).content
    return {"done": state["done"] + [out], "steps": state["steps"][1:]}


def replan(state: State):
    new = llm.with_structured_output(Plan).invoke(f"Goal {state['goal']}, done {state['done']}, left {state['steps']}")
    return {"steps": new.steps}


def open_steps(state: State):
    if len(state["steps"]) == 0:
        return END
    return "work"


g = StateGraph(State)
g.add_node("plan", plan)
g.add_node("work", work)
g.add_node("replan", replan)
g.add_edge(START, "plan")
g.add_edge("plan", "work")
g.add_edge("work", "replan")
g.add_conditional_edges("replan", open_steps, ["work", END])
graph = g.compile()
