import json
from typing import TypedDict

import jsonschema
from langchain_ollama import ChatOllama
from langgraph.graph import END, START, StateGraph

SCHEMA = {"type": "object", "required": ["name", "price"]}


class S(TypedDict):
    text: str
    reply: str
    problem: str | None
    tries: int


llm = ChatOllama(model="llama3.1", format="json")


def extract(state: S):
    return {"reply": llm.invoke(f"{state['text']}\n{state.get('problem') or ''}").content, "tries": state.get("tries", 0) + 1}


def validate(state: S):
    try:
        jsonschema.validate(json.loads(state["reply"]), SCHEMA)
    except (json.JSONDecodeError, jsonschema.ValidationError) as e:
        return {"problem": str(e)}
    return {"problem": None}


def next_step(state: S):
    if state["problem"] is None or state["tries"] > 2:
        return END
    return "extract"


g = StateGraph(S)
g.add_node("extract", extract)
g.add_node("validate", validate)
g.add_edge(START, "extract")
g.add_edge("extract", "validate")
g.add_conditional_edges("validate", next_step)
app = g.compile()
