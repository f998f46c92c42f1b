from langchain_anthropic import ChatAnthropic
from langgraph.checkpoint.memory import MemorySaver
from langgraph.func import entrypoint, task

llm = ChatAnthropic(model="claude-3-7-sonnet-latest")


@task
async def improve(text: str, critique: str) -> str:
    return (await llm.ainvoke(f"{text}\n\nCritique: {critique}")).content


@task
async def review(text: str) -> str:
    return (await llm.ainvoke(f"Review, or say LGTM: {text}")).content


@entrypoint(checkpointer=MemorySaver())
async def polish(text: str) -> str:
    for _ in range(5):
        critique = await review(text)
        if critique.startswith("LGTM"):
            break
        text = await improve(text, critique)
    return text
