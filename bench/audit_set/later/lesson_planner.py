import enum
from typing import Annotated, Any

from langchain_core.messages import AnyMessage, HumanMessage
from langchain_openai import ChatOpenAI
from langgraph.graph import END, StateGraph, add_messages
from pydantic import BaseModel


class Stage(str, enum.Enum):
    DRAFT = "draft"
    REVIEW = "review"
    DONE = "done"


class PlanState(BaseModel):
    messages: Annotated[list[AnyMessage], add_messages] = []
    stage: Stage = Stage.DRAFT
    lesson: str = ""
    remarks: str = ""


class LessonReview(BaseModel):
    ready: bool
    remarks: str


class LessonGraph:
    model_name = "gpt-4o"

    def __init__(self):
        self._model = ChatOpenAI(model=self.model_name)
        self._reviewer = self._model.with_structured_output(LessonReview)

    async def draft(self, state: PlanState) -> dict[str, Any]:
        reply = await self._model.ainvoke([*state.messages, HumanMessage(state.remarks)])
        return {"lesson": reply.content, "stage": Stage.REVIEW}

    async def review(self, state: PlanState) -> dict[str, Any]:
        review: LessonReview = await self._reviewer.ainvoke(state.lesson)
        stage = Stage.DONE if review.ready else Stage.DRAFT
        return {"stage": stage, "remarks": review.remarks}

    def next_stage(self, state: PlanState) -> str:
        return state.stage.value

    def compile(self):
        g = StateGraph(PlanState)
        g.add_node("drafting", self.draft)
        g.add_node("reviewing", self.review)
        g.set_entry_point("drafting")
        g.add_edge("drafting", "reviewing")
        g.add_conditional_edges(
            "reviewing", self.next_stage, {Stage.DRAFT.value: "drafting", Stage.DONE.value: END}
        )
        return g.compile()


lesson_graph = LessonGraph().compile()
