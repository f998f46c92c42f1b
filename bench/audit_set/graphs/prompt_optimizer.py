import os
from typing import TypedDict

import litellm
from langgraph.graph import END, START, StateGraph

JUDGE = "Give a score from 1 to 100 for how well OUTPUT follows GOAL. Number only."


class PromptState(TypedDict):
    goal: str
    prompt: str
    output: str
    score: int
    target: int
    best: tuple[int, str]


async def _chat(content: str) -> str:
    r = await litellm.acompletion(model=os.environ.get("MODEL", "gpt-4o"), messages=[{"role": "user", "content": content}])
    return r.choices[0].message.content or ""


async def run_prompt(state: PromptState):
    return {"output": await _chat(state["prompt"])}


async def judge_output(state: PromptState):
    text = await _chat(f"{JUDGE}\nGOAL: {state['goal']}\nOUTPUT: {state['output']}")
    digits = "".join(ch for ch in text if ch.isdigit())
    score = int(digits or 0)
    best = max(state.get("best", (0, "")), (score, state["prompt"]))
    return {"score": score, "best": best}


async def improve(state: PromptState):
    return {"prompt": await _chat(f"Improve this prompt, it scored {state['score']}: {state['prompt']}")}


def enough(state: PromptState):
    return "stop" if state["score"] >= state["target"] else "improve"


g = StateGraph(PromptState)
for fn in (run_prompt, judge_output, improve):
    g.add_node(fn.__name__, fn)
g.add_edge(START, "run_prompt")
g.add_edge("run_prompt", "judge_output")
g.add_conditional_edges("judge_output", enough, {"stop": END, "improve": "improve"})
g.add_edge("improve", "run_prompt")
optimizer = g.compile()
