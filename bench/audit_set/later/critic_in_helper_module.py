from typing import Any

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, StateGraph
from typing_extensions import NotRequired, TypedDict


class Ctx(TypedDict):
    llm: NotRequired[Any]


class S(TypedDict):
    ad: str
    rating: int
    tries: int


def _text(message) -> str:
    content = message.content
    if isinstance(content, list):
        return "".join(part["text"] for part in content)
    return content


def _to_int(text: str, default: int = 0) -> int:
    try:
        return int(text.strip().split("/")[0])
    except ValueError:
        return default


class Agency:
    PASSING = 8

    def __init__(self, llm: BaseChatModel | None = None, max_tries: int = 6) -> None:
        self.llm = llm if llm is not None else ChatOpenAI()
        self.max_tries = max_tries

    def ask(self, *lines: str) -> str:
        return _text(self.llm.invoke("\n".join(lines)))

    def create(self, state: S) -> S:
        return {"ad": self.ask("Write an ad", f"last rating {state.get('rating')}"), "tries": state.get("tries", 0) + 1}

    def rate(self, state: S) -> S:
        return {"rating": _to_int(self.ask("Rate this ad, n/10:", state["ad"]))}

    def route(self, state: S) -> str:
        too_many = state["tries"] >= self.max_tries
        good = state["rating"] >= self.PASSING
        return END if good or too_many else "create"

    @property
    def graph(self):
        g = StateGraph(S)
        g.add_node("create", self.create)
        g.add_node("rate", self.rate)
        g.add_edge(START, "create")
        g.add_edge("create", "rate")
        g.add_conditional_edges("rate", self.route, {"create": "create", END: END})
        return g.compile()


agency = Agency()
app = agency.graph
