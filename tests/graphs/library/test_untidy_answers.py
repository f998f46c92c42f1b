"""Every graph with answers as models write them: the same right answer in any form gives the same end; two answers, or
a refusal, give none, and it is said."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping

import pytest
from guessing import ANSWER, Check
from wide import QUESTION, model, purposes, ran

from groundwire import Budget, FeedbackGraph, Origin, StopReason, Task, Verdict
from groundwire.agents import EpisodeCritic, ReActActor, StepBeamActor, ToolActor
from groundwire.agents.steps._step_beam import NextStep
from groundwire.agents.width._answers import TextAnswer
from groundwire.agents.width._confident_vote import ConfidentVote
from groundwire.agents.width._parallel_refine import ParallelRefine
from groundwire.agents.width._perturb_vote import Perturbed, PerturbVote
from groundwire.agents.width._refined_best_of_n import ModelStepJudge, RefinedBestOfN
from groundwire.agents.width._round_table import RoundTable
from groundwire.agents.width._side_by_side import SideBySide
from groundwire.agents.width._strategy_router import StrategyRouter
from groundwire.agents.width.controls._drafts import BlindResampling, Fusion, Sets
from groundwire.agents.width.controls._mad_debate import MadDebate
from groundwire.agents.width.controls._self_refine import SelfRefine
from groundwire.agents.width.controls._ssr import SocraticRefine
from groundwire.core._answers import plain_answer
from groundwire.core._candidates import Candidate
from groundwire.core._contexts import Actor, ToolContext
from groundwire.core._environments import environment_task
from groundwire.core._models import Backend, Request
from groundwire.core._scene import Scene, Status
from groundwire.core._signals import CaseOutcome, CaseResult, Evidence, Observation, Signal
from groundwire.core._steps import StepRules
from groundwire.core._toolcalls import Ruling
from groundwire.graphs.library._catalogue import NAMES, builder, card
from groundwire.memory import InMemoryStore
from groundwire.models import ScriptedBackend
from groundwire.tools import AnswerCheck, Corpus, FunctionTool, RuleReviewer, Toolbox
from groundwire.tools.environments import EnvironmentTool

UNTIDY: Mapping[str, Callable[[str], str]] = {
    "as asked": lambda a: f"Six sevens.\n\nANSWER: {a}",
    "markdown": lambda a: f"### Solution\n\nSix sevens.\n\n**ANSWER:** **{a}**",
    "thinking": lambda a: f"<think>ANSWER: 41? No.</think>\nANSWER: {a}",
    "boxed": lambda a: f"So it is $\\boxed{{{a}}}$.",
    "units": lambda a: f"ANSWER: {a} apples",
    "another case": lambda a: f"final Answer: {a}",
    "trailing prose": lambda a: f"ANSWER: {a}\n\nI hope this helps! Let me know if you have questions.",
    "fenced": lambda a: f"```\nANSWER: {a}\n```",
    "a list item": lambda a: f"1. Six sevens.\n2. ANSWER: {a}.",
    "JSON": lambda a: json.dumps({"reasoning": "six sevens", "answer": a}),
    "repetition": lambda a: f"ANSWER: {a}\n\nANSWER: {a}.0",
    "Python": lambda a: f"```python\n{{'why': 'six sevens', 'answer': {a},}}\n```",
    "German, and the template's mark": lambda a: f"Sechs mal sieben.\n\n**Antwort:** {a}<|im_end|>",
    "a sentence": lambda a: f"Six sevens, so the answer is {a}.",
}
NO_ANSWER = {
    "two answers": "It is one of two.\nANSWER: 41\nANSWER: 42",
    "two boxes": "\\boxed{41} or \\boxed{42}",
    "a refusal": "I'm sorry, but I can't help with that.",
    "nothing": "It depends.",
}


class Judge(Check):
    """Passes what says 42."""

    async def judge(self, candidate: Candidate, task: Task, context: ToolContext) -> Observation:
        text = (candidate.changes.get(ANSWER) or b"").decode()
        self.judged.append(text)
        right = plain_answer(text) == "42"
        case = CaseOutcome(id="right", result=CaseResult.PASSED if right else CaseResult.FAILED)
        return Observation(
            verdict=Verdict.PASS if right else Verdict.FAIL, origin=Origin.VERIFIER, evidence=Evidence(cases=(case,))
        )


def numbered(prompt: str, rng: random.Random) -> Perturbed:
    """The same question under another number."""
    return Perturbed(f"Question {rng.randrange(10**6)}: {prompt}", lambda text: text)


TEXT = TextAnswer()
WIDE: Mapping[str, Callable[[Backend, Backend], Actor]] = {
    "parallel_refine": lambda m, _: ParallelRefine(m, TEXT, rounds=(2, 1), pass_at_1=0.0),
    "confident_vote": lambda m, _: ConfidentVote(m, TEXT, samples=3),
    "round_table": lambda m, other: RoundTable([m, other], TEXT),
    "perturb_vote": lambda m, _: PerturbVote(m, TEXT, numbered, versions=2),
    "strategy_router": lambda m, _: StrategyRouter({
        "one": ConfidentVote(m, TEXT, samples=1), "two": ConfidentVote(m, TEXT, samples=2),
        "three": ParallelRefine(m, TEXT, rounds=(1, 1)),
    }),
    "refined_best_of_n": lambda m, other: RefinedBestOfN(m, TEXT, ModelStepJudge(other), samples=2),
    "side_by_side_judge": lambda m, other: SideBySide(m, TEXT, judge=other, samples=2),
    "self_refine": lambda m, _: SelfRefine(m, TEXT, rounds=1),
    "blind_resampling": lambda m, _: BlindResampling(m, TEXT),
    "fusion": lambda m, _: Fusion(m, TEXT, drafts=2),
    "mad_debate": lambda m, _: MadDebate(m, TEXT, rounds=1),
    "sets": lambda m, _: Sets(m, TEXT, samples=2, rounds=1),
    "ssr": lambda m, _: SocraticRefine(m, TEXT, rounds=1, solves=1),
}  # fmt: skip


def author(answer: str) -> ScriptedBackend:
    """Answers so whenever it is to propose; judges, critics and moderators have nothing against it."""
    asides = {"verify": "VERDICT: correct", "judge": "STEP: none\nBEST: 1", "moderate": '{"preference": "none"}'}
    return model(lambda _request, purpose: answer if purpose == "propose" else asides.get(purpose, "Nothing."))


def other(answer: str) -> ScriptedBackend:
    return ScriptedBackend(
        lambda r: answer if r.purpose.startswith("propose") else "STEP: none\nBEST: 1", model="another"
    )


def wide_graph(name: str, answer: str, judge: Judge) -> tuple[ScriptedBackend, FeedbackGraph]:
    backend = author(answer)
    options = {} if card(name).grounded else {"allow_ungrounded": True}
    return backend, builder(name)(WIDE[name](backend, other(answer)), judge, **options)


@pytest.mark.parametrize("name", WIDE)
async def test_a_right_answer_in_any_form_gives_the_same_end(name: str) -> None:
    ends: set[tuple[object, ...]] = set()
    for form in UNTIDY.values():
        judge = Judge()
        backend, graph = wide_graph(name, form("42"), judge)
        got = await ran(graph, judge)
        ends.add((got.result.stop_reason, got.result.verdict, len(judge.judged), tuple(purposes(backend))))
        assert plain_answer(judge.judged[0]) == "42" and "*" not in judge.judged[0] and "\\" not in judge.judged[0]
    assert {end[:2] for end in ends} == {(StopReason.VERIFIED, Verdict.PASS)} and len(ends) == 1


@pytest.mark.parametrize("name", WIDE)
async def test_two_answers_or_a_refusal_are_no_answer_and_it_is_said(name: str) -> None:
    said = {"two answers": "different answers", "two boxes": "different answers", "a refusal": "a refusal"}
    for kind, text in NO_ANSWER.items():
        judge = Judge()
        _, graph = wide_graph(name, text, judge)
        got = await ran(graph, judge)
        assert not judge.judged and not any(isinstance(record, Signal) for record in got.records)
        assert got.result.stop_reason is StopReason.EXHAUSTED and got.result.verdict is Verdict.NONE
        assert "No answer" in got.result.detail and said.get(kind, "no answer") in got.result.detail


@pytest.mark.parametrize("name", [n for n in WIDE if n != "strategy_router"])
async def test_five_spellings_of_one_wrong_answer_are_one_trial(name: str) -> None:
    spelled = ["1000", "1,000", "$1000$", "1000.0", "1000 dollars", "\\boxed{1{,}000}"]
    given = iter(spelled * 100)

    def answers(_request: Request, purpose: str) -> str:
        return f"ANSWER: {next(given)}" if purpose == "propose" else "STEP: none"

    judge = Judge()
    options = {} if card(name).grounded else {"allow_ungrounded": True}
    another = ScriptedBackend(lambda r: answers(r, r.purpose.partition(".")[0]), model="another")
    graph = builder(name)(WIDE[name](model(answers), another), judge, **options)
    result = await graph.compile(store=InMemoryStore(), budget=Budget(trials=6)).arun(QUESTION)
    assert len(judge.judged) == 1 and result.stop_reason is StopReason.STUCK


TOOL_FORMS: Mapping[str, Callable[[str], str]] = {
    "as asked": lambda a: json.dumps({"answer": a}),
    "a number": lambda a: json.dumps({"answer": int(a)}),
    "fenced": lambda a: f"```json\n{json.dumps({'answer': a})}\n```",
    "thinking": lambda a: f'<think>{{"answer": "41"}}</think>{json.dumps({"answer": a})}',
    "boxed": lambda a: json.dumps({"answer": f"\\boxed{{{a}}}"}),
    "markdown": lambda a: json.dumps({"answer": f"**{a}**"}),
    "trailing prose": lambda a: f"{json.dumps({'answer': a})}\n\nI hope this helps!",
    "a list item": lambda a: f"- {json.dumps({'answer': a})}",
    "repetition": lambda a: f"{json.dumps({'answer': a})}\n{json.dumps({'answer': a})}",
    "a sentence": lambda a: f"So the final answer is **{a}**.",
    "a mark": lambda a: f"Both are known.\n\n**Answer:** {a}",
}


def with_tools(name: str, text: str) -> tuple[FeedbackGraph, Task]:
    task = Task(id="asked", prompt="How many bolts are there?")
    check = AnswerCheck(lambda answer: answer == "42" or "no")
    backend = ScriptedBackend(lambda _request: text)
    if name == "search_judge":

        def says(request: Request) -> str:
            found = any("<output id=" in message.content for message in request.messages)
            return text if found else '{"tool": "search", "arguments": {"query": "bolts"}}'

        corpus = Corpus(["There are 42 bolts in all."])
        return builder(name)(ScriptedBackend(says), corpus.tool(k=1), check=check, form="text"), task

    def throw() -> None:
        """Throws all bolts away."""

    tools = Toolbox(FunctionTool(throw, irreversible=True))
    actor = ToolActor(backend, tools.specs, form="text")
    reviewers = (RuleReviewer(lambda call: Ruling(True)),) if name == "preflight" else ()
    return builder(name)(actor, tools, check, *reviewers), task


@pytest.mark.parametrize("name", ["tool_recovery", "preflight", "search_judge"])
async def test_graphs_with_tools_read_an_answer_in_any_form(name: str) -> None:
    for form, write in TOOL_FORMS.items():
        graph, task = with_tools(name, write("42"))
        result = await graph.compile(store=InMemoryStore()).arun(task)
        assert result.stop_reason is StopReason.VERIFIED, form
    for text in ('{"answer": "41"} {"answer": "42"}', "ANSWER: 41\nANSWER: 42", "I'm sorry, I can't do that."):
        graph, task = with_tools(name, text)
        result = await graph.compile(store=InMemoryStore()).arun(task)
        assert (result.stop_reason, result.patch) == (StopReason.MODEL_ERROR, "")
        said = str(result.error)
        assert "no step that could be read" in said and ("differ" in said or "refusal" in said)


ACTION_FORMS = (
    "Action: east", "**Action:** east", "Action: **East**.", "<think>Action: west</think>Action: east", "ACTION: EAST",
    "```\nAction: east\n```", "- Action: east", "Thought: on.\nAction: `east`", '{"thought": "on", "action": "east"}',
    "Action: east\n\nAction: east", "> east", 'Action: "east"', "I will go east.",
)  # fmt: skip


class Crossings:
    """Won at the second crossing to the east; what is no way is a loss."""

    def __init__(self) -> None:
        self.passed = 0

    def reset(self, seed: int) -> Scene:
        self.passed = 0
        return Scene("a crossing", actions=("east", "west"))

    def act(self, action: str) -> Scene:
        self.passed += 1
        if action != "east":
            return Scene("a swamp", Status.LOST)
        return Scene("there", Status.WON) if self.passed == 2 else Scene("another", actions=("east", "west"))

    def close(self) -> None: ...


@pytest.mark.parametrize("name", ["episodic", "trajectory_factory"])
async def test_worlds_are_acted_in_by_actions_in_any_form(name: str) -> None:
    task = environment_task(Crossings(), id="crossings", prompt="Walk on.")
    for text in ACTION_FORMS:
        backend = ScriptedBackend(lambda _r, text=text: text)
        policy = ReActActor(backend, remembers="nothing")
        if name == "episodic":
            graph = builder(name)(policy, EpisodeCritic(backend), Crossings)
        else:
            graph = builder(name)(policy, EnvironmentTool(Crossings))
        result = await graph.compile(store=InMemoryStore(), budget=Budget(trials=1)).arun(task)
        assert result.stop_reason is StopReason.VERIFIED, text


STEPS = "six\nseven\nforty-two\n"
STEP_FORMS = (
    STEPS, f"```\n{STEPS}```", f"<think>six\nnine</think>\n{STEPS}", f"Here are the steps:\n\n{STEPS}",
    f"Sure! Here is what you asked for:\n```text\n{STEPS}```\nLet me know!",
)  # fmt: skip


async def test_steps_are_read_in_any_form() -> None:
    rules = StepRules(lambda steps: "" if steps[-1] in STEPS.splitlines(keepends=True) else "no such step")
    for text in STEP_FORMS:
        graph = builder("verified_steps")(ScriptedBackend([text]), rules, path=ANSWER)
        result = await graph.compile(store=InMemoryStore()).arun(QUESTION)
        assert result.stop_reason is StopReason.VERIFIED and result.best is not None
        assert (result.best.candidate.changes[ANSWER] or b"").decode().rstrip("\n") == STEPS.rstrip("\n"), text


@pytest.mark.parametrize(
    "text", ["42", "```\n42\n```", "<think>41</think>42", "Here is the next step:\n42", "Continuing:\n42", "42\n\n43"]
)
async def test_a_beam_takes_one_step_in_any_form(text: str) -> None:
    judge = Judge()
    actor = StepBeamActor(NextStep(ScriptedBackend([text]), ANSWER, stop="\n\n"), samples=1)
    graph = builder("step_beam")(actor, judge, depth=1)
    result = await graph.compile(store=InMemoryStore()).arun(QUESTION)
    assert judge.judged == ["42\n\n"] and result.stop_reason is StopReason.VERIFIED


def test_every_graph_is_here_or_is_told_of_elsewhere() -> None:
    elsewhere = {
        "code_repair": "tests/agents/test_odd_replies_in_a_loop.py",
        "correction_memory": "its actor is any of the others; its judge is a person",
        "plan_ahead": "tests/graphs/library/test_plan_ahead.py",
    }
    here = {*WIDE, "tool_recovery", "preflight", "search_judge", "episodic", "trajectory_factory", "verified_steps"}
    assert here | {"step_beam"} | elsewhere.keys() == set(NAMES)
