import time
from typing import TypedDict

import httpx
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, StateGraph


class Watch(TypedDict):
    url: str
    limit: float
    price: float
    mail: str


def poll(state: Watch):
    time.sleep(60)
    return {"price": httpx.get(state["url"]).json()["price"]}


def write_mail(state: Watch):
    return {"mail": ChatOpenAI().invoke(f"Tell the user: {state['price']}").content}


g = StateGraph(Watch)
g.add_node("poll", poll)
g.add_node("write_mail", write_mail)
g.add_edge(START, "poll")
g.add_conditional_edges("poll", lambda s: "write_mail" if s["price"] < s["limit"] else "poll", ["poll", "write_mail"])
g.add_edge("write_mail", END)
watcher = g.compile()
