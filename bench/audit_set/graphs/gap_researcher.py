from operator import add
from typing import Annotated, Literal, TypedDict

from langchain_core.runnables import RunnableConfig
from langchain_ollama import ChatOllama
from langgraph.graph import END, START, StateGraph
from pydantic import BaseModel
from tavily import TavilyClient

tavily_client = TavilyClient()


class Gap(BaseModel):
    follow_up_query: str
    knowledge_gap: str


class SummaryState(TypedDict):
    research_topic: str
    search_query: str
    web_research_results: Annotated[list, add]
    research_loop_count: int
    running_summary: str


def generate_query(state: SummaryState, config: RunnableConfig):
    llm = ChatOllama(model=config["configurable"].get("local_llm", "llama3.2"), format="json")
    return {"search_query": llm.invoke("Query for " + state["research_topic"]).content}


def web_research(state: SummaryState):
    results = tavily_client.search(state["search_query"], max_results=1, include_raw_content=True)
    return {"web_research_results": [str(results)], "research_loop_count": state["research_loop_count"] + 1}


def summarize_sources(state: SummaryState):
    llm = ChatOllama(model="llama3.2")
    return {"running_summary": llm.invoke(f"Extend {state.get('running_summary')} with {state['web_research_results'][-1]}").content}


def reflect_on_summary(state: SummaryState):
    llm = ChatOllama(model="llama3.2").with_structured_output(Gap)
    gap = llm.invoke("What is missing? " + state["running_summary"])
    return {"search_query": gap.follow_up_query or state["research_topic"]}


def finalize_summary(state: SummaryState):
    return {"running_summary": "## Summary\n" + state["running_summary"]}


def route_research(state: SummaryState, config: RunnableConfig) -> Literal["finalize_summary", "web_research"]:
    limit = int(config["configurable"].get("max_web_research_loops", 3))
    if state["research_loop_count"] <= limit:
        return "web_research"
    return "finalize_summary"


builder = StateGraph(SummaryState)
builder.add_node("generate_query", generate_query)
builder.add_node("web_research", web_research)
builder.add_node("summarize_sources", summarize_sources)
builder.add_node("reflect_on_summary", reflect_on_summary)
builder.add_node("finalize_summary", finalize_summary)
builder.add_edge(START, "generate_query")
builder.add_edge("generate_query", "web_research")
builder.add_edge("web_research", "summarize_sources")
builder.add_edge("summarize_sources", "reflect_on_summary")
builder.add_conditional_edges("reflect_on_summary", route_research)
builder.add_edge("finalize_summary", END)
graph = builder.compile()
