"""Numbers game: reach the target with the given numbers; arithmetic is done by Python."""
import re
from collections import Counter
from typing import TypedDict

from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, StateGraph


class Game(TypedDict):
    numbers: list[int]
    target: int
    expression: str
    feedback: str


llm = ChatOpenAI(model="gpt-4o")


def propose(state: Game):
    return {"expression": llm.invoke(f"Use {state['numbers']} to make {state['target']}. {state.get('feedback', '')}").content}


def verify(state: Game):
    expr = state["expression"]
    used = Counter(int(n) for n in re.findall(r"\d+", expr))
    if used - Counter(state["numbers"]):
        return {"feedback": "You used numbers that you do not have."}
    value = eval(expr, {"__builtins__": {}})
    if value != state["target"]:
        return {"feedback": f"That makes {value}."}
    return {"feedback": ""}


def decide(state: Game):
    return "propose" if state["feedback"] else END


g = StateGraph(Game)
g.add_node("propose", propose)
g.add_node("verify", verify)
g.add_edge(START, "propose")
g.add_edge("propose", "verify")
g.add_conditional_edges("verify", decide, ["propose", END])
graph = g.compile()
