import functools
from typing import TypedDict

from langchain_core.language_models import BaseChatModel
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, StateGraph


class DocState(TypedDict):
    source: str
    doc: str
    review: str
    round: int


def doc_node(state: DocState, llm: BaseChatModel, style: str):
    return {"doc": llm.invoke(f"[{style}] Document this:\n{state['source']}\n{state.get('review')}").content}


def review_node(state: DocState, llm: BaseChatModel):
    verdict = llm.invoke("Is this documentation complete? yes/no, then why.\n" + state["doc"]).content
    return {"review": verdict, "round": state.get("round", 0) + 1}


def continue_or_not(state: DocState, limit: int):
    first = state["review"].split()[0].lower().strip(",.")
    if first == "yes" or state["round"] >= limit:
        return "end"
    return "rewrite"


def build_graph(limit: int = 3):
    big, small = ChatOpenAI(model="gpt-4o"), ChatOpenAI(model="gpt-4o-mini")
    graph = StateGraph(DocState)
    graph.add_node("document", functools.partial(doc_node, llm=big, style="terse"))
    graph.add_node("review", functools.partial(review_node, llm=small))
    graph.add_edge(START, "document")
    graph.add_edge("document", "review")
    graph.add_conditional_edges("review", functools.partial(continue_or_not, limit=limit), {"end": END, "rewrite": "document"})
    return graph.compile()
