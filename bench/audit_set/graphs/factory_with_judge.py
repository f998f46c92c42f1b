from typing import Any, Callable, TypedDict

from langchain_core.language_models import BaseChatModel
from langgraph.graph import END, START, StateGraph


class LoopState(TypedDict):
    task: str
    answer: str
    result: Any


def make_loop(llm: BaseChatModel, evaluate: Callable[[str], dict], max_tries: int = 5):
    def attempt(state: LoopState):
        return {"answer": llm.invoke(f"{state['task']} {state.get('result')}").content}

    def assess(state: LoopState):
        return {"result": evaluate(state["answer"])}

    def again(state: LoopState):
        return END if state["result"]["passed"] else "attempt"

    g = StateGraph(LoopState)
    g.add_node("attempt", attempt)
    g.add_node("assess", assess)
    g.add_edge(START, "attempt")
    g.add_edge("attempt", "assess")
    g.add_conditional_edges("assess", again, ["attempt", END])
    return g.compile()
