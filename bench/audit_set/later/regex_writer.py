"""Writes a regular expression and tries it on the examples that the user gave."""
import re
from typing import TypedDict

from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, StateGraph


class S(TypedDict):
    wish: str
    positives: list[str]
    negatives: list[str]
    pattern: str
    failures: list[str]


llm = ChatOpenAI(model="gpt-4o-mini")


def propose(state: S):
    return {"pattern": llm.invoke(f"Regex for {state['wish']}. Failed on {state.get('failures')}").content.strip()}


def try_out(state: S):
    failures = []
    for text in state["positives"]:
        if not re.fullmatch(state["pattern"], text):
            failures.append(text)
    for text in state["negatives"]:
        if re.fullmatch(state["pattern"], text):
            failures.append(text)
    return {"failures": failures}


def finished(state: S):
    return "propose" if state["failures"] else END


g = StateGraph(S)
g.add_node("propose", propose)
g.add_node("try_out", try_out)
g.add_edge(START, "propose")
g.add_edge("propose", "try_out")
g.add_conditional_edges("try_out", finished, ["propose", END])
graph = g.compile()
