from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode

NOTES: list[str] = []


@tool
def remember(note: str) -> str:
    """Keep a note."""
    NOTES.append(note)
    return "Noted."


llm = ChatOpenAI(model="gpt-4o-mini").bind_tools([remember])


def agent(state: MessagesState):
    return {"messages": [llm.invoke(state["messages"])]}


def route(state: MessagesState):
    return "tools" if state["messages"][-1].tool_calls else END


g = StateGraph(MessagesState)
g.add_node("agent", agent)
g.add_node("tools", ToolNode([remember]))
g.add_edge(START, "agent")
g.add_conditional_edges("agent", route, ["tools", END])
g.add_edge("tools", "agent")
graph = g.compile()
