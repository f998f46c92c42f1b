from typing import TypedDict

import gymnasium as gym
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, StateGraph

env = gym.make("FrozenLake-v1", is_slippery=False)
llm = ChatOpenAI(model="gpt-4o-mini")


class Play(TypedDict):
    observation: int
    action: int
    over: bool


def choose(state: Play):
    return {"action": int(llm.invoke(f"You stand on {state['observation']}. 0-3?").content)}


def step(state: Play):
    observation, reward, terminated, truncated, info = env.step(state["action"])
    return {"observation": int(observation), "over": terminated or truncated}


g = StateGraph(Play)
g.add_node("choose", choose)
g.add_node("step", step)
g.add_edge(START, "choose")
g.add_edge("choose", "step")
g.add_conditional_edges("step", lambda s: END if s["over"] else "choose", ["choose", END])
player = g.compile()
