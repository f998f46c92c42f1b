"""The node called reflect runs a type checker; no model in it."""
import tempfile
from typing import TypedDict

from langchain_fireworks import ChatFireworks
from langgraph.graph import END, START, StateGraph
from mypy import api as mypy_api


class TypedCode(TypedDict):
    ask: str
    code: str
    diagnostics: list[str]


model = ChatFireworks(model="accounts/fireworks/models/qwen")


def run_type_checker(code: str) -> list[str]:
    with tempfile.NamedTemporaryFile("w", suffix=".py") as f:
        f.write(code)
        f.flush()
        stdout, _, status = mypy_api.run(["--strict", f.name])
    return stdout.splitlines() if status else []


def act(state: TypedCode):
    return {"code": model.invoke(f"{state['ask']} {state.get('diagnostics')}").content}


def reflect(state: TypedCode):
    return {"diagnostics": run_type_checker(state["code"])}


def should_continue(state: TypedCode):
    return "act" if state["diagnostics"] else END


wf = StateGraph(TypedCode)
wf.add_node("act", act)
wf.add_node("reflect", reflect)
wf.add_edge(START, "act")
wf.add_edge("act", "reflect")
wf.add_conditional_edges("reflect", should_continue, path_map=["act", END])
app = wf.compile()
