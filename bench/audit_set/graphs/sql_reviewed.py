from typing import TypedDict

from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import PromptTemplate
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, StateGraph


class S(TypedDict):
    question: str
    schema: str
    query: str
    remarks: str
    is_valid: bool


model = ChatOpenAI(temperature=0)
write = PromptTemplate.from_template("Schema: {schema}\nQ: {question}\nRemarks: {remarks}\nSQL:") | model | StrOutputParser()
check = PromptTemplate.from_template("Is this SQL right for {question}? Answer VALID or say why not.\n{query}") | model | StrOutputParser()


def write_query(state):
    return {"query": write.invoke(state)}


def check_query(state):
    out = check.invoke(state)
    return {"remarks": out, "is_valid": out.strip().upper().startswith("VALID")}


g = StateGraph(S)
g.add_node("write_query", write_query)
g.add_node("check_query", check_query)
g.add_edge(START, "write_query")
g.add_edge("write_query", "check_query")
g.add_conditional_edges("check_query", lambda s: "done" if s["is_valid"] else "again", {"done": END, "again": "write_query"})
sql_graph = g.compile()
