from typing import Annotated

from langchain_core.messages import ToolMessage
from langchain_core.tools import InjectedToolCallId, tool
from langchain_openai import ChatOpenAI
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import InjectedState, create_react_agent
from langgraph.types import Command


def make_handoff_tool(*, agent_name: str):
    name = f"transfer_to_{agent_name}"

    @tool(name, description=f"Ask {agent_name} for help")
    def handoff(state: Annotated[dict, InjectedState], tool_call_id: Annotated[str, InjectedToolCallId]):
        msg = ToolMessage(f"Transferred to {agent_name}", name=name, tool_call_id=tool_call_id)
        return Command(goto=agent_name, graph=Command.PARENT, update={"messages": state["messages"] + [msg]})

    return handoff


llm = ChatOpenAI(model="gpt-4o")
poet = create_react_agent(llm, [make_handoff_tool(agent_name="critic")], prompt="You write poems", name="poet")
critic = create_react_agent(llm, [make_handoff_tool(agent_name="poet")], prompt="You judge poems", name="critic")

g = StateGraph(MessagesState)
g.add_node("poet", poet, destinations=("critic",))
g.add_node("critic", critic, destinations=("poet",))
g.add_edge(START, "poet")
pair = g.compile()
