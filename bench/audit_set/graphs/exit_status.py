import subprocess
from typing import TypedDict

from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, StateGraph


class State(TypedDict):
    spec: str
    source: str
    returncode: int
    stderr: str


llm = ChatOpenAI(model="gpt-4o")


def write(state: State):
    return {"source": llm.invoke(f"Write Go code for {state['spec']}. Last error: {state.get('stderr')}").content}


def build(state: State):
    with open("main.go", "w") as f:
        f.write(state["source"])
    done = subprocess.run(["go", "build", "main.go"], capture_output=True, text=True)
    return {"returncode": done.returncode, "stderr": done.stderr}


def ok(state: State):
    return "finished" if state["returncode"] == 0 else "broken"


g = StateGraph(State)
g.add_node("write", write)
g.add_node("build", build)
g.add_edge(START, "write")
g.add_edge("write", "build")
g.add_conditional_edges("build", ok, {"finished": END, "broken": "write"})
graph = g.compile()
