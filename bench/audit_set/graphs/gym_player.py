import gymnasium as gym
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, StateGraph
from typing import Any, TypedDict

env = gym.make("FrozenLake-v1", render_mode="ansi")
llm = ChatOpenAI(model="gpt-4o")


class Play(TypedDict):
    board: str
    action: int
    done: bool
    reward: float


def reset(state: Play):
    env.reset(seed=1)
    return {"board": env.render(), "done": False}


def act(state: Play):
    answer = llm.invoke("0 left 1 down 2 right 3 up\n" + state["board"]).content
    return {"action": int(answer.strip()[0])}


def step(state: Play):
    _, reward, terminated, truncated, _ = env.step(state["action"])
    return {"board": env.render(), "reward": reward, "done": terminated or truncated}


g = StateGraph(Play)
g.add_node("reset", reset)
g.add_node("act", act)
g.add_node("step", step)
g.add_edge(START, "reset")
g.add_edge("reset", "act")
g.add_edge("act", "step")
g.add_conditional_edges("step", lambda s: END if s["done"] else "act", [END, "act"])
game = g.compile()
