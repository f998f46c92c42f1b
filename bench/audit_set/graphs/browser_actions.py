"""A browsing agent: predicts an action, the browser carries it out, the page comes back."""
import re
from typing import Optional, TypedDict

from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, StateGraph
from playwright.async_api import Page


class Prediction(TypedDict):
    action: str
    args: Optional[list[str]]


class AgentState(TypedDict):
    page: Page
    input: str
    prediction: Prediction
    observation: str


llm = ChatOpenAI(model="gpt-4o")


def parse(text: str) -> Prediction:
    m = re.match(r"Action: (\w+) ?(.*)", text.strip().split("\n")[-1])
    if not m:
        return {"action": "retry", "args": [text]}
    return {"action": m.group(1), "args": m.group(2).split(";")}


async def annotate(state: AgentState):
    shot = await state["page"].screenshot()
    reply = await llm.ainvoke([("user", [{"type": "text", "text": state["input"]}, {"type": "image", "image": shot}])])
    return {"prediction": parse(reply.content)}


async def click(state: AgentState):
    await state["page"].mouse.click(*map(float, state["prediction"]["args"]))
    return {"observation": f"Clicked; now at {state['page'].url}"}


async def scroll(state: AgentState):
    await state["page"].mouse.wheel(0, 500)
    return {"observation": await state["page"].title()}


def select_tool(state: AgentState):
    action = state["prediction"]["action"]
    if action == "ANSWER":
        return END
    if action == "retry":
        return "agent"
    return action.lower()


g = StateGraph(AgentState)
g.add_node("agent", annotate)
g.add_node("click", click)
g.add_node("scroll", scroll)
g.add_edge(START, "agent")
g.add_edge("click", "agent")
g.add_edge("scroll", "agent")
g.add_conditional_edges("agent", select_tool, ["agent", "click", "scroll", END])
graph = g.compile()
