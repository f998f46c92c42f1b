import httpx
from langchain_core.messages import BaseMessage, ToolCall
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.func import entrypoint, task
from langgraph.graph import add_messages


@tool
def get_weather(city: str) -> str:
    """Weather of a city."""
    return httpx.get("https://wttr.example", params={"q": city}).text


tools = [get_weather]
tools_by_name = {t.name: t for t in tools}
model = ChatOpenAI(model="gpt-4o-mini")


@task
def call_model(messages: list[BaseMessage]):
    return model.bind_tools(tools).invoke(messages)


@task
def call_tool(tool_call: ToolCall):
    return tools_by_name[tool_call["name"]].invoke(tool_call)


@entrypoint()
def agent(messages: list[BaseMessage]):
    llm_response = call_model(messages).result()
    while True:
        if not llm_response.tool_calls:
            break
        futures = [call_tool(tc) for tc in llm_response.tool_calls]
        results = [f.result() for f in futures]
        messages = add_messages(messages, [llm_response, *results])
        llm_response = call_model(messages).result()
    return add_messages(messages, llm_response)
