from langchain_core.messages import AIMessage, HumanMessage
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, MessagesState, StateGraph

model = ChatOpenAI(model="gpt-4o")
INTERVIEWER = "You interview a customer about a product. When you know enough, say: Thank you for your time."
PERSONA = "You are Mara, 34, nurse. Answer as she would."


def flip(messages):
    return [HumanMessage(m.content) if isinstance(m, AIMessage) else AIMessage(m.content) for m in messages]


def interviewer(state: MessagesState):
    reply = model.invoke([("system", INTERVIEWER), *state["messages"]])
    return {"messages": [AIMessage(reply.content, name="interviewer")]}


def persona(state: MessagesState):
    reply = model.invoke([("system", PERSONA), *flip(state["messages"])])
    return {"messages": [HumanMessage(reply.content, name="mara")]}


def finished(state: MessagesState):
    if "thank you for your time" in state["messages"][-1].content.lower():
        return END
    return "persona"


g = StateGraph(MessagesState)
g.add_node("interviewer", interviewer)
g.add_node("persona", persona)
g.add_edge(START, "interviewer")
g.add_conditional_edges("interviewer", finished)
g.add_edge("persona", "interviewer")
simulation = g.compile()
