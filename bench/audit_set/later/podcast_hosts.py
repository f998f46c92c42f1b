from operator import add
from typing import Annotated, TypedDict

from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda
from langchain_openai import ChatOpenAI
from langgraph.graph import StateGraph

TURNS = 12
base = ChatPromptTemplate.from_messages([("system", "You are {who}. Keep the podcast going."), ("user", "{script}")])
speak = base | ChatOpenAI(temperature=1.0) | RunnableLambda(lambda m: m.content)


class Episode(TypedDict):
    script: Annotated[list[str], add]


def host(who):
    async def node(state: Episode):
        line = await speak.ainvoke({"who": who, "script": "\n".join(state["script"])})
        return {"script": [f"{who}: {line}"]}

    return node


show = StateGraph(Episode)
show.add_node("anna", host("Anna"))
show.add_node("ben", host("Ben"))
show.set_entry_point("anna")
show.add_edge("anna", "ben")
show.add_conditional_edges("ben", lambda s: "anna" if len(s["script"]) < TURNS else "__end__")
podcast = show.compile()
