from typing import Annotated, TypedDict

from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages


class Debate(TypedDict):
    messages: Annotated[list, add_messages]
    turns: int


llm = ChatOpenAI(model="gpt-4o")
MAX_TURNS = 6


def debater(side: str):
    def speak(state: Debate):
        reply = llm.invoke([("system", f"You argue {side}."), *state["messages"]])
        return {"messages": [reply], "turns": state["turns"] + 1}

    return speak


def judge(state: Debate):
    return {"messages": [llm.invoke([("system", "Who won?"), *state["messages"]])]}


def on(state: Debate):
    return "judge" if state["turns"] >= MAX_TURNS else "pro"


g = StateGraph(Debate)
g.add_node("pro", debater("for it"))
g.add_node("con", debater("against it"))
g.add_node("judge", judge)
g.add_edge(START, "pro")
g.add_edge("pro", "con")
g.add_conditional_edges("con", on, ["pro", "judge"])
g.add_edge("judge", END)
app = g.compile()
