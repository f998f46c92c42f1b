from typing import TypedDict

from langchain_core.exceptions import OutputParserException
from langchain_core.output_parsers import PydanticOutputParser
from langchain_core.prompts import PromptTemplate
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, StateGraph
from pydantic import BaseModel


class Person(BaseModel):
    name: str
    age: int


parser = PydanticOutputParser(pydantic_object=Person)
chain = PromptTemplate.from_template("{bio}\n{format}") | ChatOpenAI()


class State(TypedDict):
    bio: str
    reply: str
    person: dict
    parse_failed: bool
    n: int


def ask(state: State):
    reply = chain.invoke({"bio": state["bio"], "format": parser.get_format_instructions()})
    return {"reply": reply.content, "n": state.get("n", 0) + 1}


def parse(state: State):
    try:
        person = parser.parse(state["reply"])
        return {"person": person.model_dump(), "parse_failed": False}
    except OutputParserException:
        return {"parse_failed": True}


def next_node(state: State):
    if state["parse_failed"] and state["n"] < 4:
        return "ask"
    return "__end__"


sg = StateGraph(State)
sg.add_node("ask", ask)
sg.add_node("parse", parse)
sg.set_entry_point("ask")
sg.add_edge("ask", "parse")
sg.add_conditional_edges("parse", next_node, ["ask", "__end__"])
graph = sg.compile()
