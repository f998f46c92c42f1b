import datetime
import sqlite3
from typing import Annotated, TypedDict

from langchain_core.messages import AnyMessage
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda
from langchain_core.tools import tool
from langchain_anthropic import ChatAnthropic
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.prebuilt import ToolNode, tools_condition


@tool
def lookup_flight(number: str) -> list[dict]:
    """Look up a flight."""
    conn = sqlite3.connect("travel.sqlite")
    cursor = conn.cursor()
    cursor.execute("SELECT * FROM flights WHERE number = ?", (number,))
    rows = cursor.fetchall()
    conn.close()
    return [dict(zip([c[0] for c in cursor.description], row)) for row in rows]


@tool
def cancel_ticket(ticket: str) -> str:
    """Cancel a ticket."""
    conn = sqlite3.connect("travel.sqlite")
    done = conn.execute("DELETE FROM tickets WHERE no = ?", (ticket,)).rowcount
    conn.commit()
    return "cancelled" if done else "no such ticket"


class State(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]
    user_info: str


class Assistant:
    def __init__(self, runnable: Runnable):
        self.runnable = runnable

    def __call__(self, state: State, config: RunnableConfig):
        while True:
            result = self.runnable.invoke(state)
            if not result.tool_calls and (not result.content or isinstance(result.content, list) and not result.content[0].get("text")):
                messages = state["messages"] + [("user", "Respond with a real output.")]
                state = {**state, "messages": messages}
            else:
                break
        return {"messages": result}


def handle_tool_error(state) -> dict:
    return {"messages": [str(state.get("error"))]}


def with_fallback(tools: list):
    return ToolNode(tools).with_fallbacks([RunnableLambda(handle_tool_error)], exception_key="error")


llm = ChatAnthropic(model="claude-3-sonnet-20240229", temperature=1)
prompt = ChatPromptTemplate.from_messages([("system", "Support. {user_info} {time}"), ("placeholder", "{messages}")]).partial(time=datetime.datetime.now)
safe, sensitive = [lookup_flight], [cancel_ticket]
runnable = prompt | llm.bind_tools(safe + sensitive)
sensitive_names = {t.name for t in sensitive}


def route_tools(state: State):
    next_node = tools_condition(state)
    if next_node == END:
        return END
    first = state["messages"][-1].tool_calls[0]
    if first["name"] in sensitive_names:
        return "sensitive_tools"
    return "safe_tools"


builder = StateGraph(State)
builder.add_node("assistant", Assistant(runnable))
builder.add_node("safe_tools", with_fallback(safe))
builder.add_node("sensitive_tools", with_fallback(sensitive))
builder.add_edge(START, "assistant")
builder.add_conditional_edges("assistant", route_tools, ["safe_tools", "sensitive_tools", END])
builder.add_edge("safe_tools", "assistant")
builder.add_edge("sensitive_tools", "assistant")
graph = builder.compile(interrupt_before=["sensitive_tools"])
