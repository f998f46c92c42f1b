"""A LangGraph agent that you have already, in a loop that a check from outside gates, within a budget of tokens.

python examples/langgraph_agent.py
"""

from typing import Any

from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

from groundwire import Budget, FeedbackGraph, Task, from_langgraph

# --- the agent, as it was


def stock(item: str) -> int:
    """How many of an item there are."""
    return {"cup": 12, "plate": 7}[item]


CALL: Any = {"name": "stock", "args": {"item": "cup"}, "id": "1"}
model = GenericFakeChatModel(  # or ChatOpenAI(model="gpt-5-mini").bind_tools([stock])
    messages=iter([AIMessage("", tool_calls=[CALL]), AIMessage("About a dozen."), AIMessage("12")])
)


def think(state: MessagesState) -> dict[str, Any]:
    """Asks the model."""
    return {"messages": [model.invoke(state["messages"])]}


builder: Any = StateGraph(MessagesState)
builder.add_node("model", think).add_node("tools", ToolNode([stock]))
builder.add_edge(START, "model").add_conditional_edges("model", tools_condition).add_edge("tools", "model")
agent = builder.compile(name="agent")

# --- its loop, gated: one line

app = FeedbackGraph.loop(from_langgraph(agent), lambda answer: answer.text.isdigit()).compile(
    budget=Budget(tokens=20_000)
)

result = app.run(Task.of("How many cups are there? The number alone."))
print(result.verdict, result.trials, result.text)
