"""Answers questions; a rubric decides when the answer is good."""
import statistics
from dataclasses import dataclass, field

from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, StateGraph
from pydantic import BaseModel


class Rubric(BaseModel):
    clarity: int
    accuracy: int
    tone: int


@dataclass
class Work:
    question: str
    answer: str = ""
    marks: dict = field(default_factory=dict)
    mean: float = 0.0
    attempts: int = 0


llm = ChatOpenAI(model="gpt-4o")
MIN_MEAN = 4
WEIGHTS = {"clarity": 0.2, "accuracy": 0.6, "tone": 0.2}


def answer(state: Work):
    r = llm.invoke([("user", f"{state.question}\nlast marks: {state.marks}")])
    return {"answer": r.content, "attempts": state.attempts + 1}


def grade(state: Work):
    marks = llm.with_structured_output(Rubric).invoke(f"Grade 1-5:\n{state.answer}").model_dump()
    total = 0.0
    for name, weight in WEIGHTS.items():
        total += weight * marks[name]
    lowest = min(marks.values())
    if lowest < 2:
        total = lowest
    return {"marks": marks, "mean": statistics.fmean([total, total])}


def decide(state: Work) -> str:
    if state.mean >= MIN_MEAN:
        return END
    if state.attempts >= 5:
        return END
    return "answer"


b = StateGraph(Work)
b.add_node(answer)
b.add_node(grade)
b.add_edge(START, "answer")
b.add_edge("answer", "grade")
b.add_conditional_edges("grade", decide, ["answer", END])
graph = b.compile()
