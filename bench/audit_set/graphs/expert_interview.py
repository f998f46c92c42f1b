from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, get_buffer_string
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, MessagesState, StateGraph

llm = ChatOpenAI(model="gpt-4o", temperature=0)


class InterviewState(MessagesState):
    max_num_turns: int
    persona: str
    interview: str


def ask_question(state: InterviewState):
    q = llm.invoke([SystemMessage(content=f"You are {state['persona']}. When satisfied say: Thank you so much!")] + state["messages"])
    return {"messages": [q]}


def answer_question(state: InterviewState):
    a = llm.invoke([SystemMessage(content="You are an expert. Answer.")] + state["messages"])
    a.name = "expert"
    return {"messages": [a]}


def save_interview(state: InterviewState):
    return {"interview": get_buffer_string(state["messages"])}


def route_messages(state: InterviewState, name: str = "expert"):
    messages = state["messages"]
    max_num_turns = state.get("max_num_turns", 2)
    num_responses = len([m for m in messages if isinstance(m, AIMessage) and m.name == name])
    if num_responses >= max_num_turns:
        return "save_interview"
    last_question = messages[-2]
    if "Thank you so much" in last_question.content:
        return "save_interview"
    return "ask_question"


b = StateGraph(InterviewState)
b.add_node("ask_question", ask_question)
b.add_node("answer_question", answer_question)
b.add_node("save_interview", save_interview)
b.add_edge(START, "ask_question")
b.add_edge("ask_question", "answer_question")
b.add_conditional_edges("answer_question", route_messages, ["ask_question", "save_interview"])
b.add_edge("save_interview", END)
interview = b.compile().with_config(run_name="interview")
