from typing import Literal

from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
import psycopg


@tool
def order_status(order_id: str) -> str:
    """Status of an order."""
    with psycopg.connect("dbname=shop") as conn, conn.cursor() as cur:
        cur.execute("select status from orders where id = %s", (order_id,))
        row = cur.fetchone()
    return row[0] if row else "unknown order"


@tool
def escalate(reason: str) -> str:
    """Hand the ticket to a person."""
    return "escalated"


tools = [order_status, escalate]
tool_node = ToolNode(tools)
model = ChatOpenAI(model="gpt-4o").bind_tools(tools)


def call_model(state: MessagesState):
    response = model.invoke(state["messages"])
    return {"messages": [response]}


def should_continue(state: MessagesState) -> Literal["tools", "review", "__end__"]:
    messages = state["messages"]
    last_message = messages[-1]
    if last_message.tool_calls:
        return "tools"
    if "refund" in last_message.content.lower():
        return "review"
    return "__end__"


def review(state: MessagesState):
    verdict = ChatOpenAI(model="gpt-4o").invoke([("system", "Is the refund promise allowed? ok / not ok"), state["messages"][-1]])
    return {"messages": [("user", verdict.content)]}


def after_review(state: MessagesState) -> Literal["agent", "__end__"]:
    return "agent" if state["messages"][-1].content.startswith("not ok") else "__end__"


workflow = StateGraph(MessagesState)
workflow.add_node("agent", call_model)
workflow.add_node("tools", tool_node)
workflow.add_node("review", review)
workflow.add_edge(START, "agent")
workflow.add_conditional_edges("agent", should_continue)
workflow.add_edge("tools", "agent")
workflow.add_conditional_edges("review", after_review)
app = workflow.compile()
