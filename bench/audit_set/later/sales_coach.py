from langchain_openai import ChatOpenAI
from langgraph.func import entrypoint, task
from langgraph.types import interrupt

llm = ChatOpenAI()


@task
def pitch(product: str, hint: str | None = None) -> str:
    return llm.invoke(f"Pitch {product}. {hint or ''}").content


@entrypoint()
def coach(product: str) -> str:
    text = pitch(product).result()
    while True:
        reply = interrupt({"pitch": text, "ask": "Good enough?"})
        if reply == "yes":
            return text
        text = pitch(product, reply).result()
