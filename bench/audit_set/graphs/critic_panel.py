from typing import TypedDict

from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, StateGraph

CRITICS = ["logic", "style", "facts"]
llm = ChatOpenAI(model="gpt-4o")


class State(TypedDict):
    essay: str
    logic: bool
    style: bool
    facts: bool


def make_critic(aspect: str):
    def critic(state: State):
        text = llm.invoke(f"Is the {aspect} fine? PASS or FAIL: {state['essay']}").content
        return {aspect: "PASS" in text}

    return critic


def author(state: State):
    complaints = [c for c in CRITICS if state.get(c) is False]
    return {"essay": llm.invoke(f"Improve {complaints}: {state['essay']}").content}


def all_pass(state: State):
    return END if all(state[c] for c in CRITICS) else "author"


g = StateGraph(State)
g.add_node("author", author)
g.add_node("tally", lambda state: {})
for c in CRITICS:
    g.add_node(f"critic_{c}", make_critic(c))
    g.add_edge("author", f"critic_{c}")
g.add_edge([f"critic_{c}" for c in CRITICS], "tally")
g.add_edge(START, "author")
g.add_conditional_edges("tally", all_pass, ["author", END])
graph = g.compile()
