from langchain_core.messages import SystemMessage
from langchain_openai import ChatOpenAI
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command
from pydantic import BaseModel
from pathlib import Path
import sqlite3


class Next(BaseModel):
    agent: str


llm = ChatOpenAI()


def boss(state: MessagesState):
    choice = llm.with_structured_output(Next).invoke([SystemMessage("Pick files, sql or __end__")] + state["messages"])
    return Command(goto=choice.agent)


def files(state: MessagesState) -> Command:
    text = Path("notes.txt").read_text()
    reply = llm.invoke(state["messages"] + [("user", text)])
    return Command(goto="boss", update={"messages": [reply]})


def sql(state: MessagesState) -> Command:
    rows = sqlite3.connect("x.db").execute("select * from t").fetchall()
    reply = llm.invoke(state["messages"] + [("user", str(rows))])
    return Command(goto="boss", update={"messages": [reply]})


b = StateGraph(MessagesState)
b.add_node("boss", boss)
b.add_node("files", files)
b.add_node("sql", sql)
b.add_edge(START, "boss")
team = b.compile()
