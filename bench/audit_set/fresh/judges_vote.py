import operator
from collections import Counter
from typing import Annotated, TypedDict

from langchain_google_genai import ChatGoogleGenerativeAI
from langgraph.graph import END, START, StateGraph
from langgraph.types import Send


class State(TypedDict):
    brief: str
    slogan: str
    votes: Annotated[list[str], operator.add]
    accepted: bool


gemini = ChatGoogleGenerativeAI(model="gemini-2.0-flash")


def copywriter(state: State):
    return {"slogan": gemini.invoke(f"A slogan for: {state['brief']}").content}


def to_judges(state: State):
    return [Send("judge", {"slogan": state["slogan"], "role": r}) for r in ("legal", "brand", "customer")]


def judge(task: dict):
    said = gemini.invoke(f"As {task['role']}: accept or reject? {task['slogan']}").content
    return {"votes": ["accept" if "accept" in said.lower() else "reject"]}


def tally(state: State):
    winner, count = Counter(state["votes"][-3:]).most_common(1)[0]
    return {"accepted": winner == "accept" and count >= 2}


graph = StateGraph(State)
graph.add_node("copywriter", copywriter)
graph.add_node("judge", judge)
graph.add_node("tally", tally)
graph.add_edge(START, "copywriter")
graph.add_conditional_edges("copywriter", to_judges, ["judge"])
graph.add_edge("judge", "tally")
graph.add_conditional_edges("tally", lambda s: END if s["accepted"] else "copywriter", ["copywriter", END])
app = graph.compile()
