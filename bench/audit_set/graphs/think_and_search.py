from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langchain_community.tools import DuckDuckGoSearchResults
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition


@tool(parse_docstring=True)
def think_tool(reflection: str) -> str:
    """Reflect on progress.

    Args:
        reflection: what you found so far.
    """
    return f"Reflection recorded: {reflection}"


def make_graph(model_name: str = "gpt-4o"):
    tools = [think_tool, DuckDuckGoSearchResults()]
    model = ChatOpenAI(model=model_name)

    def assistant(state: MessagesState):
        return {"messages": [model.bind_tools(tools, parallel_tool_calls=False).invoke(state["messages"])]}

    g = StateGraph(MessagesState)
    g.add_node("assistant", assistant)
    g.add_node("tools", ToolNode(tools))
    g.add_edge(START, "assistant")
    g.add_conditional_edges("assistant", tools_condition)
    g.add_edge("tools", "assistant")
    return g.compile()
