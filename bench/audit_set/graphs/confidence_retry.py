from typing import TypedDict

from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, StateGraph
from pydantic import BaseModel, Field


class Diagnosis(BaseModel):
    disease: str
    confidence: float = Field(ge=0, le=1)


class Case(TypedDict):
    symptoms: str
    diagnosis: Diagnosis


model = ChatOpenAI(temperature=0.7).with_structured_output(Diagnosis)


def diagnose(case: Case):
    return {"diagnosis": model.invoke(case["symptoms"])}


def sure(case: Case):
    if case["diagnosis"].confidence < 0.85:
        return "diagnose"
    return END


flow = StateGraph(Case)
flow.add_node("diagnose", diagnose)
flow.add_edge(START, "diagnose")
flow.add_conditional_edges("diagnose", sure)
flow = flow.compile()
