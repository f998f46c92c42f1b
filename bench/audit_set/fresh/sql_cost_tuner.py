import json
from typing import TypedDict

import psycopg
from langchain_anthropic import ChatAnthropic
from langgraph.graph import END, StateGraph


class TuneState(TypedDict):
    query: str
    plan: str
    cost: float
    budget: float


claude = ChatAnthropic(model="claude-sonnet-4-5")


def rewrite(state: TuneState) -> dict:
    prompt = f"Rewrite this query so that it is cheaper.\n{state['query']}\nPlan:\n{state.get('plan', '')}"
    return {"query": claude.invoke(prompt).content}


def explain(state: TuneState) -> dict:
    with psycopg.connect("dbname=warehouse") as conn:
        row = conn.execute("EXPLAIN (FORMAT JSON) " + state["query"]).fetchone()
    plan = row[0][0]["Plan"]
    return {"plan": json.dumps(plan), "cost": plan["Total Cost"]}


def cheap_enough(state: TuneState) -> str:
    return "done" if state["cost"] <= state["budget"] else "again"


flow = StateGraph(TuneState)
flow.add_node("rewrite", rewrite)
flow.add_node("explain", explain)
flow.set_entry_point("rewrite")
flow.add_edge("rewrite", "explain")
flow.add_conditional_edges("explain", cheap_enough, {"done": END, "again": "rewrite"})
tuner = flow.compile()
