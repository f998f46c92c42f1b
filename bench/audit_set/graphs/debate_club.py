from operator import add
from typing import Annotated, TypedDict

from langchain_groq import ChatGroq
from langgraph.graph import END, START, StateGraph

MAX_TURNS = 6


class Debate(TypedDict):
    motion: str
    history: Annotated[list[str], add]
    turn: int


def make_debater(side: str):
    llm = ChatGroq(model="llama-3.1-70b-versatile", temperature=0.9)

    def speak(state: Debate) -> dict:
        said = llm.invoke(f"You argue {side}: {state['motion']}\nSo far: {state['history']}")
        return {"history": [f"{side}: {said.content}"], "turn": state["turn"] + 1}

    return speak


def next_speaker(state: Debate) -> str:
    if state["turn"] >= MAX_TURNS:
        return "judge"
    return "con" if state["turn"] % 2 else "pro"


def judge(state: Debate) -> dict:
    return {"history": [ChatGroq(model="llama-3.1-70b-versatile").invoke(str(state["history"])).content]}


wf = StateGraph(Debate)
wf.add_node("pro", make_debater("for"))
wf.add_node("con", make_debater("against"))
wf.add_node("judge", judge)
wf.add_edge(START, "pro")
for side in ("pro", "con"):
    wf.add_conditional_edges(side, next_speaker, {"pro": "pro", "con": "con", "judge": "judge"})
wf.add_edge("judge", END)
app = wf.compile()
