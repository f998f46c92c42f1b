"""Essay writer that talks to itself for a few rounds."""
from typing import Annotated, List, Sequence

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from typing_extensions import TypedDict

prompt = ChatPromptTemplate.from_messages(
    [
        ("system", "You write five-paragraph essays. If someone comments, hand in an improved version."),
        MessagesPlaceholder(variable_name="messages"),
    ]
)
llm = ChatOpenAI(model="gpt-4o-mini")
generate = prompt | llm

reflection_prompt = ChatPromptTemplate.from_messages(
    [("system", "You are a teacher. Comment on the essay at length."), MessagesPlaceholder(variable_name="messages")]
)
reflect = reflection_prompt | llm


class State(TypedDict):
    messages: Annotated[list, add_messages]


async def generation_node(state: State) -> State:
    return {"messages": [await generate.ainvoke(state["messages"])]}


async def reflection_node(state: State) -> State:
    swap = {"ai": HumanMessage, "human": AIMessage}
    translated = [state["messages"][0]] + [swap[m.type](content=m.content) for m in state["messages"][1:]]
    res = await reflect.ainvoke(translated)
    return {"messages": [HumanMessage(content=res.content)]}


builder = StateGraph(State)
builder.add_node("generate", generation_node)
builder.add_node("reflect", reflection_node)
builder.add_edge(START, "generate")


def should_continue(state: State):
    if len(state["messages"]) > 6:
        return END
    return "reflect"


builder.add_conditional_edges("generate", should_continue)
builder.add_edge("reflect", "generate")
graph = builder.compile()
