from langchain_community.tools.tavily_search import TavilySearchResults
from langchain_openai import ChatOpenAI
from langgraph.graph import END, MessageGraph
from langgraph.prebuilt import ToolNode

tool_node = ToolNode([TavilySearchResults()])
model = ChatOpenAI().bind_tools([TavilySearchResults()])


def router(messages):
    return "call" if messages[-1].additional_kwargs.get("tool_calls") else "end"


graph = MessageGraph()
graph.add_node("oracle", model)
graph.add_node("tools", tool_node)
graph.set_entry_point("oracle")
graph.add_conditional_edges("oracle", router, {"call": "tools", "end": END})
graph.add_edge("tools", "oracle")
runnable = graph.compile()
