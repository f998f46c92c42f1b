from typing import TypedDict

from langchain.evaluation import load_evaluator
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, StateGraph

llm = ChatOpenAI(model="gpt-4o")
evaluator = load_evaluator("criteria", criteria="conciseness", llm=llm)


class S(TypedDict):
    question: str
    answer: str
    score: int


def answer(state: S):
    return {"answer": llm.invoke(state["question"]).content}


def evaluate(state: S):
    result = evaluator.evaluate_strings(prediction=state["answer"], input=state["question"])
    return {"score": result["score"]}


g = StateGraph(S)
g.add_node("answer", answer)
g.add_node("evaluate", evaluate)
g.add_edge(START, "answer")
g.add_edge("answer", "evaluate")
g.add_conditional_edges("evaluate", lambda s: "answer" if s["score"] == 0 else END)
graph = g.compile()
