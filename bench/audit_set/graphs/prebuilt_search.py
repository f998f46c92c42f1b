from langchain_tavily import TavilySearch
from langgraph.checkpoint.memory import MemorySaver
from langgraph.prebuilt import create_react_agent

memory = MemorySaver()
search = TavilySearch(max_results=2)
agent_executor = create_react_agent("anthropic:claude-3-5-sonnet-latest", [search], checkpointer=memory)

if __name__ == "__main__":
    config = {"configurable": {"thread_id": "abc123"}}
    for step in agent_executor.stream({"messages": [("user", "weather in SF?")]}, config, stream_mode="values"):
        step["messages"][-1].pretty_print()
