from typing import TypedDict

from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, StateGraph

SHAPE = [5, 7, 5]
VOWELS = "aeiouy"


class Haiku(TypedDict):
    topic: str
    poem: str
    counts: list[int]


llm = ChatOpenAI(model="gpt-4o-mini", temperature=1.0)


def syllables(word: str) -> int:
    groups, before = 0, ""
    for letter in word.lower():
        if letter in VOWELS and before not in VOWELS:
            groups += 1
        before = letter
    return max(1, groups)


def compose(state: Haiku):
    told = f"Your last had {state['counts']} syllables." if state.get("counts") else ""
    return {"poem": llm.invoke(f"A haiku about {state['topic']}. {told}").content}


def count(state: Haiku):
    lines = state["poem"].splitlines()
    return {"counts": [sum(syllables(w) for w in line.split()) for line in lines]}


def shape_fits(state: Haiku):
    if state["counts"] == SHAPE:
        return END
    return "compose"


builder = StateGraph(Haiku)
builder.add_node("compose", compose)
builder.add_node("count", count)
builder.add_edge(START, "compose")
builder.add_edge("compose", "count")
builder.add_conditional_edges("count", shape_fits, ["compose", END])
graph = builder.compile()
