from langchain_community.retrievers import WikipediaRetriever
from langchain_core.messages import AIMessage, HumanMessage
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, MessagesState, StateGraph

MAX_TURNS = 5


class State(MessagesState):
    editor: str
    turns: int


model = ChatOpenAI(model="gpt-4o-mini")


async def ask(state: State):
    q = await model.ainvoke([("system", f"You are {state['editor']}"), *state["messages"]])
    return {"messages": [HumanMessage(q.content)], "turns": state.get("turns", 0) + 1}


async def answer(state: State):
    found = await WikipediaRetriever(top_k_results=2).ainvoke(state["messages"][-1].content)
    a = await model.ainvoke([("system", "Use " + "\n".join(d.page_content for d in found)), *state["messages"]])
    return {"messages": [AIMessage(a.content)]}


def route(state: State):
    if state["turns"] >= MAX_TURNS:
        return END
    return "ask"


b = StateGraph(State)
b.add_node("ask", ask)
b.add_node("answer", answer)
b.add_edge(START, "ask")
b.add_edge("ask", "answer")
b.add_conditional_edges("answer", route, {END: END, "ask": "ask"})
interview_graph = b.compile()
