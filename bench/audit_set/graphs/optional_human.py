from typing import TypedDict

from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import MemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt


class PlanState(TypedDict):
    request: str
    plan: str
    feedback: str
    auto_accepted_plan: bool


llm = ChatOpenAI()


def planner(state: PlanState):
    return {"plan": llm.invoke(f"Plan: {state['request']} {state.get('feedback') or ''}").content}


def human_feedback(state: PlanState):
    if not state.get("auto_accepted_plan", False):
        feedback = interrupt("Please review the plan.")
        if str(feedback).upper().startswith("[EDIT_PLAN]"):
            return {"feedback": feedback}
        return {"feedback": ""}
    return {"feedback": llm.invoke("What would an expert change? " + state["plan"]).content}


def route(state: PlanState):
    return "planner" if state["feedback"] else "go"


builder = StateGraph(PlanState)
builder.add_node("planner", planner)
builder.add_node("human_feedback", human_feedback)
builder.add_edge(START, "planner")
builder.add_edge("planner", "human_feedback")
builder.add_conditional_edges("human_feedback", route, {"planner": "planner", "go": END})
graph = builder.compile(checkpointer=MemorySaver())
