import sqlite3
from contextlib import closing
from typing import TypedDict

from langchain_openai import AzureChatOpenAI
from langgraph.graph import StateGraph, START, END


class QAState(TypedDict, total=False):
    question: str
    sql: str
    rows: list
    answer: str
    is_answered: str


llm = AzureChatOpenAI(azure_deployment="gpt4o")


def write_sql(state: QAState) -> QAState:
    return {"sql": llm.invoke(f"SQL for {state['question']}; earlier rows {state.get('rows')}").content}


def run_sql(state: QAState) -> QAState:
    with closing(sqlite3.connect("shop.db")) as con:
        rows = con.execute(state["sql"]).fetchmany(20)
    return {"rows": rows}


def answer(state: QAState) -> QAState:
    text = llm.invoke(f"Answer {state['question']} from {state['rows']}").content
    verdict = llm.invoke(f"Does '{text}' answer '{state['question']}'? yes or no").content
    return {"answer": text, "is_answered": verdict}


def next_step(state: QAState):
    if "yes" in state["is_answered"].lower():
        return END
    return "write_sql"


sg = StateGraph(QAState)
sg.add_sequence([write_sql, run_sql, answer])
sg.add_edge(START, "write_sql")
sg.add_conditional_edges("answer", next_step, {"write_sql": "write_sql", END: END})
graph = sg.compile()
