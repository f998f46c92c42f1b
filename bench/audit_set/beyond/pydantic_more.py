"""More graphs of pydantic-graph."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Union

import httpx
from pydantic import BaseModel, ValidationError
from pydantic_ai import Agent, RunContext
from pydantic_graph import BaseNode, End, Graph, GraphRunContext


class Plan(BaseModel):
    queries: list[str]
    finished: bool = False


class Invoice(BaseModel):
    total: float


planner = Agent("anthropic:claude-sonnet-4", output_type=Plan, system_prompt="You plan.")
summarizer = Agent("anthropic:claude-sonnet-4")
reader = Agent("openai:gpt-4o")
browsing = Agent("openai:gpt-4o", system_prompt="You browse.")


@browsing.tool
async def open_page(ctx: RunContext[None], url: str) -> str:
    """Opens a page."""
    async with httpx.AsyncClient() as client:
        return (await client.get(url)).text


@dataclass
class Research:
    topic: str
    found: list[str] = field(default_factory=list)
    queue: list[str] = field(default_factory=list)
    summary: str = ""


@dataclass
class PlanQueries(BaseNode[Research, None, str]):
    async def run(self, ctx: GraphRunContext[Research]) -> Union["SearchWeb", End[str]]:
        plan = (await planner.run(ctx.state.topic + ctx.state.summary)).output
        if plan.finished:
            return End(ctx.state.summary)
        return SearchWeb(queries=plan.queries)


@dataclass
class SearchWeb(BaseNode[Research]):
    queries: list[str]

    async def run(self, ctx: GraphRunContext[Research]) -> "Summarize":
        for query in self.queries:
            ctx.state.found.append(httpx.get("https://example.org/search", params={"q": query}).text)
        return Summarize()


@dataclass
class Summarize(BaseNode[Research]):
    async def run(self, ctx: GraphRunContext[Research]) -> PlanQueries:
        ctx.state.summary = (await summarizer.run("\n".join(ctx.state.found))).output
        return PlanQueries()


research = Graph(nodes=[PlanQueries, SearchWeb, Summarize], name="research")


@dataclass
class Extract(BaseNode[None, None, Invoice]):
    text: str
    problem: str = ""

    async def run(self, ctx: GraphRunContext) -> Validate:
        reply = await reader.run(f"The total as JSON: {self.text} {self.problem}")
        return Validate(self.text, reply.output)


@dataclass
class Validate(BaseNode[None, None, Invoice]):
    text: str
    reply: str

    async def run(self, ctx: GraphRunContext) -> Extract | End[Invoice]:
        try:
            return End(Invoice.model_validate(json.loads(self.reply)))
        except (ValidationError, json.JSONDecodeError) as error:
            return Extract(self.text, str(error))


invoices = Graph(nodes=[Extract, Validate])


@dataclass
class NextItem(BaseNode[Research, None, list]):
    async def run(self, ctx: GraphRunContext[Research]) -> Digest | End[list]:
        if not ctx.state.queue:
            return End(ctx.state.found)
        return Digest(ctx.state.queue.pop(0))


@dataclass
class Digest(BaseNode[Research, None, list]):
    item: str

    async def run(self, ctx: GraphRunContext[Research]) -> NextItem:
        ctx.state.found.append((await summarizer.run(self.item)).output)
        return NextItem()


digests = Graph(nodes=(NextItem, Digest))


@dataclass
class Guess(BaseNode[Research, None, str]):
    last: str = ""

    async def run(self, ctx: GraphRunContext[Research]) -> Guess | End[str]:
        reply = (await summarizer.run("Guess again, or say DONE: " + self.last)).output
        if "DONE" in reply:
            return End(self.last)
        return Guess(reply)


guessing = Graph(nodes=[Guess])


@dataclass
class Browse(BaseNode[Research, None, str]):
    hint: str = ""

    async def run(self, ctx: GraphRunContext[Research]) -> Judge:
        reply = await browsing.run(ctx.state.topic + self.hint)
        return Judge(reply.output)


@dataclass
class Judge(BaseNode[Research, None, str]):
    answer: str

    async def run(self, ctx: GraphRunContext[Research]) -> Browse | End[str]:
        plan = (await planner.run(self.answer)).output
        return End(self.answer) if plan.finished else Browse(hint="Dig deeper")


async def answer(topic: str) -> str:
    found = await Graph(nodes=[Browse, Judge]).run(Browse(), state=Research(topic))
    return found.output
