from langchain_core.runnables import RunnableConfig
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, StateGraph
from pydantic import BaseModel, Field


class Job(BaseModel):
    pending: list[str] = Field(default_factory=list)
    summaries: list[str] = Field(default_factory=list)


async def summarise(job: Job, config: RunnableConfig):
    head, *rest = job.pending
    text = await ChatOpenAI().ainvoke(f"Summarise: {head}")
    return {"pending": rest, "summaries": [*job.summaries, text.content]}


def check_pending(job: Job):
    return len(job.pending) > 0


wf = StateGraph(Job)
wf.add_node("summarise", summarise)
wf.add_edge(START, "summarise")
wf.add_conditional_edges("summarise", check_pending, {True: "summarise", False: END})
app = wf.compile()
