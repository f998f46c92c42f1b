import functools
import logging
from typing import Literal, TypedDict

from langchain_cohere import ChatCohere
from langgraph.graph import END, START, StateGraph

log = logging.getLogger("flow")


def traced(fn):
    @functools.wraps(fn)
    async def inner(state, *args, **kwargs):
        log.debug("enter %s", fn.__name__)
        result = await fn(state, *args, **kwargs)
        log.debug("leave %s", fn.__name__)
        return result

    return inner


class State(TypedDict):
    doc: str
    translation: str
    back: str
    same_meaning: str


llm = ChatCohere(model="command-r-plus")


@traced
async def translate(state: State):
    return {"translation": (await llm.ainvoke("To German: " + state["doc"])).content}


@traced
async def back_translate(state: State):
    return {"back": (await llm.ainvoke("To English: " + state["translation"])).content}


@traced
async def compare(state: State):
    answer = await llm.ainvoke(f"Same meaning, yes or no? {state['doc']} / {state['back']}")
    return {"same_meaning": answer.content.lower()}


@traced
async def route(state: State) -> Literal["translate", "__end__"]:
    if "yes" in state["same_meaning"]:
        return "__end__"
    return "translate"


g = StateGraph(State)
g.add_node("translate", translate)
g.add_node("back_translate", back_translate)
g.add_node("compare", compare)
g.add_edge(START, "translate")
g.add_edge("translate", "back_translate")
g.add_edge("back_translate", "compare")
g.add_conditional_edges("compare", route)
graph = g.compile()
