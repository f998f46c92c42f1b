import operator
from typing import Annotated, TypedDict

from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, StateGraph
from langgraph.types import Send
from pydantic import BaseModel


class Subjects(BaseModel):
    subjects: list[str]


class OverallState(TypedDict):
    topic: str
    subjects: list
    jokes: Annotated[list, operator.add]
    best: str


model = ChatOpenAI()


def generate_topics(state: OverallState):
    return {"subjects": model.with_structured_output(Subjects).invoke(state["topic"]).subjects}


def generate_joke(state):
    return {"jokes": [model.invoke("Joke about " + state["subject"]).content]}


def continue_to_jokes(state: OverallState):
    return [Send("generate_joke", {"subject": s}) for s in state["subjects"]]


def best_joke(state: OverallState):
    return {"best": model.invoke("Best of " + "\n\n".join(state["jokes"])).content}


g = StateGraph(OverallState)
g.add_node("generate_topics", generate_topics)
g.add_node("generate_joke", generate_joke)
g.add_node("best_joke", best_joke)
g.add_edge(START, "generate_topics")
g.add_conditional_edges("generate_topics", continue_to_jokes, ["generate_joke"])
g.add_edge("generate_joke", "best_joke")
g.add_edge("best_joke", END)
app = g.compile()
