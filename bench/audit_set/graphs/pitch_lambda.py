from typing import TypedDict

from langchain_core.prompts import ChatPromptTemplate
from langchain_core.output_parsers import JsonOutputParser
from langchain_mistralai import ChatMistralAI
from langgraph.graph import StateGraph

State = TypedDict("State", {"idea": str, "pitch": str, "done": bool, "advice": str})

chat = ChatMistralAI(model="mistral-large-latest")
pitcher = ChatPromptTemplate.from_template("Pitch {idea}. {advice}") | chat
investor = ChatPromptTemplate.from_template('JSON with "done" and "advice": {pitch}') | chat | JsonOutputParser()

g = StateGraph(State)
g.add_node("pitch", lambda s: {"pitch": pitcher.invoke(s).content})
g.add_node("invest", lambda s: investor.invoke(s))
g.set_entry_point("pitch")
g.add_edge("pitch", "invest")
g.add_conditional_edges("invest", lambda s: s["done"], {True: "__end__", False: "pitch"})
app = g.compile()
