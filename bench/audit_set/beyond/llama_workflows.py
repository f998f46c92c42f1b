"""Workflows of LlamaIndex: steps that take events and give events."""

import json
import subprocess

from llama_index.core.llms import ChatMessage
from llama_index.core.workflow import Context, Event, StartEvent, StopEvent, Workflow, step
from llama_index.llms.openai import OpenAI
from pydantic import BaseModel


class Cars(BaseModel):
    names: list[str]


class ExtractionDone(Event):
    output: str
    passage: str


class ValidationError(Event):
    error: str
    wrong_output: str
    passage: str


class ReflectionWorkflow(Workflow):
    max_retries: int = 3

    @step
    async def extract(self, ctx: Context, ev: StartEvent | ValidationError) -> StopEvent | ExtractionDone:
        current = await ctx.store.get("retries", default=0)
        if current >= self.max_retries:
            return StopEvent(result="Max retries reached")
        await ctx.store.set("retries", current + 1)
        if isinstance(ev, StartEvent):
            passage, hint = ev.passage, ""
        else:
            passage, hint = ev.passage, ev.error
        llm = OpenAI(model="gpt-4o")
        output = await llm.acomplete(passage + hint)
        return ExtractionDone(output=str(output), passage=passage)

    @step
    async def validate(self, ev: ExtractionDone) -> StopEvent | ValidationError:
        try:
            Cars.model_validate_json(ev.output)
        except Exception as e:
            return ValidationError(error=str(e), wrong_output=ev.output, passage=ev.passage)
        return StopEvent(result=ev.output)


class Draft(Event):
    text: str


class Critique(Event):
    remarks: str
    text: str


class JokeWorkflow(Workflow):
    llm = OpenAI(model="gpt-4o-mini")

    @step
    async def write_joke(self, ev: StartEvent | Critique) -> Draft:
        topic = ev.get("topic", "") if isinstance(ev, StartEvent) else ev.remarks
        return Draft(text=str(await self.llm.acomplete("A joke on " + topic)))

    @step
    async def judge_joke(self, ev: Draft) -> Critique | StopEvent:
        said = str(await self.llm.acomplete("Is it funny? YES or NO, and why: " + ev.text))
        if said.startswith("YES"):
            return StopEvent(result=ev.text)
        return Critique(remarks=said, text=ev.text)


class Code(Event):
    source: str


class Broken(Event):
    trace: str


class CodingWorkflow(Workflow):
    def __init__(self, llm=None, **kwargs):
        super().__init__(**kwargs)
        self.llm = llm or OpenAI(model="gpt-4o")
        self.attempts = 0

    @step
    async def code(self, ctx: Context, ev: StartEvent | Broken) -> Code:
        prompt = ev.task if isinstance(ev, StartEvent) else ev.trace
        reply = await self.llm.achat([ChatMessage(role="user", content=prompt)])
        self.attempts += 1
        return Code(source=reply.message.content)

    @step
    async def execute(self, ctx: Context, ev: Code) -> Broken | StopEvent:
        done = subprocess.run(["python", "-c", ev.source], capture_output=True, text=True)
        if done.returncode != 0 and self.attempts < 5:
            return Broken(trace=done.stderr)
        return StopEvent(result=ev.source)


class Again(Event):
    number: int


class RoundsWorkflow(Workflow):
    llm = OpenAI(model="gpt-4o-mini")

    @step
    async def speak(self, ev: StartEvent | Again) -> Again | StopEvent:
        number = ev.number if isinstance(ev, Again) else 0
        text = await self.llm.acomplete("Say something")
        if number >= 3:
            return StopEvent(result=str(text))
        return Again(number=number + 1)
