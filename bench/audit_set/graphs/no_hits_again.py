from typing import TypedDict

from langchain_community.retrievers import ArxivRetriever
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, StateGraph

arxiv = ArxivRetriever(load_max_docs=3)
llm = ChatOpenAI()


class S(TypedDict):
    question: str
    query: str
    papers: list
    tries: int


def phrase(state: S):
    return {"query": llm.invoke(f"Another query for {state['question']}, not {state.get('query')}").content, "tries": state.get("tries", 0) + 1}


def look_up(state: S):
    return {"papers": arxiv.invoke(state["query"])}


def found(state: S):
    if len(state["papers"]) == 0 and state["tries"] < 5:
        return "phrase"
    return END


g = StateGraph(S)
g.add_node("phrase", phrase)
g.add_node("look_up", look_up)
g.add_edge(START, "phrase")
g.add_edge("phrase", "look_up")
g.add_conditional_edges("look_up", found, ["phrase", END])
graph = g.compile()
