from typing import TypedDict

from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command

llm = ChatOpenAI()


class T(TypedDict):
    source: str
    glossary: dict[str, str]
    target: str
    errors: list[str]
    n: int


def translate(state: T):
    text = llm.invoke(f"Translate {state['source']}; glossary {state['glossary']}; errors {state.get('errors')}").content
    return Command(update={"target": text, "n": state.get("n", 0) + 1}, goto="verify")


def verify(state: T):
    errors = []
    for term, wanted in state["glossary"].items():
        if term in state["source"] and wanted not in state["target"]:
            errors.append(f"{term} must be {wanted}")
    if errors and state["n"] < 4:
        return Command(update={"errors": errors}, goto="translate")
    return Command(goto=END)


g = StateGraph(T)
g.add_node("translate", translate)
g.add_node("verify", verify)
g.add_edge(START, "translate")
graph = g.compile()
