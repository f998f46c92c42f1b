import json
import logging
from typing import TypedDict

from langchain.chat_models import init_chat_model
from langgraph.graph import END, StateGraph

logger = logging.getLogger(__name__)


class StoryState(TypedDict):
    premise: str
    story: str
    score: float
    notes: list[str]
    revision: int


class StoryWorkshop:
    """Writes a story until the critic likes it."""

    def __init__(self, model_name: str = "openai:gpt-4o", threshold: float = 8.0, max_revisions: int = 4):
        self.llm = init_chat_model(model_name)
        self.threshold = threshold
        self.max_revisions = max_revisions
        self.graph = self._build()

    def _build(self):
        g = StateGraph(StoryState)
        g.add_node("write_story", self.write_story)
        g.add_node("score_story", self.score_story)
        g.set_entry_point("write_story")
        g.add_edge("write_story", "score_story")
        g.add_conditional_edges("score_story", self.good_enough, {True: END, False: "write_story"})
        return g.compile()

    def write_story(self, state: StoryState) -> dict:
        logger.info("writing revision %s", state["revision"])
        text = self.llm.invoke(f"Premise: {state['premise']}\nNotes: {state['notes']}").content
        return {"story": text, "revision": state["revision"] + 1}

    def score_story(self, state: StoryState) -> dict:
        raw = self.llm.invoke("Score 0-10 as JSON with keys score and notes:\n" + state["story"]).content
        data = json.loads(raw.strip("`"))
        return {"score": float(data["score"]), "notes": data["notes"]}

    def good_enough(self, state: StoryState) -> bool:
        return state["score"] >= self.threshold or state["revision"] >= self.max_revisions
