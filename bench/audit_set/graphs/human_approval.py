from typing import Literal, TypedDict

from langchain_anthropic import ChatAnthropic
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt


class State(TypedDict):
    topic: str
    tweet: str
    comment: str


llm = ChatAnthropic(model="claude-3-7-sonnet-latest")


def write(state: State):
    return {"tweet": llm.invoke(f"Tweet on {state['topic']}. {state.get('comment', '')}").content}


def approval(state: State) -> Command[Literal["write", "post"]]:
    decision = interrupt({"question": "Post it?", "tweet": state["tweet"]})
    if decision["approved"]:
        return Command(goto="post")
    return Command(goto="write", update={"comment": decision["comment"]})


def post(state: State):
    print("posted", state["tweet"])
    return {}


builder = StateGraph(State)
builder.add_node(write)
builder.add_node(approval)
builder.add_node(post)
builder.add_edge(START, "write")
builder.add_edge("write", "approval")
builder.add_edge("post", END)
graph = builder.compile(checkpointer=InMemorySaver())
