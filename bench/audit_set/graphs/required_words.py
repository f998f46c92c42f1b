from typing import TypedDict

from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, StateGraph


class CopyState(TypedDict):
    product: str
    required: list[str]
    forbidden: list[str]
    copy: str
    missing: list[str]
    present: list[str]


llm = ChatOpenAI(model="gpt-4o-mini")


def write_copy(state: CopyState):
    return {
        "copy": llm.invoke(
            f"Ad for {state['product']}; use {state['required']}; avoid {state['forbidden']}; you missed {state.get('missing')}"
        ).content
    }


def check_words(state: CopyState):
    text = state["copy"].lower()
    missing = [w for w in state["required"] if w.lower() not in text]
    present = [w for w in state["forbidden"] if w.lower() in text]
    return {"missing": missing, "present": present}


def route(state: CopyState):
    if state["missing"] or state["present"]:
        return "write_copy"
    return END


g = StateGraph(CopyState)
g.add_node("write_copy", write_copy)
g.add_node("check_words", check_words)
g.add_edge(START, "write_copy")
g.add_edge("write_copy", "check_words")
g.add_conditional_edges("check_words", route, ["write_copy", END])
graph = g.compile()
