from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, MessagesState, StateGraph
from pydantic import BaseModel


class Pick(BaseModel):
    who: str


llm = ChatOpenAI(model="gpt-4o")


def build_team(agents: dict):
    def leader(state: MessagesState):
        pick = llm.with_structured_output(Pick).invoke([("system", f"Choose from {list(agents)} or END"), *state["messages"]])
        return {"next": pick.who}

    g = StateGraph(MessagesState)
    g.add_node("leader", leader)
    for name, agent in agents.items():
        g.add_node(name, agent)
        g.add_edge(name, "leader")
    g.add_edge(START, "leader")
    g.add_conditional_edges("leader", lambda s: s["next"], {**{n: n for n in agents}, "END": END})
    return g.compile()
