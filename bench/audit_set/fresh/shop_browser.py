from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from playwright.sync_api import sync_playwright

browser = sync_playwright().start().chromium.launch()
page = browser.new_page()


@tool
def open_page(url: str) -> str:
    """Opens a page."""
    page.goto(url)
    return page.inner_text("body")[:4000]


@tool
def click(selector: str) -> str:
    """Clicks."""
    page.click(selector)
    return page.inner_text("body")[:4000]


TOOLS = [open_page, click]
llm = ChatOpenAI(model="gpt-4.1").bind_tools(TOOLS)


async def assistant(state: MessagesState):
    return {"messages": await llm.ainvoke(state["messages"])}


workflow = StateGraph(MessagesState)
workflow.add_node("assistant", assistant)
workflow.add_node("tools", ToolNode(TOOLS))
workflow.add_edge(START, "assistant")
workflow.add_conditional_edges("assistant", tools_condition)
workflow.add_edge("tools", "assistant")
app = workflow.compile()
