from langchain_openai import ChatOpenAI


def get_llm(name: str = "gpt-4o"):
    return ChatOpenAI(model=name, temperature=0.2)
