from typing import TypedDict

from langchain_chroma import Chroma
from langchain_openai import ChatOpenAI, OpenAIEmbeddings
from langgraph.graph import END, START, StateGraph
from pydantic import BaseModel


class Answer(BaseModel):
    text: str
    confidence: float


class S(TypedDict):
    question: str
    k: int
    context: list[str]
    answer: Answer


db = Chroma(persist_directory="db", embedding_function=OpenAIEmbeddings())
llm = ChatOpenAI(model="gpt-4o").with_structured_output(Answer)


def retrieve(state: S):
    k = state.get("k", 2) * 2
    hits = db.similarity_search(state["question"], k=k)
    return {"context": [h.page_content for h in hits], "k": k}


def answer(state: S):
    return {"answer": llm.invoke(f"{state['question']}\n{state['context']}")}


def confident(state: S):
    if state["answer"].confidence > 0.7 or state["k"] > 32:
        return "done"
    return "more"


g = StateGraph(S).add_node("retrieve", retrieve).add_node("answer", answer)
g = g.add_edge(START, "retrieve").add_edge("retrieve", "answer")
g = g.add_conditional_edges("answer", confident, {"done": END, "more": "retrieve"})
graph = g.compile()
