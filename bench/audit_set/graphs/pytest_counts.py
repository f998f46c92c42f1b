import json
import subprocess
from pathlib import Path
from typing import TypedDict

from anthropic import Anthropic
from langgraph.graph import END, START, StateGraph

anthropic = Anthropic()


class RepairState(TypedDict):
    repo: str
    patch: str
    failed: int
    log: str
    attempt: int


def propose(state: RepairState):
    r = anthropic.messages.create(
        model="claude-sonnet-4-0", max_tokens=4000, messages=[{"role": "user", "content": f"Fix it:\n{state['log']}"}]
    )
    return {"patch": r.content[0].text, "attempt": state["attempt"] + 1}


def apply_and_test(state: RepairState):
    repo = Path(state["repo"])
    subprocess.run(["git", "apply", "-"], input=state["patch"], text=True, cwd=repo, check=False)
    out = subprocess.run(["pytest", "--json-report", "-q"], cwd=repo, capture_output=True, text=True)
    summary = json.loads((repo / ".report.json").read_text())["summary"]
    return {"failed": summary.get("failed", 0), "log": out.stdout[-4000:]}


def reflect(state: RepairState):
    r = anthropic.messages.create(model="claude-sonnet-4-0", max_tokens=500, messages=[{"role": "user", "content": state["log"]}])
    return {"log": state["log"] + r.content[0].text}


def verdict(state: RepairState) -> str:
    if state["failed"] == 0:
        return "green"
    if state["attempt"] >= 6:
        return "give_up"
    return "red"


wf = StateGraph(RepairState)
wf.add_node("propose", propose)
wf.add_node("test", apply_and_test)
wf.add_node("reflect", reflect)
wf.add_edge(START, "propose")
wf.add_edge("propose", "test")
wf.add_conditional_edges("test", verdict, {"green": END, "give_up": END, "red": "reflect"})
wf.add_edge("reflect", "propose")
repair = wf.compile()
