from typing import List, TypedDict

from langchain_core.prompts import ChatPromptTemplate
from langchain_openai import ChatOpenAI, OpenAIEmbeddings
from langchain_community.vectorstores import FAISS
from langgraph.graph import END, START, StateGraph
from pydantic import BaseModel, Field


class Binary(BaseModel):
    binary_score: str = Field(description="yes or no")


class GraphState(TypedDict):
    question: str
    generation: str
    documents: List[str]


store = FAISS.load_local("index", OpenAIEmbeddings())
retriever = store.as_retriever(search_kwargs={"k": 4})
llm = ChatOpenAI(model="gpt-4o-mini", temperature=0)
doc_grader = ChatPromptTemplate.from_template("Relevant? {doc} {question}") | llm.with_structured_output(Binary)
answer_grader = ChatPromptTemplate.from_template("Supported? {docs} {answer}") | llm.with_structured_output(Binary)
writer = ChatPromptTemplate.from_template("{docs} {question}") | llm


def retrieve(state):
    return {"documents": retriever.invoke(state["question"])}


def grade_documents(state):
    kept = []
    for doc in state["documents"]:
        score = doc_grader.invoke({"doc": doc, "question": state["question"]})
        if score.binary_score == "yes":
            kept.append(doc)
    return {"documents": kept}


def transform_query(state):
    return {"question": llm.invoke("Better question: " + state["question"]).content}


def generate(state):
    return {"generation": writer.invoke({"docs": state["documents"], "question": state["question"]}).content}


def decide_to_generate(state):
    if not state["documents"]:
        return "transform_query"
    return "generate"


def grade_generation(state):
    score = answer_grader.invoke({"docs": state["documents"], "answer": state["generation"]})
    if score.binary_score == "yes":
        return "useful"
    return "not supported"


workflow = StateGraph(GraphState)
workflow.add_node("retrieve", retrieve)
workflow.add_node("grade_documents", grade_documents)
workflow.add_node("generate", generate)
workflow.add_node("transform_query", transform_query)
workflow.add_edge(START, "retrieve")
workflow.add_edge("retrieve", "grade_documents")
workflow.add_conditional_edges(
    "grade_documents", decide_to_generate, {"transform_query": "transform_query", "generate": "generate"}
)
workflow.add_edge("transform_query", "retrieve")
workflow.add_conditional_edges("generate", grade_generation, {"useful": END, "not supported": "generate"})
app = workflow.compile()
