import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TypedDict

from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, StateGraph
from pydantic import BaseModel


class Opinion(BaseModel):
    satisfied: bool
    remarks: str


class S(TypedDict):
    task: str
    code: str
    output: str
    remarks: str
    satisfied: bool


llm = ChatOpenAI(model="gpt-4o")


def coder(state: S):
    return {"code": llm.invoke(f"{state['task']}\n{state.get('remarks', '')}").content}


def runner(state: S):
    with tempfile.TemporaryDirectory() as d:
        script = Path(d) / "main.py"
        script.write_text(state["code"])
        p = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=30)
    return {"output": p.stdout + p.stderr}


def reviewer(state: S):
    o = llm.with_structured_output(Opinion).invoke(f"Task {state['task']}\nOutput {state['output']}\nSatisfied?")
    return {"satisfied": o.satisfied, "remarks": o.remarks}


def done(state: S):
    return "yes" if state["satisfied"] else "no"


g = StateGraph(S)
g.add_node("coder", coder)
g.add_node("runner", runner)
g.add_node("reviewer", reviewer)
g.add_edge(START, "coder")
g.add_edge("coder", "runner")
g.add_edge("runner", "reviewer")
g.add_conditional_edges("reviewer", done, {"yes": END, "no": "coder"})
graph = g.compile()
