"""Small graphs as source text, each importable with LangGraph alone: read as files and audited as objects."""

from __future__ import annotations

import importlib.util
import sys
import textwrap
from pathlib import Path
from types import ModuleType

PRELUDE = """
import json, operator, sqlite3, subprocess, urllib.request
from pathlib import Path
from typing import Annotated, Literal, TypedDict
from langchain_core.language_models import FakeListChatModel
from langchain_core.tools import tool
from langgraph.func import entrypoint, task
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import Command, Send, interrupt
from pydantic import BaseModel, ValidationError

class Chat(FakeListChatModel):
    def bind_tools(self, tools, **more):
        return self.bind(tools=tools)
    def with_structured_output(self, schema, **more):
        return self.bind(schema=schema)

llm = Chat(responses=["x"])
"""

CASES: dict[str, str] = {
    "1 write and critique, no map, no cap": """
class S(TypedDict):
    draft: str
    approved: bool
class Verdict(BaseModel):
    approved: bool
def write(state):
    return {"draft": llm.invoke("write").content}
def critique(state):
    said = llm.with_structured_output(Verdict).invoke(state["draft"])
    return {"approved": said.approved}
def route(state):
    if state["approved"]:
        return END
    return "write"
g = StateGraph(S)
g.add_node("write", write)
g.add_node("critique", critique)
g.add_edge(START, "write")
g.add_edge("write", "critique")
g.add_conditional_edges("critique", route)
graph = g.compile()
""",
    "2 the same with a counter": """
class S(TypedDict):
    draft: str
    approved: bool
    rounds: int
class Verdict(BaseModel):
    approved: bool
def write(state):
    return {"draft": llm.invoke("write").content, "rounds": state["rounds"] + 1}
def critique(state):
    return {"approved": llm.with_structured_output(Verdict).invoke(state["draft"]).approved}
def route(state):
    if state["approved"] or state["rounds"] >= 3:
        return END
    return "write"
g = StateGraph(S)
g.add_node("write", write)
g.add_node("critique", critique)
g.add_edge(START, "write")
g.add_edge("write", "critique")
g.add_conditional_edges("critique", route, {"write": "write", END: END})
graph = g.compile()
""",
    "3 exit status": """
class S(TypedDict):
    code: str
    status: int
def write(state):
    return {"code": llm.invoke("code").content}
def run(state):
    return {"status": subprocess.run(["python", "-c", state["code"]]).returncode}
def route(state):
    return END if state["status"] == 0 else "write"
g = StateGraph(S)
g.add_node("write", write)
g.add_node("run", run)
g.add_edge(START, "write")
g.add_edge("write", "run")
g.add_conditional_edges("run", route, ["write", END])
graph = g.compile()
""",
    "4 tool loop": """
@tool
def web_search(query: str) -> str:
    "Search the web."
    return urllib.request.urlopen("https://search.example/?q=" + query).read().decode()
tools = [web_search]
bound = llm.bind_tools(tools)
def agent(state: MessagesState):
    return {"messages": [bound.invoke(state["messages"])]}
g = StateGraph(MessagesState)
g.add_node("agent", agent)
g.add_node("tools", ToolNode(tools))
g.add_edge(START, "agent")
g.add_conditional_edges("agent", tools_condition)
g.add_edge("tools", "agent")
graph = g.compile()
""",
    "5 no-op tool": """
@tool
def think(thought: str) -> str:
    "Think."
    return thought
bound = llm.bind_tools([think])
def agent(state: MessagesState):
    return {"messages": [bound.invoke(state["messages"])]}
g = StateGraph(MessagesState)
g.add_node("agent", agent)
g.add_node("tools", ToolNode([think]))
g.add_edge(START, "agent")
g.add_conditional_edges("agent", tools_condition)
g.add_edge("tools", "agent")
graph = g.compile()
""",
    "6 search then judge": """
class S(TypedDict):
    query: str
    found: str
    summary: str
    enough: bool
    rounds: int
def search(state):
    body = urllib.request.urlopen("https://search.example/?q=" + state["query"]).read()
    return {"found": body.decode(), "rounds": state.get("rounds", 0) + 1}
def summarise(state):
    return {"summary": llm.invoke(state["found"]).content}
def judge(state):
    said = json.loads(llm.invoke("enough? " + state["summary"]).content)
    return {"enough": said["enough"], "query": said["query"]}
def route(state):
    return END if state["enough"] or state["rounds"] >= 2 else "search"
g = StateGraph(S)
for step in (search, summarise, judge):
    g.add_node(step)
g.add_edge(START, "search")
g.add_edge("search", "summarise")
g.add_edge("summarise", "judge")
g.add_conditional_edges("judge", route, ["search", END])
graph = g.compile()
""",
    "7 grader in the router": """
class S(TypedDict):
    question: str
    documents: list
    answer: str
def retrieve(state):
    rows = sqlite3.connect("docs.db").execute("select body from docs where q = ?", (state["question"],)).fetchall()
    return {"documents": rows}
def generate(state):
    return {"answer": llm.invoke(f"{state['question']} {state['documents']}").content}
def grade(state):
    if "no" in llm.invoke("supported? " + state["answer"]).content:
        return "not supported"
    if "no" in llm.invoke("useful? " + state["answer"]).content:
        return "not useful"
    return "useful"
g = StateGraph(S)
g.add_node("retrieve", retrieve)
g.add_node("generate", generate)
g.add_edge(START, "retrieve")
g.add_edge("retrieve", "generate")
g.add_conditional_edges("generate", grade, {"not supported": "generate", "not useful": "retrieve", "useful": END})
graph = g.compile()
""",
    "8 human behind a flag": """
class S(TypedDict):
    plan: str
    feedback: str
    auto_accept: bool
def planner(state):
    return {"plan": llm.invoke("plan").content}
def human(state):
    if state["auto_accept"]:
        return {"feedback": "again"}
    return {"feedback": interrupt(state["plan"])}
def route(state):
    return "planner" if state["feedback"] != "ok" else END
g = StateGraph(S)
g.add_node("planner", planner)
g.add_node("human", human)
g.add_edge(START, "planner")
g.add_edge("planner", "human")
g.add_conditional_edges("human", route, ["planner", END])
graph = g.compile()
""",
    "8b human without the flag": """
class S(TypedDict):
    plan: str
    feedback: str
def planner(state):
    return {"plan": llm.invoke("plan").content}
def human(state):
    return {"feedback": interrupt(state["plan"])}
def route(state):
    return "planner" if state["feedback"] != "ok" else END
g = StateGraph(S)
g.add_node("planner", planner)
g.add_node("human", human)
g.add_edge(START, "planner")
g.add_edge("planner", "human")
g.add_conditional_edges("human", route, ["planner", END])
graph = g.compile()
""",
    "9 pause before a node that does nothing": """
class S(TypedDict):
    draft: str
    wish: str
def write(state):
    return {"draft": llm.invoke("write").content}
def review(state):
    pass
def route(state):
    return "write" if state.get("wish") else END
g = StateGraph(S)
g.add_node("write", write)
g.add_node("review", review)
g.add_edge(START, "write")
g.add_edge("write", "review")
g.add_conditional_edges("review", route, ["write", END])
graph = g.compile(interrupt_before=["review"])
""",
    "10 undeclared goto": """
class Next(BaseModel):
    name: str
def supervisor(state: MessagesState):
    choice = llm.with_structured_output(Next).invoke(state["messages"])
    return Command(goto=choice.name)
def files(state: MessagesState):
    text = Path("notes.txt").read_text()
    return {"messages": [llm.invoke(text)]}
def sql(state: MessagesState):
    rows = sqlite3.connect("x.db").execute("select * from t").fetchall()
    return {"messages": [llm.invoke(str(rows))]}
g = StateGraph(MessagesState)
g.add_node("supervisor", supervisor)
g.add_node("files", files)
g.add_node("sql", sql)
g.add_edge(START, "supervisor")
g.add_edge("files", "supervisor")
g.add_edge("sql", "supervisor")
graph = g.compile()
""",
    "10b declared goto": """
class Next(BaseModel):
    name: str
def supervisor(state: MessagesState) -> Command[Literal["files", "sql", "__end__"]]:
    choice = llm.with_structured_output(Next).invoke(state["messages"])
    return Command(goto=choice.name)
def files(state: MessagesState):
    text = Path("notes.txt").read_text()
    return {"messages": [llm.invoke(text)]}
def sql(state: MessagesState):
    rows = sqlite3.connect("x.db").execute("select * from t").fetchall()
    return {"messages": [llm.invoke(str(rows))]}
g = StateGraph(MessagesState)
g.add_node("supervisor", supervisor)
g.add_node("files", files)
g.add_node("sql", sql)
g.add_edge(START, "supervisor")
g.add_edge("files", "supervisor")
g.add_edge("sql", "supervisor")
graph = g.compile()
""",
    "11 graph held in self": """
class S(TypedDict):
    text: str
    fine: bool
def write(state):
    return {"text": llm.invoke("write").content}
def critique(state):
    return {"fine": "fine" in llm.invoke(state["text"]).content}
inner = StateGraph(S)
inner.add_node("write", write)
inner.add_node("critique", critique)
inner.add_edge(START, "write")
inner.add_edge("write", "critique")
inner.add_conditional_edges("critique", lambda state: END if state["fine"] else "write", ["write", END])
class Press:
    def __init__(self):
        self.inner = inner.compile()
    def polish(self, state):
        return {"text": self.inner.invoke({"text": state["text"]})["text"]}
g = StateGraph(S)
g.add_node("polish", Press().polish)
g.add_edge(START, "polish")
g.add_edge("polish", END)
graph = g.compile()
""",
    "12 functional": """
@task
def judge(text):
    return "good" in llm.invoke(text).content
@task
def fix(text):
    return llm.invoke(text).content
@entrypoint()
def graph(text: str):
    while not judge(text).result():
        text = fix(text).result()
    return text
""",
    "13 pending items": """
class S(TypedDict):
    pending: list
    done: Annotated[list, operator.add]
def work(state):
    first = state["pending"][0]
    return {"pending": state["pending"][1:], "done": [llm.invoke(first).content]}
def route(state):
    return "work" if len(state["pending"]) > 0 else END
g = StateGraph(S)
g.add_node("work", work)
g.add_edge(START, "work")
g.add_conditional_edges("work", route, ["work", END])
graph = g.compile()
""",
    "14 five booleans": """
class Marks(BaseModel):
    a: bool
    b: bool
    c: bool
    d: bool
    e: bool
class S(TypedDict):
    answer: str
    score: int
def answer(state):
    return {"answer": llm.invoke("answer").content}
def judge(state):
    marks = llm.with_structured_output(Marks).invoke(state["answer"])
    return {"score": marks.a + marks.b + marks.c + marks.d + marks.e}
def route(state):
    return END if state["score"] >= 4 else "answer"
g = StateGraph(S)
g.add_node("answer", answer)
g.add_node("judge", judge)
g.add_edge(START, "answer")
g.add_edge("answer", "judge")
g.add_conditional_edges("judge", route, ["answer", END])
graph = g.compile()
""",
    "15 validation error": """
class Person(BaseModel):
    name: str
    age: int
class S(TypedDict):
    raw: str
    error: str
    tries: int
def extract(state):
    return {"raw": llm.invoke("extract").content, "tries": state.get("tries", 0) + 1}
def validate(state):
    try:
        Person.model_validate_json(state["raw"])
    except ValidationError as error:
        return {"error": str(error)}
    return {"error": ""}
def route(state):
    if state["error"] and state["tries"] < 3:
        return "extract"
    return END
g = StateGraph(S)
g.add_node("extract", extract)
g.add_node("validate", validate)
g.add_edge(START, "extract")
g.add_edge("extract", "validate")
g.add_conditional_edges("validate", route, ["extract", END])
graph = g.compile()
""",
}


def written(source: str, folder: Path, name: str = "target_graph") -> Path:
    """A case as a file that can be imported."""
    path = folder / f"{name}.py"
    path.write_text(PRELUDE + textwrap.dedent(source))
    return path


def imported(path: Path) -> ModuleType:
    """The module of such a file."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module
