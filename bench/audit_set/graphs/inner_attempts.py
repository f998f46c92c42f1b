from typing import TypedDict

from e2b_code_interpreter import Sandbox
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, StateGraph

llm = ChatOpenAI()


class State(TypedDict):
    question: str
    chart: str


def plot(state: State):
    error = ""
    with Sandbox() as sandbox:
        for attempt in range(4):
            code = llm.invoke(f"Matplotlib code for {state['question']}. {error}").content
            execution = sandbox.run_code(code)
            if execution.error is None:
                return {"chart": execution.results[0].png}
            error = execution.error.traceback
    return {"chart": ""}


g = StateGraph(State)
g.add_node("plot", plot)
g.add_edge(START, "plot")
g.add_edge("plot", END)
graph = g.compile()
