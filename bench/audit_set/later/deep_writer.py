"""Outline, research per section through a subgraph, write, model decides whether to research again."""
import operator
from typing import Annotated, TypedDict

from langchain_community.retrievers import TavilySearchAPIRetriever
from langchain_openai import ChatOpenAI
from langgraph.constants import Send
from langgraph.graph import END, START, StateGraph
from pydantic import BaseModel, Field

llm = ChatOpenAI(model="gpt-4o")
retriever = TavilySearchAPIRetriever(k=3)


class Feedback(BaseModel):
    grade: str = Field(description="pass or fail")
    follow_up: list[str]


class SectionState(TypedDict):
    section: str
    queries: list[str]
    sources: str
    text: str
    rounds: int
    completed: list[str]


class ReportState(TypedDict):
    sections: list[str]
    completed: Annotated[list[str], operator.add]
    report: str


def make_queries(state: SectionState):
    return {"queries": [llm.invoke(f"A query for {state['section']}").content], "rounds": 0}


def search(state: SectionState):
    docs = []
    for q in state["queries"]:
        docs.extend(retriever.invoke(q))
    return {"sources": "\n".join(d.page_content for d in docs), "rounds": state["rounds"] + 1}


def write(state: SectionState):
    text = llm.invoke(f"{state['section']}\n{state['sources']}").content
    return {"text": text, "completed": [text]}


def grade(state: SectionState):
    fb = llm.with_structured_output(Feedback).invoke(state["text"])
    if fb.grade == "pass" or state["rounds"] >= 2:
        return END
    return "search"


section = StateGraph(SectionState)
section.add_node("make_queries", make_queries)
section.add_node("search", search)
section.add_node("write", write)
section.add_edge(START, "make_queries")
section.add_edge("make_queries", "search")
section.add_edge("search", "write")
section.add_conditional_edges("write", grade, {"search": "search", END: END})


def plan(state: ReportState):
    return {"sections": llm.invoke("outline").content.split("\n")}


def each(state: ReportState):
    return [Send("build_section", {"section": s}) for s in state["sections"]]


def compile_report(state: ReportState):
    return {"report": "\n\n".join(state["completed"])}


report = StateGraph(ReportState)
report.add_node("plan", plan)
report.add_node("build_section", section.compile())
report.add_node("compile_report", compile_report)
report.add_edge(START, "plan")
report.add_conditional_edges("plan", each, ["build_section"])
report.add_edge("build_section", "compile_report")
report.add_edge("compile_report", END)
graph = report.compile()
