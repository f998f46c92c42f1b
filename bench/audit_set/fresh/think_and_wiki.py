from langchain_community.tools import WikipediaQueryRun
from langchain_community.utilities import WikipediaAPIWrapper
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode


@tool
def think(thought: str) -> str:
    """Note a thought."""
    return thought


wiki = WikipediaQueryRun(api_wrapper=WikipediaAPIWrapper())
tools = [think, wiki]
llm = ChatOpenAI(model="gpt-4o").bind_tools(tools)


def researcher(state: MessagesState):
    return {"messages": [llm.invoke(state["messages"])]}


def go_on(state: MessagesState):
    if state["messages"][-1].tool_calls:
        return "act"
    return END


g = StateGraph(MessagesState)
g.add_node("researcher", researcher)
g.add_node("act", ToolNode(tools))
g.add_edge(START, "researcher")
g.add_conditional_edges("researcher", go_on, ["act", END])
g.add_edge("act", "researcher")
graph = g.compile()
