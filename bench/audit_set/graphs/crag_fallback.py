from typing import List, TypedDict

from langchain_community.tools import DuckDuckGoSearchRun
from langchain_core.documents import Document
from langchain_openai import ChatOpenAI
from langchain_qdrant import QdrantVectorStore
from langgraph.graph import END, START, StateGraph
from pydantic import BaseModel

store = QdrantVectorStore.from_existing_collection("docs")
web = DuckDuckGoSearchRun()
llm = ChatOpenAI()


class YesNo(BaseModel):
    score: str


grader = llm.with_structured_output(YesNo)


class State(TypedDict):
    question: str
    documents: List[Document]
    answer: str
    verdict: str
    tries: int


def retrieve(state: State):
    return {"documents": store.similarity_search(state["question"], k=4)}


def grade(state: State):
    kept = []
    for d in state["documents"]:
        if grader.invoke(f"Relevant to {state['question']}? {d.page_content}").score == "yes":
            kept.append(d)
    return {"documents": kept}


def websearch(state: State):
    return {"documents": [Document(page_content=web.invoke(state["question"]))]}


def answer(state: State):
    a = llm.invoke(f"{state['question']} {state['documents']}").content
    v = grader.invoke(f"Is this grounded? {a} {state['documents']}").score
    return {"answer": a, "verdict": v, "tries": state.get("tries", 0) + 1}


def after_grade(state: State):
    return "answer" if state["documents"] else "websearch"


def after_answer(state: State):
    if state["verdict"] == "yes":
        return "end"
    if state["tries"] > 3:
        return "end"
    return "websearch"


g = StateGraph(State)
g.add_node("retrieve", retrieve)
g.add_node("grade", grade)
g.add_node("websearch", websearch)
g.add_node("answer", answer)
g.add_edge(START, "retrieve")
g.add_edge("retrieve", "grade")
g.add_conditional_edges("grade", after_grade, {"answer": "answer", "websearch": "websearch"})
g.add_edge("websearch", "answer")
g.add_conditional_edges("answer", after_answer, {"end": END, "websearch": "websearch"})
graph = g.compile()
