"""Graphs of pydantic-graph: a class a node, edges in the return annotations."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, field

from pydantic import BaseModel
from pydantic_ai import Agent
from pydantic_graph import BaseNode, End, Graph, GraphRunContext


class Review(BaseModel):
    ok: bool
    comment: str


writer = Agent("openai:gpt-4o", output_type=str)
reviewer = Agent("openai:gpt-4o", output_type=Review)


@dataclass
class MailState:
    name: str
    rounds: int = 0
    remarks: list[str] = field(default_factory=list)


@dataclass
class WriteMail(BaseNode[MailState]):
    remark: str | None = None

    async def run(self, ctx: GraphRunContext[MailState]) -> CheckMail:
        prompt = f"A mail to {ctx.state.name}"
        if self.remark:
            prompt += f". Mind this: {self.remark}"
        result = await writer.run(prompt)
        return CheckMail(result.output)


@dataclass
class CheckMail(BaseNode[MailState, None, str]):
    mail: str

    async def run(self, ctx: GraphRunContext[MailState]) -> WriteMail | End[str]:
        result = await reviewer.run(self.mail)
        if result.output.ok:
            return End(self.mail)
        return WriteMail(remark=result.output.comment)


mail_graph = Graph(nodes=(WriteMail, CheckMail), state_type=MailState)


@dataclass
class CodeState:
    task: str
    attempts: int = 0
    error: str = ""


@dataclass
class WriteCode(BaseNode[CodeState]):
    async def run(self, ctx: GraphRunContext[CodeState]) -> RunCode:
        result = await writer.run(ctx.state.task + ctx.state.error)
        ctx.state.attempts += 1
        return RunCode(code=result.output)


@dataclass
class RunCode(BaseNode[CodeState, None, str]):
    code: str

    async def run(self, ctx: GraphRunContext[CodeState]) -> WriteCode | End[str]:
        done = subprocess.run(["python", "-c", self.code], capture_output=True, text=True)
        if done.returncode == 0 or ctx.state.attempts > 5:
            return End(self.code)
        ctx.state.error = done.stderr
        return WriteCode()


code_graph = Graph(nodes=[WriteCode, RunCode])


@dataclass
class QuizState:
    question: str = ""


@dataclass
class AskQuestion(BaseNode[QuizState]):
    async def run(self, ctx: GraphRunContext[QuizState]) -> GetAnswer:
        result = await writer.run("A question, please")
        ctx.state.question = result.output
        return GetAnswer()


@dataclass
class GetAnswer(BaseNode[QuizState]):
    async def run(self, ctx: GraphRunContext[QuizState]) -> Evaluate:
        answer = input(ctx.state.question + " ")
        return Evaluate(answer)


@dataclass
class Evaluate(BaseNode[QuizState, None, str]):
    answer: str

    async def run(self, ctx: GraphRunContext[QuizState]) -> End[str] | Reprimand:
        result = await reviewer.run(f"{ctx.state.question}: {self.answer}")
        if result.output.ok:
            return End(result.output.comment)
        return Reprimand(result.output.comment)


@dataclass
class Reprimand(BaseNode[QuizState]):
    comment: str

    async def run(self, ctx: GraphRunContext[QuizState]) -> AskQuestion:
        print(self.comment)
        ctx.state.question = ""
        return AskQuestion()


quiz_graph = Graph(nodes=(AskQuestion, GetAnswer, Evaluate, Reprimand), state_type=QuizState)


@dataclass
class Argue(BaseNode[MailState]):
    text: str = ""

    async def run(self, ctx: GraphRunContext[MailState]) -> Object:
        said = await writer.run("For it: " + self.text)
        return Object(said.output)


@dataclass
class Object(BaseNode[MailState, None, str]):
    text: str

    async def run(self, ctx: GraphRunContext[MailState]) -> Argue | End[str]:
        said = await writer.run("Against it: " + self.text)
        ctx.state.rounds += 1
        if ctx.state.rounds >= 3:
            return End(said.output)
        return Argue(text=said.output)


talk = Graph(nodes=[Argue, Object])
