import operator
from typing import Annotated, TypedDict

from langchain_mistralai import ChatMistralAI
from langgraph.graph import END, START, StateGraph
from pydantic import BaseModel


class Invoice(BaseModel):
    number: str
    total: float


class Queue(TypedDict):
    files: list[str]
    done: Annotated[list[Invoice], operator.add]


extractor = ChatMistralAI(model="mistral-large-latest").with_structured_output(Invoice)


def extract_next(state: Queue):
    first, *others = state["files"]
    with open(first) as f:
        invoice = extractor.invoke(f.read())
    return {"files": others, "done": [invoice]}


def more(state: Queue) -> bool:
    return len(state["files"]) > 0


wf = StateGraph(Queue)
wf.add_node("extract_next", extract_next)
wf.add_edge(START, "extract_next")
wf.add_conditional_edges("extract_next", more, {True: "extract_next", False: END})
app = wf.compile()
