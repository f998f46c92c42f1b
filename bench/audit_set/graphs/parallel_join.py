import subprocess
from typing import TypedDict

from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, StateGraph
from pydantic import BaseModel


class Style(BaseModel):
    clean: bool
    remark: str


class State(TypedDict):
    task: str
    code: str
    exit_code: int
    clean: bool
    remark: str


llm = ChatOpenAI(model="gpt-4o")


def write(state: State):
    return {"code": llm.invoke(f"{state['task']} {state.get('remark')}").content}


def run_tests(state: State):
    proc = subprocess.run(["pytest", "-q"], input=state["code"], text=True, capture_output=True)
    return {"exit_code": proc.returncode}


def style_review(state: State):
    s = llm.with_structured_output(Style).invoke(state["code"])
    return {"clean": s.clean, "remark": s.remark}


def merge(state: State):
    return {}


def decide(state: State):
    if state["exit_code"] != 0 or not state["clean"]:
        return "write"
    return END


g = StateGraph(State)
g.add_node("write", write)
g.add_node("run_tests", run_tests)
g.add_node("style_review", style_review)
g.add_node("merge", merge)
g.add_edge(START, "write")
g.add_edge("write", "run_tests")
g.add_edge("write", "style_review")
g.add_edge(["run_tests", "style_review"], "merge")
g.add_conditional_edges("merge", decide, ["write", END])
graph = g.compile()
