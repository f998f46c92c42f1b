"""Graphs that are classes: pydantic-graph, flows of CrewAI, workflows of LlamaIndex, as people write them."""

from __future__ import annotations

from pathlib import Path

import pytest

from groundwire_audit._discover import audit_path
from groundwire_audit._report import AuditReport


def audited(source: str, folder: Path) -> AuditReport:
    """The report on a program."""
    path = folder / "program.py"
    path.write_text(source)
    return audit_path(path)


def verdicts(source: str, folder: Path) -> dict[str, str]:
    """The loops of a program that are no agent's own: way round → verdict."""
    return {x.path: str(x.verdict) for x in audited(source, folder).loops if "tools" not in x.path}


NODES = """
from __future__ import annotations
import subprocess, json
from dataclasses import dataclass, field
from typing import Annotated, Union
import pydantic_graph as pg
from pydantic_ai import Agent
from pydantic_graph import BaseNode, Edge, End, Graph, GraphRunContext
from pydantic import BaseModel
class Grade(BaseModel):
    ok: bool
    score: int
writer = Agent("openai:gpt-4o")
grader: Agent[None, Grade] = Agent("openai:gpt-4o", output_type=Grade)
@dataclass
class State:
    text: str = ""
    tries: int = 0
    grade: Grade | None = None
@dataclass
class Write(BaseNode[State, None, str]):
    hint: str = ""
    async def run(self, ctx: GraphRunContext[State]) -> Check:
        ctx.state.tries += 1
        ctx.state.text = (await writer.run(self.hint)).output
        return Check()
"""


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        (
            """
@dataclass
class Check(BaseNode[State, None, str]):
    async def run(self, ctx: GraphRunContext[State]) -> Write | End[str]:
        ctx.state.grade = (await grader.run(ctx.state.text)).output
        if ctx.state.grade.score >= 8:
            return End(ctx.state.text)
        return Write("better")
graph = Graph(nodes=[Write, Check])
""",
            "ungrounded",
        ),
        (
            """
@dataclass
class Check(pg.BaseNode[State, None, str]):
    docstring_notes = True
    async def run(self, ctx: pg.GraphRunContext[State]) -> Annotated[Write, Edge(label="again")] | End[str]:
        code = subprocess.run(["python", "-c", ctx.state.text]).returncode
        return End(ctx.state.text) if code == 0 else Write(hint="it fails")
graph = pg.Graph[State, None, str](nodes=(Write, Check), name="named")
""",
            "grounded",
        ),
        (
            """
@dataclass
class Check(BaseNode[State, None, str]):
    async def run(self, ctx: GraphRunContext[State]) -> Union["Write", End[str]]:
        answer = await grader.run(ctx.state.text)
        match answer.output.ok:
            case True:
                return End(ctx.state.text)
            case _:
                next_node = Write(hint="again")
        return next_node
""",
            "ungrounded",
        ),
        (
            """
class Check(BaseNode[State, None, str]):
    async def run(self, ctx: GraphRunContext[State]) -> Write | End[str]:
        if ctx.state.tries > 3:
            return End("")
        if input("good? ") == "y":
            return End(ctx.state.text)
        return Write()
graph = Graph(nodes=[Write, Check])
""",
            "grounded",
        ),
    ],
)
def test_nodes_of_pydantic_graph_lead_where_run_returns_to(body: str, wanted: str, tmp_path: Path) -> None:
    assert verdicts(NODES + body, tmp_path) == {"Write → Check → Write": wanted}


def test_a_node_out_of_sight_is_unknown_and_never_no_loop(tmp_path: Path) -> None:
    body = """
@dataclass
class Check(BaseNode[State, None, str]):
    async def run(self, ctx: GraphRunContext[State]) -> Write | End[str]:
        return await decide_elsewhere(ctx.state.text)
graph = Graph(nodes=[Write, Check])
"""
    assert verdicts(NODES + body, tmp_path) == {"Write → Check → Write": "unknown"}


FLOW = """
import json, subprocess
from typing import Literal
import crewai
from crewai import LLM, Agent, Crew, Task
from crewai.flow.flow import Flow, and_, listen, or_, router, start
from pydantic import BaseModel
class State(BaseModel):
    text: str = ""
    count: int = 0
    items: list[str] = []
WORDS = {"again": "again", "done": "done"}
"""


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        (
            """
class F(Flow[State]):
    @start("again")
    def write(self):
        self.state.text = LLM(model="m").call("write")
    @router(write)
    def judge(self) -> Literal["again", "done"]:
        said = LLM(model="m").call(f"Is it good? {self.state.text}")
        return WORDS["done"] if "yes" in said else WORDS["again"]
    @listen("done")
    def end(self):
        return self.state.text
""",
            {"write → judge → write": "ungrounded"},
        ),
        (
            """
class Base(crewai.Flow[State]):
    @listen("done")
    def end(self):
        return self.state.text
class F(Base):
    initial_state = State
    @start()
    def begin(self):
        self.attempts = 0
    @listen(or_(begin, "again"))
    def write(self):
        self.attempts += 1
        return Crew(agents=[Agent(role="w")], tasks=[]).kickoff()
    @router(write)
    async def run(self, code):
        done = subprocess.run(["python", "-c", str(code)])
        if done.returncode:
            return "again"
        return "done"
""",
            {"write → run → write": "grounded"},
        ),
        (
            """
class F(Flow):
    @start("more")
    def take(self):
        one = self.state["items"].pop()
        return LLM(model="m").call(one)
    @router(take)
    def left(self):
        return "more" if self.state["items"] else "done"
    @listen("done")
    def end(self): ...
""",
            {"take → left → take": "worklist"},
        ),
    ],
)
def test_methods_of_a_flow_run_when_their_word_is_said(body: str, wanted: dict[str, str], tmp_path: Path) -> None:
    assert verdicts(FLOW + body, tmp_path) == wanted


def test_a_method_that_waits_for_its_own_name_is_said_and_is_no_loop(tmp_path: Path) -> None:
    body = """
class F(Flow):
    @start()
    def write(self):
        return LLM(model="m").call("write")
    @router(write)
    def choose(self):
        return "save"
    @listen("save")
    def save(self):
        return LLM(model="m").call("a title")
"""
    report = audited(FLOW + body, tmp_path)
    assert [f.rule for f in report.all_findings()] == ["self-trigger"]
    assert list(report.loops) == []


EVENTS = """
import json, subprocess
from typing import Union, Optional
from llama_index.core.workflow import (
    Context, Event, HumanResponseEvent, InputRequiredEvent, StartEvent, StopEvent, Workflow, step)
from llama_index.llms.anthropic import Anthropic
llm = Anthropic(model="claude")
class Draft(Event):
    text: str
class Again(Event):
    why: str
    rounds: int = 0
class Begin(StartEvent):
    topic: str
class Done(StopEvent):
    text: str
"""


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        (
            """
class W(Workflow):
    @step()
    async def write(self, ctx: Context, ev: Begin | Again) -> Draft:
        match ev:
            case Begin():
                topic = ev.topic
            case _:
                topic = ev.why
        return Draft(text=(await llm.acomplete(topic)).text)
    @step
    async def judge(self, ctx: Context, ev: Draft) -> Optional[Union[Again, Done]]:
        said = await llm.acomplete("good? " + ev.text)
        if "no" in said.text:
            ctx.send_event(Again(why=said.text))
            return None
        return Done(text=ev.text)
""",
            {"write → judge → write": "ungrounded"},
        ),
        (
            """
class W(Workflow):
    @step
    async def write(self, ctx: Context, ev: StartEvent | Again) -> Draft:
        self.rounds = getattr(self, "rounds", 0) + 1
        return Draft(text=str(llm.complete("code")))
    @step
    async def judge(self, ev: Draft) -> Again | StopEvent:
        code = subprocess.call(["python", "-c", ev.text])
        if code == 0:
            return StopEvent(result=ev.text)
        return Again(why=str(code))
""",
            {"write → judge → write": "grounded"},
        ),
        (
            """
class W(Workflow):
    @step
    async def write(self, ev: StartEvent | Again) -> InputRequiredEvent:
        return InputRequiredEvent(prefix=str(await llm.acomplete("write")))
    @step
    async def judge(self, ev: HumanResponseEvent) -> Again | StopEvent:
        return StopEvent(result="") if ev.response == "ok" else Again(why=ev.response)
""",
            {"write → judge → write": "grounded"},
        ),
        (
            """
class W(Workflow):
    @step
    async def speak(self, ev: StartEvent | Again) -> Again | StopEvent:
        rounds = 0 if isinstance(ev, StartEvent) else ev.rounds
        await llm.acomplete("say something")
        if rounds > 4:
            return StopEvent()
        return Again(why="", rounds=rounds + 1)
""",
            {"speak → speak": "ungrounded"},
        ),
    ],
)
def test_steps_of_a_workflow_take_the_events_of_others(body: str, wanted: dict[str, str], tmp_path: Path) -> None:
    assert verdicts(EVENTS + body, tmp_path) == wanted
