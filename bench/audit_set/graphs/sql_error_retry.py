from typing import Annotated, TypedDict

from langchain_community.utilities import SQLDatabase
from langchain_openai import ChatOpenAI
from langgraph.graph import END, StateGraph

db = SQLDatabase.from_uri("sqlite:///Chinook.db")
llm = ChatOpenAI(model="gpt-4o-mini")


class SQLState(TypedDict):
    question: str
    query: str
    result: str
    error: str | None
    retries: int


def generate_query(state: SQLState):
    prompt = f"Schema {db.get_table_info()}\nQ: {state['question']}\nPrevious error: {state.get('error')}"
    return {"query": llm.invoke(prompt).content, "retries": state.get("retries", 0) + 1}


def execute_query(state: SQLState):
    try:
        result = db.run(state["query"])
        return {"result": result, "error": None}
    except Exception as exc:
        return {"error": str(exc)}


def summarize(state: SQLState):
    return {"result": llm.invoke(state["result"]).content}


def check_error(state: SQLState):
    if state["error"] and state["retries"] < 3:
        return "generate_query"
    return "summarize"


w = StateGraph(SQLState)
w.add_node("generate_query", generate_query)
w.add_node("execute_query", execute_query)
w.add_node("summarize", summarize)
w.set_entry_point("generate_query")
w.add_edge("generate_query", "execute_query")
w.add_conditional_edges("execute_query", check_error)
w.set_finish_point("summarize")
sql_agent = w.compile()
