from typing import TypedDict

from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, StateGraph


class InnerState(TypedDict):
    text: str
    critique: str


class OuterState(TypedDict):
    topic: str
    article: str


class Publisher:
    def __init__(self):
        self.llm = ChatOpenAI()
        self.polisher = self.make_polisher()

    def make_polisher(self):
        inner = StateGraph(InnerState)
        inner.add_node("polish", self.polish)
        inner.add_node("critique", self.critique)
        inner.add_edge(START, "polish")
        inner.add_edge("polish", "critique")
        inner.add_conditional_edges("critique", self.route, {"more": "polish", "stop": END})
        return inner.compile()

    def polish(self, state):
        return {"text": self.llm.invoke(state["text"] + state.get("critique", "")).content}

    def critique(self, state):
        return {"critique": self.llm.invoke("Criticise, or reply LGTM: " + state["text"]).content}

    def route(self, state):
        return "stop" if "LGTM" in state["critique"] else "more"

    def write(self, state):
        return {"article": self.llm.invoke("Write about " + state["topic"]).content}

    def finish(self, state):
        result = self.polisher.invoke({"text": state["article"]})
        return {"article": result["text"]}

    def build(self):
        outer = StateGraph(OuterState)
        outer.add_node("write", self.write)
        outer.add_node("finish", self.finish)
        outer.add_edge(START, "write")
        outer.add_edge("write", "finish")
        outer.add_edge("finish", END)
        return outer.compile()
