from typing import Literal

from langchain_experimental.utilities import PythonREPL
from langchain_openai import ChatOpenAI
from langchain_tavily import TavilySearch
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command
from typing_extensions import TypedDict

llm = ChatOpenAI(model="gpt-4o")
search = TavilySearch(max_results=3)
repl = PythonREPL()


class Router(TypedDict):
    next: Literal["researcher", "coder", "FINISH"]


def supervisor(state: MessagesState) -> Command[Literal["researcher", "coder", "__end__"]]:
    response = llm.with_structured_output(Router).invoke(state["messages"])
    goto = response["next"]
    if goto == "FINISH":
        goto = END
    return Command(goto=goto)


def researcher(state: MessagesState) -> Command[Literal["supervisor"]]:
    query = llm.invoke(state["messages"]).content
    hits = search.invoke({"query": query})
    return Command(update={"messages": [("user", str(hits))]}, goto="supervisor")


def coder(state: MessagesState) -> Command[Literal["supervisor"]]:
    code = llm.invoke(state["messages"]).content
    return Command(update={"messages": [("user", repl.run(code))]}, goto="supervisor")


b = StateGraph(MessagesState)
b.add_node(supervisor)
b.add_node(researcher)
b.add_node(coder)
b.add_edge(START, "supervisor")
graph = b.compile()
