from typing import TypedDict

import requests
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, StateGraph
from pydantic import BaseModel


class Plan(BaseModel):
    steps: list[str]


class Trip(TypedDict):
    goal: str
    steps: list[str]
    results: list[str]


planner = ChatOpenAI(model="gpt-4o").with_structured_output(Plan)


def plan(state: Trip):
    return {"steps": planner.invoke(state["goal"]).steps, "results": []}


def execute(state: Trip):
    step = state["steps"][0]
    found = requests.get("https://api.travel.example/search", params={"q": step}).text
    return {"results": state["results"] + [found]}


def replan(state: Trip):
    new = planner.invoke(f"{state['goal']} done: {state['results']} rest: {state['steps'][1:]}")
    return {"steps": new.steps}


def unfinished(state: Trip):
    return "execute" if state["steps"] else END


g = StateGraph(Trip)
g.add_node("plan", plan)
g.add_node("execute", execute)
g.add_node("replan", replan)
g.add_edge(START, "plan")
g.add_edge("plan", "execute")
g.add_edge("execute", "replan")
g.add_conditional_edges("replan", unfinished, ["execute", END])
app = g.compile()
