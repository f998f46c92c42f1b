from typing import TypedDict

from langchain_openai import ChatOpenAI
from langchain_text_splitters import RecursiveCharacterTextSplitter
from langgraph.graph import END, START, StateGraph

splitter = RecursiveCharacterTextSplitter(chunk_size=2000)
llm = ChatOpenAI()


class S(TypedDict):
    document: str
    chunks: list[str]
    index: int
    summary: str


def split(state: S):
    return {"chunks": splitter.split_text(state["document"]), "index": 0, "summary": ""}


def refine(state: S):
    chunk = state["chunks"][state["index"]]
    out = llm.invoke(f"Summary so far: {state['summary']}\nExtend with: {chunk}")
    return {"summary": out.content, "index": state["index"] + 1}


def should_refine(state: S):
    if state["index"] >= len(state["chunks"]):
        return END
    else:
        return "refine"


g = StateGraph(S)
g.add_node("split", split)
g.add_node("refine", refine)
g.add_edge(START, "split")
g.add_edge("split", "refine")
g.add_conditional_edges("refine", should_refine)
graph = g.compile()
