from langchain_chroma import Chroma
from langchain_openai import ChatOpenAI, OpenAIEmbeddings
from langgraph.graph import START, StateGraph
from typing_extensions import List, TypedDict

vector_store = Chroma(embedding_function=OpenAIEmbeddings())
llm = ChatOpenAI()


class State(TypedDict):
    question: str
    context: List
    answer: str


def retrieve(state: State):
    return {"context": vector_store.similarity_search(state["question"])}


def generate(state: State):
    return {"answer": llm.invoke(f"{state['question']} {state['context']}").content}


graph = StateGraph(State).add_sequence([retrieve, generate]).add_edge(START, "retrieve").compile()
