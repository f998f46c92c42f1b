from typing import TypedDict

import z3
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, StateGraph


class P(TypedDict):
    puzzle: str
    smt: str
    outcome: str
    n: int


llm = ChatOpenAI(model="o3")


def formalise(state: P):
    return {"smt": llm.invoke(f"SMT-LIB for: {state['puzzle']}\nLast outcome: {state.get('outcome')}").content, "n": state["n"] + 1}


def solve(state: P):
    solver = z3.Solver()
    try:
        solver.from_string(state["smt"])
    except z3.Z3Exception as e:
        return {"outcome": f"error: {e}"}
    return {"outcome": str(solver.check())}


def route(state: P):
    if state["outcome"] == "sat":
        return "report"
    return "formalise" if state["n"] < 8 else "report"


def report(state: P):
    return {}


g = StateGraph(P)
g.add_node("formalise", formalise)
g.add_node("solve", solve)
g.add_node("report", report)
g.add_edge(START, "formalise")
g.add_edge("formalise", "solve")
g.add_conditional_edges("solve", route, ["formalise", "report"])
g.add_edge("report", END)
graph = g.compile()
