import docker
from langchain_google_vertexai import ChatVertexAI
from langgraph.graph import END, START, StateGraph
from typing_extensions import TypedDict

client = docker.from_env()


class TexState(TypedDict):
    request: str
    tex: str
    status: str
    log: str
    tries: int


class TexWriter:
    def __init__(self, llm=None):
        self.llm = llm or ChatVertexAI(model="gemini-1.5-pro")

    def compose(self, state: TexState):
        return {"tex": self.llm.invoke(f"LaTeX: {state['request']}\n{state.get('log', '')}").content, "tries": state.get("tries", 0) + 1}

    def typeset(self, state: TexState):
        container = client.containers.run("texlive", ["pdflatex", state["tex"]], detach=True)
        code = container.wait()["StatusCode"]
        log = container.logs().decode()
        status = "success"
        if code != 0:
            status = "failure"
        return {"status": status, "log": log}

    @staticmethod
    def decide(state: TexState):
        match state["status"]:
            case "success":
                return "done"
            case _ if state["tries"] > 4:
                return "done"
            case _:
                return "compose"

    def build(self):
        g = StateGraph(TexState)
        g.add_node("compose", self.compose)
        g.add_node("typeset", self.typeset)
        g.add_edge(START, "compose")
        g.add_edge("compose", "typeset")
        g.add_conditional_edges("typeset", self.decide, {"done": END, "compose": "compose"})
        return g.compile()
