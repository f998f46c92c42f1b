import time
from typing import TypedDict

import requests
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, StateGraph


class Deploy(TypedDict):
    manifest: str
    problem: str
    healthy: bool


llm = ChatOpenAI()
URL = "https://cluster.example/api"


def edit_manifest(state: Deploy):
    return {"manifest": llm.invoke(f"Fix manifest: {state['manifest']} problem: {state.get('problem')}").content}


def deploy(state: Deploy):
    requests.post(f"{URL}/apply", data=state["manifest"], timeout=30)
    time.sleep(5)
    response = requests.get(f"{URL}/health", timeout=30)
    if response.status_code == 200:
        return {"healthy": True, "problem": ""}
    return {"healthy": False, "problem": response.text}


def is_healthy(state: Deploy) -> bool:
    return state["healthy"]


g = StateGraph(Deploy)
g.add_node("edit_manifest", edit_manifest)
g.add_node("deploy", deploy)
g.add_edge(START, "deploy")
g.add_conditional_edges("deploy", is_healthy, {True: END, False: "edit_manifest"})
g.add_edge("edit_manifest", "deploy")
graph = g.compile()
