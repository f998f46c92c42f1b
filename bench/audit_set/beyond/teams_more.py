"""A supervisor over a swarm-like ring, a supervisor with a tool of its own, and three that pass a text round."""

import requests
from langchain.chat_models import init_chat_model
from langgraph.prebuilt import create_react_agent
from langgraph_supervisor import create_supervisor
from langgraph_swarm import create_handoff_tool, create_swarm

model = init_chat_model("gpt-4o")


def stock_price(symbol: str) -> str:
    """The price of a share."""
    return requests.get(f"https://example.org/{symbol}").text


math_expert = create_react_agent(model=model, tools=[], name="math_expert")
workflow = create_supervisor([math_expert], model=model, tools=[stock_price], prompt="Ask the expert.")
floor = workflow.compile()

hop_b, hop_c, hop_a = (create_handoff_tool(agent_name=n) for n in ("B", "C", "A"))
a = create_react_agent(model, tools=[hop_b], name="A")
b = create_react_agent(model, tools=[hop_c], name="B")
c = create_react_agent(model, tools=[hop_a], name="C")
ring = create_swarm([a, b, c], default_active_agent="A").compile()
