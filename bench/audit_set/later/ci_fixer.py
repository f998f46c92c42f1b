import asyncio
import os
from dataclasses import dataclass, field

from github import Github
from langchain_anthropic import ChatAnthropic
from langgraph.graph import END, START, StateGraph
from langgraph.types import RetryPolicy

gh = Github(os.environ["GITHUB_TOKEN"])
llm = ChatAnthropic(model="claude-sonnet-4-20250514")


@dataclass
class Ci:
    repo: str
    branch: str
    diff: str = ""
    conclusion: str = ""
    logs: list[str] = field(default_factory=list)
    pushes: int = 0


async def patch(state: Ci) -> dict:
    prompt = "\n".join(["Fix the build.", *state.logs[-2:]])
    answer = await llm.ainvoke(prompt)
    return {"diff": answer.content, "pushes": state.pushes + 1}


async def push(state: Ci) -> dict:
    repo = gh.get_repo(state.repo)
    repo.create_file("fix.patch", "fix", state.diff, branch=state.branch)
    return {}


async def wait_for_ci(state: Ci) -> dict:
    repo = gh.get_repo(state.repo)
    while True:
        run = repo.get_workflow_runs(branch=state.branch)[0]
        if run.status == "completed":
            break
        await asyncio.sleep(30)
    return {"conclusion": run.conclusion, "logs": state.logs + [run.logs_url]}


def green(state: Ci) -> str:
    if state.conclusion == "success" or state.pushes > 5:
        return END
    return "patch"


g = StateGraph(Ci)
g.add_node("patch", patch, retry_policy=RetryPolicy(max_attempts=3))
g.add_node("push", push)
g.add_node("wait_for_ci", wait_for_ci)
g.add_edge(START, "wait_for_ci")
g.add_conditional_edges("wait_for_ci", green, {END: END, "patch": "patch"})
g.add_edge("patch", "push")
g.add_edge("push", "wait_for_ci")
graph = g.compile()
