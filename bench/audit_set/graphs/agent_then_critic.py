"""A tool agent whose final answer goes past a model critic."""
from langchain_community.utilities import WikipediaAPIWrapper
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode

wiki = WikipediaAPIWrapper()


@tool
def wikipedia(q: str) -> str:
    """Wikipedia."""
    return wiki.run(q)


llm = ChatOpenAI(model="gpt-4o")
agent_llm = llm.bind_tools([wikipedia])


class State(MessagesState):
    verdict: str
    critiques: int


def agent(state: State):
    return {"messages": [agent_llm.invoke(state["messages"])]}


def critic(state: State):
    text = llm.invoke(f"Reply ACCEPT or complain: {state['messages'][-1].content}").content
    return {"verdict": text, "messages": [HumanMessage(text)], "critiques": state.get("critiques", 0) + 1}


def after_agent(state: State):
    if state["messages"][-1].tool_calls:
        return "tools"
    return "critic"


def after_critic(state: State):
    if state["verdict"].startswith("ACCEPT") or state["critiques"] > 2:
        return END
    return "agent"


g = StateGraph(State)
g.add_node("agent", agent)
g.add_node("tools", ToolNode([wikipedia]))
g.add_node("critic", critic)
g.add_edge(START, "agent")
g.add_conditional_edges("agent", after_agent, ["tools", "critic"])
g.add_edge("tools", "agent")
g.add_conditional_edges("critic", after_critic, ["agent", END])
graph = g.compile()
