"""The model writes tests too, but what the router reads is whether they ran green."""
import contextlib
import io
import traceback
from typing import Optional, TypedDict

from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, StateGraph

llm = ChatOpenAI(model="gpt-4o")
MAX = 3


class S(TypedDict):
    problem: str
    solution: str
    tests: str
    trace: Optional[str]
    k: int


def programmer(s: S):
    return {"solution": llm.invoke(f"{s['problem']} {s.get('trace')}").content, "k": s.get("k", 0) + 1}


def tester(s: S):
    return {"tests": llm.invoke("Assert statements for: " + s["problem"]).content}


def executor(s: S):
    namespace: dict = {}
    buffer = io.StringIO()
    trace = None
    with contextlib.redirect_stdout(buffer):
        try:
            exec(s["solution"], namespace)
            exec(s["tests"], namespace)
        except AssertionError:
            trace = "assertion failed: " + traceback.format_exc()
        except Exception:
            trace = traceback.format_exc()
    return {"trace": trace}


def route(s: S):
    if s["trace"] is not None and s["k"] <= MAX:
        return "programmer"
    return END


g = StateGraph(S)
g.add_node("programmer", programmer)
g.add_node("tester", tester)
g.add_node("executor", executor)
g.add_edge(START, "programmer")
g.add_edge("programmer", "tester")
g.add_edge("tester", "executor")
g.add_conditional_edges("executor", route, {"programmer": "programmer", END: END})
graph = g.compile()
