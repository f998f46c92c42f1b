from typing import Literal, TypedDict

from langchain.chat_models import init_chat_model
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt


class Article(TypedDict):
    topic: str
    text: str
    remarks: str


llm = init_chat_model("openai:gpt-4o")


def draft(state: Article):
    return {"text": llm.invoke(f"Write about {state['topic']}. Remarks: {state.get('remarks')}").content}


def editor(state: Article) -> Command[Literal["draft", "__end__"]]:
    decision = interrupt({"text": state["text"], "question": "publish?"})
    if decision["publish"]:
        return Command(goto=END)
    return Command(goto="draft", update={"remarks": decision["remarks"]})


b = StateGraph(Article)
b.add_node("draft", draft)
b.add_node("editor", editor)
b.add_edge(START, "draft")
b.add_edge("draft", "editor")
graph = b.compile(checkpointer=InMemorySaver())
