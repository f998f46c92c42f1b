from typing import Literal, TypedDict

from langchain_anthropic import ChatAnthropic
from langgraph.graph import END, START, StateGraph
from pydantic import BaseModel, Field

llm = ChatAnthropic(model="claude-3-5-sonnet-latest")


class Review(BaseModel):
    decision: Literal["accept", "revise"] = Field(description="Is the post ready?")
    comments: str


class BlogState(TypedDict):
    topic: str
    post: str
    comments: str
    decision: str


def writer(state: BlogState):
    if state.get("comments"):
        msg = llm.invoke(f"Rewrite this post about {state['topic']} with these comments: {state['comments']}\n{state['post']}")
    else:
        msg = llm.invoke(f"Write a post about {state['topic']}")
    return {"post": msg.content}


reviewer = llm.with_structured_output(Review)


def editor(state: BlogState):
    review = reviewer.invoke(f"Edit: {state['post']}")
    return {"decision": review.decision, "comments": review.comments}


def route(state: BlogState):
    if state["decision"] == "accept":
        return "Accepted"
    elif state["decision"] == "revise":
        return "Rejected + Feedback"


workflow = StateGraph(BlogState)
workflow.add_node("writer", writer)
workflow.add_node("editor", editor)
workflow.add_edge(START, "writer")
workflow.add_edge("writer", "editor")
workflow.add_conditional_edges("editor", route, {"Accepted": END, "Rejected + Feedback": "writer"})
app = workflow.compile()
