import smtplib
from email.message import EmailMessage

from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import interrupt


@tool
def send_mail(to: str, body: str) -> str:
    """Send a mail, once a person has agreed."""
    answer = interrupt({"to": to, "body": body})
    if answer["type"] == "reject":
        return f"Rejected: {answer['reason']}"
    message = EmailMessage()
    message["To"] = to
    message.set_content(answer.get("body", body))
    with smtplib.SMTP("localhost") as smtp:
        smtp.send_message(message)
    return "sent"


llm = ChatOpenAI().bind_tools([send_mail])


def assistant(state: MessagesState):
    return {"messages": [llm.invoke(state["messages"])]}


b = StateGraph(MessagesState)
b.add_node("assistant", assistant)
b.add_node("tools", ToolNode([send_mail]))
b.add_edge(START, "assistant")
b.add_conditional_edges("assistant", tools_condition)
b.add_edge("tools", "assistant")
mailer = b.compile()
