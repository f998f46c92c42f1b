"""Research subgraph as a node; the editor, a model, sends it back."""
from typing import TypedDict

from exa_py import Exa
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command
from pydantic import BaseModel

exa = Exa()
llm = ChatOpenAI()


class Shared(TypedDict):
    topic: str
    notes: str
    draft: str


class EditorSays(BaseModel):
    needs_more: bool
    topic: str


def look(state: Shared):
    return {"notes": str(exa.search_and_contents(state["topic"]).results)}


def digest(state: Shared):
    return {"draft": llm.invoke("Digest " + state["notes"]).content}


research = StateGraph(Shared)
research.add_node("look", look)
research.add_node("digest", digest)
research.add_edge(START, "look")
research.add_edge("look", "digest")
research.add_edge("digest", END)
research_graph = research.compile()


def editor(state: Shared):
    says = llm.with_structured_output(EditorSays).invoke(state["draft"])
    if says.needs_more:
        return Command(goto="research", update={"topic": says.topic})
    return Command(goto=END)


main = StateGraph(Shared)
main.add_node("research", research_graph)
main.add_node("editor", editor, destinations=("research", END))
main.add_edge(START, "research")
main.add_edge("research", "editor")
app = main.compile()
