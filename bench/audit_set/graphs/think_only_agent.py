from langchain_core.tools import tool
from langchain_google_genai import ChatGoogleGenerativeAI
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition


@tool
def think(thought: str) -> str:
    """Write down a thought.

    Args:
        thought: what you think.
    """
    return f"Noted: {thought}"


llm = ChatGoogleGenerativeAI(model="gemini-2.0-flash").bind_tools([think])


def agent(state: MessagesState):
    return {"messages": [llm.invoke(state["messages"])]}


graph_builder = StateGraph(MessagesState)
graph_builder.add_node("agent", agent)
graph_builder.add_node("tools", ToolNode([think]))
graph_builder.add_edge(START, "agent")
graph_builder.add_conditional_edges("agent", tools_condition)
graph_builder.add_edge("tools", "agent")
graph = graph_builder.compile()
