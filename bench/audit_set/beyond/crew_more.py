"""More flows of CrewAI."""

import json

import requests
from crewai import LLM, Agent
from crewai.flow import Flow, and_, listen, or_, persist, router, start
from crewai.flow.human_feedback import human_feedback
from pydantic import BaseModel

ROUTES = ["revise", "publish"]


class Grade(BaseModel):
    score: int
    notes: str


class State(BaseModel):
    draft: str = ""
    notes: str = ""
    pages: list[str] = []
    items: list[str] = []
    results: list[str] = []
    attempts: int = 0


@persist()
class ArticleFlow(Flow[State]):
    def __init__(self):
        super().__init__()
        self.llm = LLM(model="openai/gpt-4o")

    @start()
    def begin(self):
        self.state.draft = self.llm.call("Write an article")

    @router(or_(begin, "revise"))
    def judge(self):
        grade = LLM(model="openai/gpt-4o", response_format=Grade).call("Grade " + self.state.draft)
        self.state.notes = grade.notes
        if grade.score >= 8:
            return "publish"
        return "revise_needed"

    @listen("revise_needed")
    def rewrite(self):
        self.state.draft = self.llm.call(self.state.draft + self.state.notes)

    @router(rewrite)
    def back(self):
        return "revise"

    @listen("publish")
    def publish(self):
        return self.state.draft


class CrawlFlow(Flow[State]):
    @start("more")
    async def crawl(self):
        self.state.pages.append(requests.get("https://example.org").text)

    @router(crawl)
    async def read(self):
        agent = Agent(role="reader", goal="read", backstory="patient")
        reply = await agent.kickoff_async("Is there more to read? " + self.state.pages[-1])
        if "MORE" in reply.raw:
            return "more"
        return "stop"

    @listen("stop")
    async def stop(self):
        return self.state.pages


class QueueFlow(Flow[State]):
    model = LLM(model="gpt-4o")

    @start("next")
    def take(self):
        item = self.state.items.pop()
        self.state.results.append(self.model.call("Summarise " + item))

    @router(take)
    def left(self):
        if self.state.items:
            return "next"
        return "finished"

    @listen("finished")
    def finished(self):
        return self.state.results


class ParseFlow(Flow[State]):
    @start()
    def ask(self):
        self.state.draft = LLM(model="gpt-4o").call("JSON only")

    @router(ask)
    def first(self):
        return self._check()

    @listen("bad")
    def again(self):
        self.state.draft = LLM(model="gpt-4o").call("JSON only, please!")

    @router(again)
    def second(self):
        return self._check()

    def _check(self):
        try:
            json.loads(self.state.draft)
            return "good"
        except json.JSONDecodeError:
            return "bad"

    @listen("good")
    def done(self):
        return json.loads(self.state.draft)


class ServiceFlow(Flow[State]):
    @start("retry")
    def compose(self):
        self.state.draft = LLM(model="gpt-4o").call("A request " + self.state.notes)

    @router(compose)
    def send(self):
        answer = requests.post("https://example.org/api", data=self.state.draft)
        self.state.attempts += 1
        if answer.status_code == 200:
            return "sent"
        self.state.notes = answer.text
        return "retry" if self.state.attempts < 3 else "failed"

    @listen(or_("sent", "failed"))
    def end(self):
        return self.state.notes


class ApprovalFlow(Flow[State]):
    @start("rejected")
    def propose(self):
        self.state.draft = LLM(model="gpt-4o").call("Propose " + self.state.notes)

    @router(propose)
    def approve(self):
        self.state.notes = input(self.state.draft + "? ")
        return "accepted" if self.state.notes == "y" else "rejected"

    @listen("accepted")
    def accept(self):
        return self.state.draft
