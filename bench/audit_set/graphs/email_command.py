from typing import Literal

from langchain_openai import ChatOpenAI
from langgraph.graph import MessagesState, StateGraph, START, END
from langgraph.types import Command
from pydantic import BaseModel


class Tone(BaseModel):
    polite: bool
    advice: str


class MailState(MessagesState):
    draft: str
    advice: str


llm = ChatOpenAI(model="gpt-4.1")


def draft(state: MailState) -> Command[Literal["tone_check"]]:
    reply = llm.invoke(state["messages"] + [("user", state.get("advice", ""))])
    return Command(update={"draft": reply.content}, goto="tone_check")


def tone_check(state: MailState) -> Command[Literal["draft", "__end__"]]:
    tone = llm.with_structured_output(Tone).invoke(state["draft"])
    if tone.polite:
        return Command(goto=END)
    return Command(update={"advice": tone.advice}, goto="draft")


builder = StateGraph(MailState)
builder.add_node("draft", draft)
builder.add_node("tone_check", tone_check)
builder.add_edge(START, "draft")
graph = builder.compile()
