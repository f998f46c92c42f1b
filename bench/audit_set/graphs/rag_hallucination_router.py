"""Self-RAG after the well-known tutorial, shortened."""
from typing import List

from langchain import hub
from langchain_community.document_loaders import WebBaseLoader
from langchain_community.vectorstores import Chroma
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_openai import ChatOpenAI, OpenAIEmbeddings
from langgraph.graph import END, START, StateGraph
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

docs = WebBaseLoader("https://example.org/post").load()
retriever = Chroma.from_documents(docs, embedding=OpenAIEmbeddings()).as_retriever()


class GradeHallucinations(BaseModel):
    binary_score: str = Field(description="'yes' or 'no'")


class GradeAnswer(BaseModel):
    binary_score: str = Field(description="'yes' or 'no'")


llm = ChatOpenAI(model="gpt-4o-mini", temperature=0)
hallucination_grader = ChatPromptTemplate.from_messages([("human", "{documents} {generation}")]) | llm.with_structured_output(GradeHallucinations)
answer_grader = ChatPromptTemplate.from_messages([("human", "{question} {generation}")]) | llm.with_structured_output(GradeAnswer)
rag_chain = hub.pull("rlm/rag-prompt") | llm | StrOutputParser()
question_rewriter = ChatPromptTemplate.from_messages([("human", "{question}")]) | llm | StrOutputParser()


class GraphState(TypedDict):
    question: str
    generation: str
    documents: List[str]


def retrieve(state):
    print("---RETRIEVE---")
    question = state["question"]
    documents = retriever.invoke(question)
    return {"documents": documents, "question": question}


def generate(state):
    print("---GENERATE---")
    generation = rag_chain.invoke({"context": state["documents"], "question": state["question"]})
    return {"documents": state["documents"], "question": state["question"], "generation": generation}


def transform_query(state):
    better = question_rewriter.invoke({"question": state["question"]})
    return {"documents": state["documents"], "question": better}


def grade_generation(state):
    score = hallucination_grader.invoke({"documents": state["documents"], "generation": state["generation"]})
    grade = score.binary_score
    if grade == "yes":
        score = answer_grader.invoke({"question": state["question"], "generation": state["generation"]})
        if score.binary_score == "yes":
            return "useful"
        else:
            return "not useful"
    else:
        return "not supported"


workflow = StateGraph(GraphState)
workflow.add_node("retrieve", retrieve)
workflow.add_node("generate", generate)
workflow.add_node("transform_query", transform_query)
workflow.add_edge(START, "retrieve")
workflow.add_edge("retrieve", "generate")
workflow.add_edge("transform_query", "retrieve")
workflow.add_conditional_edges(
    "generate",
    grade_generation,
    {"not supported": "generate", "useful": END, "not useful": "transform_query"},
)
app = workflow.compile()
