"""More workflows of LlamaIndex."""

import asyncio
from typing import Union

import requests
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent, ReActAgent
from llama_index.core.tools import FunctionTool
from llama_index.core.workflow import (
    Context,
    Event,
    HumanResponseEvent,
    InputRequiredEvent,
    StartEvent,
    StopEvent,
    Workflow,
    step,
)
from llama_index.llms.openai import OpenAI
from tavily import AsyncTavilyClient

llm = OpenAI(model="gpt-4o")


class Question(Event):
    question: str


class Answer(Event):
    question: str
    answer: str


class Feedback(Event):
    feedback: str


class ReportWorkflow(Workflow):
    @step
    async def plan(self, ctx: Context, ev: Union[StartEvent, Feedback]) -> Question | None:
        said = await llm.acomplete("Questions on it " + str(await ctx.get("topic", default="")))
        questions = str(said).split("\n")
        await ctx.set("total", len(questions))
        for q in questions:
            ctx.send_event(Question(question=q))

    @step(num_workers=4)
    async def look_up(self, ctx: Context, ev: Question) -> Answer:
        client = AsyncTavilyClient()
        return Answer(question=ev.question, answer=str(await client.search(ev.question)))

    @step
    async def review(self, ctx: Context, ev: Answer) -> Feedback | StopEvent | None:
        answers = ctx.collect_events(ev, [Answer] * await ctx.get("total"))
        if answers is None:
            return None
        verdict = await llm.acomplete("Good report? " + str(answers))
        if "great" in str(verdict):
            return StopEvent(result=answers)
        return Feedback(feedback=str(verdict))


class Outline(Event):
    outline: str


class OutlineWorkflow(Workflow):
    @step
    async def propose(self, ctx: Context, ev: StartEvent | Feedback) -> InputRequiredEvent:
        outline = await llm.acomplete("An outline")
        await ctx.store.set("outline", str(outline))
        return InputRequiredEvent(prefix=str(outline))

    @step
    async def hear(self, ctx: Context, ev: HumanResponseEvent) -> Feedback | StopEvent:
        if ev.response == "yes":
            return StopEvent(result=await ctx.store.get("outline"))
        return Feedback(feedback=ev.response)


class ToolCall(Event):
    calls: list


class Prompt(Event):
    history: list


def stock(symbol: str) -> str:
    """The price of a share."""
    return requests.get("https://example.org/stock/" + symbol).text


def remember(text: str) -> str:
    """Remembers."""
    return "I will remember: " + text


class FunctionCalling(Workflow):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.tools = [FunctionTool.from_defaults(stock)]
        self.llm = OpenAI(model="gpt-4o")

    @step
    async def prepare(self, ctx: Context, ev: StartEvent) -> Prompt:
        return Prompt(history=[ev.input])

    @step
    async def ask(self, ctx: Context, ev: Prompt) -> ToolCall | StopEvent:
        reply = await self.llm.achat_with_tools(self.tools, chat_history=ev.history)
        calls = self.llm.get_tool_calls_from_response(reply, error_on_no_tool_call=False)
        if not calls:
            return StopEvent(result=reply)
        return ToolCall(calls=calls)

    @step
    async def use(self, ctx: Context, ev: ToolCall) -> Prompt:
        outputs = []
        by_name = {t.metadata.get_name(): t for t in self.tools}
        for call in ev.calls:
            outputs.append(by_name[call.tool_name](**call.tool_kwargs))
        return Prompt(history=outputs)


class Loop(Event):
    pass


class Pages(Workflow):
    pages: list = []

    @step
    async def page(self, ctx: Context, ev: StartEvent | Loop) -> Loop | StopEvent:
        pages = await ctx.store.get("pages")
        if not pages:
            return StopEvent(result="done")
        page = pages.pop(0)
        await llm.acomplete("Translate " + page)
        await ctx.store.set("pages", pages)
        return Loop()


class Straight(Workflow):
    @step
    async def one(self, ev: StartEvent) -> Outline:
        return Outline(outline=str(await llm.acomplete("outline")))

    @step
    async def two(self, ev: Outline) -> StopEvent:
        return StopEvent(result=str(await llm.acomplete(ev.outline)))


broker = FunctionAgent(tools=[stock], llm=llm, system_prompt="You sell shares.")
keeper = ReActAgent(tools=[FunctionTool.from_defaults(fn=remember)], llm=llm)
mixed = AgentWorkflow.from_tools_or_functions([stock, remember], llm=llm)

finder = FunctionAgent(name="finder", tools=[stock], llm=llm, can_handoff_to=["teller"])
teller = FunctionAgent(name="teller", tools=[remember], llm=llm, can_handoff_to=["finder"])
team = AgentWorkflow(agents=[finder, teller], root_agent="finder")
