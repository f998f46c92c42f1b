import jsonschema
import yaml
from typing import TypedDict

from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, StateGraph

SCHEMA = {"type": "object", "required": ["name", "steps"], "properties": {"steps": {"type": "array"}}}


class State(TypedDict):
    wish: str
    text: str
    problem: str
    tries: int


class Pipeline:
    def __init__(self):
        self._llm = ChatOpenAI(model="gpt-4o-mini")

    def _generate(self, state):
        return self._llm.invoke(f"YAML pipeline for {state['wish']}. Fix: {state.get('problem')}").content

    def _parse(self, text):
        doc = yaml.safe_load(text)
        jsonschema.validate(doc, SCHEMA)
        return doc

    def generate(self, state: State):
        return {"text": self._generate(state), "tries": state.get("tries", 0) + 1}

    def check(self, state: State):
        problem = ""
        try:
            self._parse(state["text"])
        except (yaml.YAMLError, jsonschema.ValidationError) as e:
            problem = str(e)
        return {"problem": problem}

    def route(self, state: State):
        if state["problem"] and state["tries"] < 3:
            return "generate"
        return END

    def graph(self):
        g = StateGraph(State)
        g.add_node("generate", self.generate)
        g.add_node("check", self.check)
        g.add_edge(START, "generate")
        g.add_edge("generate", "check")
        g.add_conditional_edges("check", self.route, ["generate", END])
        return g.compile()


app = Pipeline().graph()
