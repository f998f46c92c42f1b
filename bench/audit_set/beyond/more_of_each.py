"""One more of a few kinds."""

from __future__ import annotations

from dataclasses import dataclass

import requests
from crewai.flow.flow import Flow, listen, router, start
from langchain_openai import ChatOpenAI
from langgraph.func import entrypoint, task
from litellm import completion
from pydantic_ai import Agent
from pydantic_graph import BaseNode, End, Graph, GraphRunContext

llm = ChatOpenAI()
author = Agent("openai:gpt-4o")


@task
def vote(text):
    return [llm.invoke(f"Juror {i}: yes or no? {text}").content for i in range(3)]


@entrypoint()
def jury(text):
    while sum("yes" in v for v in vote(text).result()) < 2:
        text = llm.invoke("Rewrite " + text).content
    return text


class Slogans(Flow):
    tries = 0

    @start("once_more")
    def invent(self):
        self.slogan = completion(model="gpt-4o", messages=[{"role": "user", "content": "A slogan"}])
        self.tries += 1
        return self.slogan

    @router(invent)
    def like(self, slogan):
        said = completion(model="gpt-4o", messages=[{"role": "user", "content": f"Do you like {slogan}?"}])
        return "take" if "yes" in said.choices[0].message.content else "once_more"

    @listen("take")
    def take(self):
        return self.slogan


@dataclass
class Probe:
    url: str = ""


@dataclass
class Invent(BaseNode[Probe]):
    async def run(self, ctx: GraphRunContext[Probe]) -> Visit:
        ctx.state.url = (await author.run("An address that answers")).output
        return Visit()


@dataclass
class Visit(BaseNode[Probe, None, str]):
    async def run(self, ctx: GraphRunContext[Probe]) -> Invent | End[str]:
        answer = requests.get(ctx.state.url)
        if answer.ok:
            return End(answer.text)
        return Invent()


@dataclass
class Compose(BaseNode[Probe]):
    text: str = ""

    async def run(self, ctx: GraphRunContext[Probe]) -> Rate:
        return Rate((await author.run(self.text)).output)


@dataclass
class Rate(BaseNode[Probe, None, str]):
    text: str

    async def run(self, ctx: GraphRunContext[Probe]) -> Compose | End[str]:
        points = int((await author.run("Points, 1 to 10: " + self.text)).output)
        if points < 7:
            return Compose(self.text)
        return End(self.text)


probing = Graph(nodes=[Invent, Visit])
rating = Graph(nodes=[Compose, Rate])
