import datetime as dt
from typing import Annotated, TypedDict

from googleapiclient.discovery import build
from langchain_core.messages import SystemMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.prebuilt import ToolNode

service = build("calendar", "v3")


@tool
def list_events(day: str) -> list:
    """Events of a day (YYYY-MM-DD)."""
    start = dt.datetime.fromisoformat(day)
    end = start + dt.timedelta(days=1)
    return service.events().list(calendarId="primary", timeMin=start.isoformat(), timeMax=end.isoformat()).execute()["items"]


@tool
def create_event(title: str, start: str, end: str) -> str:
    """Create an event."""
    event = service.events().insert(calendarId="primary", body={"summary": title, "start": {"dateTime": start}, "end": {"dateTime": end}}).execute()
    return event["htmlLink"]


class S(TypedDict):
    messages: Annotated[list, add_messages]


tools = [list_events, create_event]
llm = ChatOpenAI(model="gpt-4o").bind_tools(tools)
sys_msg = SystemMessage(content="You manage a calendar.")


def assistant(state: S):
    return {"messages": [llm.invoke([sys_msg, *state["messages"]])]}


def has_tool_calls(state: S):
    ai_message = state["messages"][-1]
    if hasattr(ai_message, "tool_calls") and len(ai_message.tool_calls) > 0:
        return "tools"
    return "__end__"


b = StateGraph(S)
b.add_node("assistant", assistant)
b.add_node("tools", ToolNode(tools))
b.add_edge(START, "assistant")
b.add_conditional_edges("assistant", has_tool_calls, {"tools": "tools", "__end__": "__end__"})
b.add_edge("tools", "assistant")
react_graph = b.compile()
