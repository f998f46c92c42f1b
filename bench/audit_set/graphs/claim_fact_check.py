import re
from typing import Optional

from langchain_ollama import ChatOllama
from langgraph.graph import StateGraph, START, END
from pydantic import BaseModel


class ArticleState(BaseModel):
    topic: str
    article: str = ""
    verdict: Optional[str] = None
    problems: list[str] = []
    loops: int = 0


llm = ChatOllama(model="llama3.1")


def write_article(state: ArticleState):
    extra = "\n".join(state.problems)
    return {"article": llm.invoke(f"Article on {state.topic}. Avoid: {extra}").content, "loops": state.loops + 1}


def fact_check(state: ArticleState):
    """Checks every claim against the facts."""
    reply = llm.invoke(
        "Check every factual claim below. Start with VERDICT: TRUE or VERDICT: FALSE, then list problems.\n" + state.article
    ).content
    match = re.search(r"VERDICT:\s*(TRUE|FALSE)", reply)
    verdict = match.group(1) if match else "FALSE"
    return {"verdict": verdict, "problems": reply.splitlines()[1:]}


def check_passed(state: ArticleState) -> str:
    if state.verdict == "TRUE":
        return "publish"
    if state.loops > 3:
        return "publish"
    return "write_article"


def publish(state: ArticleState):
    return {}


wf = StateGraph(ArticleState)
wf.add_node("write_article", write_article)
wf.add_node("fact_check", fact_check)
wf.add_node("publish", publish)
wf.add_edge(START, "write_article")
wf.add_edge("write_article", "fact_check")
wf.add_conditional_edges("fact_check", check_passed, {"publish": "publish", "write_article": "write_article"})
wf.add_edge("publish", END)
compiled = wf.compile()
