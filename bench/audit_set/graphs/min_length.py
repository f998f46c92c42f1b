from typing import TypedDict

from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, StateGraph


class Letter(TypedDict):
    subject: str
    body: str


llm = ChatOpenAI()


def compose(state: Letter):
    return {"body": llm.invoke(f"Letter about {state['subject']}; expand this: {state.get('body', '')}").content}


def long_enough(state: Letter):
    words = len(state["body"].split())
    if words < 300:
        return "compose"
    return END


g = StateGraph(Letter)
g.add_node("compose", compose)
g.add_edge(START, "compose")
g.add_conditional_edges("compose", long_enough, {"compose": "compose", END: END})
graph = g.compile()
