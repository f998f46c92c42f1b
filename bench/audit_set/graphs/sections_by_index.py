from typing import TypedDict

from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, StateGraph
from pydantic import BaseModel


class Outline(BaseModel):
    titles: list[str]


class Book(TypedDict):
    subject: str
    titles: list[str]
    i: int
    chapters: list[str]


llm = ChatOpenAI()


def outline(state: Book):
    return {"titles": llm.with_structured_output(Outline).invoke(state["subject"]).titles, "i": 0, "chapters": []}


def write_chapter(state: Book):
    title = state["titles"][state["i"]]
    text = llm.invoke(f"Chapter {title}, after {state['chapters'][-1:]}").content
    return {"chapters": state["chapters"] + [text], "i": state["i"] + 1}


def has_more(state: Book) -> str:
    if state["i"] < len(state["titles"]):
        return "more"
    return "complete"


g = StateGraph(Book)
g.add_node("outline", outline)
g.add_node("write_chapter", write_chapter)
g.add_edge(START, "outline")
g.add_edge("outline", "write_chapter")
g.add_conditional_edges("write_chapter", has_more, {"more": "write_chapter", "complete": END})
graph = g.compile()
