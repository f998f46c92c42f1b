import pathlib
import subprocess
import tempfile
from typing import TypedDict

from langchain_deepseek import ChatDeepSeek
from langgraph.graph import END, START, StateGraph


class Code(TypedDict):
    spec: str
    tests: str
    program: str
    failures: str


llm = ChatDeepSeek(model="deepseek-chat")


def write_tests(state: Code):
    return {"tests": llm.invoke("Pytest tests for: " + state["spec"]).content}


def write_program(state: Code):
    return {"program": llm.invoke(f"{state['spec']}\nFailures: {state.get('failures', '')}").content}


def run(state: Code):
    with tempfile.TemporaryDirectory() as d:
        folder = pathlib.Path(d)
        (folder / "program.py").write_text(state["program"])
        (folder / "test_program.py").write_text(state["tests"])
        done = subprocess.run(["pytest", "-q", d], capture_output=True, text=True)
    return {"failures": "" if done.returncode == 0 else done.stdout}


def passed(state: Code):
    return "again" if state["failures"] else "ok"


g = StateGraph(Code)
g.add_node("write_tests", write_tests)
g.add_node("write_program", write_program)
g.add_node("run", run)
g.add_edge(START, "write_tests")
g.add_edge("write_tests", "write_program")
g.add_edge("write_program", "run")
g.add_conditional_edges("run", passed, {"again": "write_program", "ok": END})
app = g.compile()
