from langchain_core.messages import AIMessage
from langchain_together import ChatTogether
from langgraph.graph import END, START, MessagesState, StateGraph

researcher = ChatTogether(model="meta-llama/Llama-3.3-70B")
chart_maker = ChatTogether(model="Qwen/Qwen2.5-72B")


def make_node(model, name):
    def node(state: MessagesState):
        reply = model.invoke(state["messages"])
        return {"messages": [AIMessage(content=reply.content, name=name)]}

    return node


def router(state):
    last = state["messages"][-1]
    if "FINAL ANSWER" in last.content:
        return END
    return "continue"


wf = StateGraph(MessagesState)
wf.add_node("research", make_node(researcher, "research"))
wf.add_node("chart", make_node(chart_maker, "chart"))
wf.add_conditional_edges("research", router, {"continue": "chart", END: END})
wf.add_conditional_edges("chart", router, {"continue": "research", END: END})
wf.add_edge(START, "research")
graph = wf.compile()
