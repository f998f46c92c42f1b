from typing import Annotated, Literal, Sequence

from langchain.tools.retriever import create_retriever_tool
from langchain_community.vectorstores import FAISS
from langchain_core.messages import BaseMessage, HumanMessage
from langchain_openai import ChatOpenAI, OpenAIEmbeddings
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.prebuilt import ToolNode, tools_condition
from pydantic import BaseModel
from typing_extensions import TypedDict

vectorstore = FAISS.load_local("index", OpenAIEmbeddings())
retriever_tool = create_retriever_tool(vectorstore.as_retriever(), "retrieve_posts", "Search posts.")
tools = [retriever_tool]


class AgentState(TypedDict):
    messages: Annotated[Sequence[BaseMessage], add_messages]


class Grade(BaseModel):
    binary_score: str


def grade_documents(state) -> Literal["generate", "rewrite"]:
    model = ChatOpenAI(temperature=0, model="gpt-4o").with_structured_output(Grade)
    question, docs = state["messages"][0].content, state["messages"][-1].content
    score = model.invoke(f"Relevant? {question} {docs}").binary_score
    return "generate" if score == "yes" else "rewrite"


def agent(state):
    model = ChatOpenAI(temperature=0, streaming=True, model="gpt-4-turbo").bind_tools(tools)
    return {"messages": [model.invoke(state["messages"])]}


def rewrite(state):
    msg = [HumanMessage(content=f"Improve the question: {state['messages'][0].content}")]
    return {"messages": [ChatOpenAI(model="gpt-4").invoke(msg)]}


def generate(state):
    return {"messages": [ChatOpenAI().invoke(state["messages"])]}


workflow = StateGraph(AgentState)
workflow.add_node("agent", agent)
workflow.add_node("retrieve", ToolNode([retriever_tool]))
workflow.add_node("rewrite", rewrite)
workflow.add_node("generate", generate)
workflow.add_edge(START, "agent")
workflow.add_conditional_edges("agent", tools_condition, {"tools": "retrieve", END: END})
workflow.add_conditional_edges("retrieve", grade_documents)
workflow.add_edge("generate", END)
workflow.add_edge("rewrite", "agent")
graph = workflow.compile()
