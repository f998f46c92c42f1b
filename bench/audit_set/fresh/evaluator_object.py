from dataclasses import dataclass
from typing import Any, TypedDict

from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, StateGraph


class State(TypedDict):
    task: str
    answer: str
    quality: float


@dataclass
class Evaluator:
    llm: Any
    threshold: float = 0.8

    def score(self, answer: str) -> float:
        reply = self.llm.invoke(f"Grade from 0 to 100: {answer}")
        try:
            return float(reply.content) / 100
        except ValueError:
            return 0.0


class RefineAgent:
    def __init__(self, model: str = "gpt-4o"):
        self.llm = ChatOpenAI(model=model)
        self.evaluator = Evaluator(self.llm)
        self.app = self._build()

    def solve(self, state: State):
        return {"answer": self.llm.invoke(state["task"]).content}

    def verify(self, state: State):
        return {"quality": self.evaluator.score(state["answer"])}

    def good_enough(self, state: State) -> str:
        return "stop" if state["quality"] >= self.evaluator.threshold else "again"

    def _build(self):
        g = StateGraph(State)
        g.add_node("solve", self.solve)
        g.add_node("verify", self.verify)
        g.add_edge(START, "solve")
        g.add_edge("solve", "verify")
        g.add_conditional_edges("verify", self.good_enough, {"stop": END, "again": "solve"})
        return g.compile()


agent = RefineAgent().app
