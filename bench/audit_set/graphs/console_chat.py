from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, MessagesState, StateGraph

llm = ChatOpenAI()


def chatbot(state: MessagesState):
    return {"messages": [llm.invoke(state["messages"])]}


def user(state: MessagesState):
    print(state["messages"][-1].content)
    said = input("> ")
    return {"messages": [("user", said)]}


def quit_or_not(state: MessagesState):
    if state["messages"][-1].content in ("q", "quit", "exit"):
        return END
    return "chatbot"


g = StateGraph(MessagesState)
g.add_node("chatbot", chatbot)
g.add_node("user", user)
g.add_edge(START, "chatbot")
g.add_edge("chatbot", "user")
g.add_conditional_edges("user", quit_or_not, {END: END, "chatbot": "chatbot"})
graph = g.compile()
