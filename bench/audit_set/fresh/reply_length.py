from typing import TypedDict

from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, StateGraph


class S(TypedDict):
    mail: str
    reply: str
    limit: int


llm = ChatOpenAI(model="gpt-4o-mini")


def shorten(state: S):
    return {"reply": llm.invoke(f"At most {state['limit']} words: {state.get('reply') or state['mail']}").content}


def short_enough(state: S):
    return END if len(state["reply"].split()) <= state["limit"] else "shorten"


g = StateGraph(S)
g.add_node("shorten", shorten)
g.add_edge(START, "shorten")
g.add_conditional_edges("shorten", short_enough, {END: END, "shorten": "shorten"})
app = g.compile()
