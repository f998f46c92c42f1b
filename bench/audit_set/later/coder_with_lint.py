import subprocess
import tempfile
from pathlib import Path
from typing import TypedDict

from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, StateGraph

llm = ChatOpenAI(model="gpt-4o")


class S(TypedDict):
    task: str
    code: str
    lint: str
    critique: str
    happy: bool


def lint_file(code: str) -> tuple[int, str]:
    path = Path(tempfile.mkdtemp()) / "a.py"
    path.write_text(code)
    done = subprocess.run(["ruff", "check", str(path)], capture_output=True, text=True)
    return done.returncode, done.stdout


def code(state: S):
    return {"code": llm.invoke(f"{state['task']} {state.get('lint')} {state.get('critique')}").content}


def lint(state: S):
    status, output = lint_file(state["code"])
    return {"lint": output if status else ""}


def critique(state: S):
    reply = llm.invoke("Would a senior engineer accept this? YES or explain.\n" + state["code"]).content
    return {"critique": reply, "happy": reply.startswith("YES")}


def after_lint(state: S):
    return "code" if state["lint"] else "critique"


def after_critique(state: S):
    return END if state["happy"] else "code"


g = StateGraph(S)
for f in (code, lint, critique):
    g.add_node(f)
g.add_edge(START, "code")
g.add_edge("code", "lint")
g.add_conditional_edges("lint", after_lint, ["code", "critique"])
g.add_conditional_edges("critique", after_critique, ["code", END])
graph = g.compile()
