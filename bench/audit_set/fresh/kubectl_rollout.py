import subprocess
from typing import TypedDict

from langchain_aws import ChatBedrockConverse
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command


class Deploy(TypedDict):
    manifest: str
    log: str
    attempt: int


llm = ChatBedrockConverse(model="anthropic.claude-3-5-sonnet")


def _kubectl(*args, stdin=None):
    return subprocess.run(["kubectl", *args], input=stdin, text=True, capture_output=True, timeout=120)


def repair_manifest(state: Deploy):
    reply = llm.invoke(f"Fix the manifest.\n{state['manifest']}\n{state.get('log', '')}")
    return {"manifest": reply.content, "attempt": state.get("attempt", 0) + 1}


def roll_out(state: Deploy) -> Command:
    applied = _kubectl("apply", "-f", "-", stdin=state["manifest"])
    if applied.returncode != 0:
        return Command(update={"log": applied.stderr}, goto="repair_manifest")
    status = _kubectl("rollout", "status", "deployment/web")
    if status.returncode == 0 or state["attempt"] >= 5:
        return Command(goto=END)
    return Command(update={"log": status.stdout + status.stderr}, goto="repair_manifest")


g = StateGraph(Deploy)
g.add_node(repair_manifest)
g.add_node(roll_out)
g.add_edge(START, "repair_manifest")
g.add_edge("repair_manifest", "roll_out")
pipeline = g.compile()
