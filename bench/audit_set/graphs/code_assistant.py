"""After the code assistant tutorial: run imports, run code, reflect if asked to."""
from typing import Annotated, List

from langchain_core.prompts import ChatPromptTemplate
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import AnyMessage, add_messages
from pydantic import BaseModel, Field
from typing_extensions import TypedDict


class code(BaseModel):
    prefix: str = Field(description="Description")
    imports: str
    code: str


class GraphState(TypedDict):
    error: str
    messages: Annotated[List[AnyMessage], add_messages]
    generation: code
    iterations: int


code_gen_chain = ChatPromptTemplate.from_messages([("placeholder", "{messages}")]) | ChatOpenAI(temperature=0).with_structured_output(code)
max_iterations = 3
flag = "do not reflect"


def generate(state: GraphState):
    print("---GENERATING CODE SOLUTION---")
    messages = state["messages"]
    iterations = state["iterations"]
    error = state["error"]
    if error == "yes":
        messages += [("user", "Now, try again.")]
    solution = code_gen_chain.invoke({"context": "", "messages": messages})
    messages += [("assistant", f"{solution.prefix} \n {solution.imports} \n {solution.code}")]
    iterations = iterations + 1
    return {"generation": solution, "messages": messages, "iterations": iterations}


def code_check(state: GraphState):
    messages = state["messages"]
    solution = state["generation"]
    iterations = state["iterations"]
    try:
        exec(solution.imports)
    except Exception as e:
        messages += [("user", f"Your solution failed the import test: {e}")]
        return {"generation": solution, "messages": messages, "iterations": iterations, "error": "yes"}
    try:
        exec(solution.imports + "\n" + solution.code)
    except Exception as e:
        messages += [("user", f"Your solution failed the code execution test: {e}")]
        return {"generation": solution, "messages": messages, "iterations": iterations, "error": "yes"}
    return {"generation": solution, "messages": messages, "iterations": iterations, "error": "no"}


def reflect(state: GraphState):
    messages = state["messages"]
    reflections = code_gen_chain.invoke({"context": "", "messages": messages})
    messages += [("assistant", f"Here are reflections on the error: {reflections}")]
    return {"generation": state["generation"], "messages": messages, "iterations": state["iterations"]}


def decide_to_finish(state: GraphState):
    error = state["error"]
    iterations = state["iterations"]
    if error == "no" or iterations == max_iterations:
        return "end"
    else:
        if flag == "reflect":
            return "reflect"
        else:
            return "generate"


workflow = StateGraph(GraphState)
workflow.add_node("generate", generate)
workflow.add_node("check_code", code_check)
workflow.add_node("reflect", reflect)
workflow.add_edge(START, "generate")
workflow.add_edge("generate", "check_code")
workflow.add_conditional_edges("check_code", decide_to_finish, {"end": END, "reflect": "reflect", "generate": "generate"})
workflow.add_edge("reflect", "generate")
app = workflow.compile()
