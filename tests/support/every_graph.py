"""Every ready-made graph with one model, small: for tests that run each of them once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from guessing import Check
from wide import QUESTION
from worlds import Corridor, Porch

from groundwire import Budget, EpisodeResult, FeedbackGraph, Origin, Task
from groundwire.agents import LLMActor, LLMCritic, ToolActor
from groundwire.agents.patching._llm_critic import Distiller
from groundwire.agents.steps._step_beam import NextStep, StepBeamActor
from groundwire.agents.width._answers import TextAnswer
from groundwire.agents.width._confident_vote import ConfidentVote
from groundwire.agents.width._parallel_refine import ParallelRefine
from groundwire.agents.width._perturb_vote import PerturbVote, relabelled_digits
from groundwire.agents.width._refined_best_of_n import ModelStepJudge, RefinedBestOfN
from groundwire.agents.width._round_table import RoundTable
from groundwire.agents.width._sampling import SampledAnswer
from groundwire.agents.width._side_by_side import SideBySide
from groundwire.agents.width._strategy_router import StrategyRouter
from groundwire.agents.width.controls._drafts import BlindResampling, Fusion, Sets
from groundwire.agents.width.controls._mad_debate import MadDebate
from groundwire.agents.width.controls._self_refine import SelfRefine
from groundwire.agents.width.controls._ssr import SocraticRefine
from groundwire.agents.worlds import EpisodeCritic, LLMForesight, LookaheadActor, ReActActor
from groundwire.core._candidates import Candidate
from groundwire.core._contexts import Actor, ActorContext
from groundwire.core._environments import environment_task
from groundwire.core._models import Backend, Completion, Request
from groundwire.core._records import Record
from groundwire.core._steps import StepRules
from groundwire.core._toolcalls import Ruling
from groundwire.core._traits import BackendTraits
from groundwire.graphs.library._catalogue import builder, card
from groundwire.memory import InMemoryStore
from groundwire.tools import AnswerCheck, Corpus, FunctionTool, HiddenTests, RuleReviewer, Toolbox
from groundwire.tools.environments import EnvironmentTool
from groundwire.tools.environments.worlds._fiction_search import PASSAGES, QUESTIONS

__all__ = ["EveryGraph", "Named", "Run", "once"]

WORDS = 8
"""Tokens of an answer: what a small model says in them is hardly ever right, and that is for the checks to say."""


class AnyText(TextAnswer):
    """Takes a text without an `ANSWER:` line for the answer as it is: eight words of a small model hold none."""

    def read(self, text: str, context: ActorContext) -> SampledAnswer | None:
        return super().read(text, context) or super().read(f"ANSWER: {text}", context)


TEXT = AnyText()
TERSE = StepRules(lambda steps: "too many words" if len(steps[-1].split()) > 12 else "")
ASKED = Task(id="asked", prompt=QUESTIONS[0].text)
Actors = Callable[[Backend, Backend], Actor]


@dataclass(frozen=True)
class Named:
    """The same model under another name, where a graph wants two, or with less to say than a graph allows.

    Args:
        backend: the model.
        model: the name.
        traits: see `Backend`.
        most_tokens: of an answer.
    """

    backend: Backend
    model: str
    traits: BackendTraits = field(default_factory=BackendTraits)
    most_tokens: int = 512

    async def complete(self, request: Request) -> Completion:
        return await self.backend.complete(self._shorter(request))

    async def complete_many(self, requests: Sequence[Request]) -> Sequence[Completion]:
        return await self.backend.complete_many([self._shorter(request) for request in requests])

    def _shorter(self, request: Request) -> Request:
        return request.model_copy(update={"max_tokens": min(request.max_tokens, self.most_tokens)})

    def price(self, request: Request) -> float | None:
        return self.backend.price(request)


@dataclass(frozen=True)
class Run:
    """A graph, what it works on, how far it may go, and where its signals may come from."""

    graph: FeedbackGraph
    task: Task
    budget: Budget
    origins: frozenset[Origin]


WIDE: Mapping[str, tuple[Actors, int]] = {
    "parallel_refine": (lambda m, _: ParallelRefine(m, TEXT, rounds=(1, 1), workspace_tokens=100, max_tokens=WORDS), 1),
    "confident_vote": (lambda m, _: ConfidentVote(m, TEXT, samples=2, warm_up=2, max_tokens=WORDS), 1),
    "round_table": (lambda m, other: RoundTable([m, other], TEXT, rounds=1, max_tokens=WORDS), 1),
    "perturb_vote": (lambda m, _: PerturbVote(m, TEXT, relabelled_digits, versions=1, max_tokens=WORDS), 1),
    "strategy_router": (
        lambda m, _: StrategyRouter({
            "vote": ConfidentVote(m, TEXT, samples=1, warm_up=1, max_tokens=WORDS),
            "think": ParallelRefine(m, TEXT, rounds=(1, 1), workspace_tokens=100, max_tokens=WORDS),
        }),
        2,
    ),
    "refined_best_of_n": (
        lambda m, other: RefinedBestOfN(m, TEXT, ModelStepJudge(other, max_tokens=WORDS), samples=1, max_tokens=WORDS),
        2,
    ),
    "side_by_side_judge": (lambda m, other: SideBySide(m, TEXT, judge=other, samples=2, max_tokens=WORDS), 1),
    "self_refine": (lambda m, _: SelfRefine(m, TEXT, rounds=1, max_tokens=WORDS), 1),
    "blind_resampling": (lambda m, _: BlindResampling(m, TEXT, max_tokens=WORDS), 2),
    "fusion": (lambda m, _: Fusion(m, TEXT, drafts=2, max_tokens=WORDS), 1),
    "mad_debate": (lambda m, _: MadDebate(m, TEXT, rounds=1, max_tokens=WORDS), 1),
    "sets": (lambda m, _: Sets(m, TEXT, samples=1, rounds=1, max_tokens=WORDS), 1),
    "ssr": (lambda m, _: SocraticRefine(m, TEXT, rounds=1, solves=1, max_tokens=WORDS), 1),
}  # fmt: skip


@dataclass
class EveryGraph:
    """Builds them; remembers what was done that can't be undone.

    Args:
        model: answers everything.
        trials: of each.
        form: how tools are named.
    """

    model: Backend
    trials: int = 1
    form: Literal["auto", "schema"] = "schema"
    thrown: list[str] = field(default_factory=list[str])

    def run(self, name: str) -> Run:
        """One graph, ready to be compiled."""
        graph, task, steps = self._wide(name) if name in WIDE else getattr(self, f"_{name}")()
        origins = set(card(name).origins) | {Origin.RULE} if card(name).grounded else {Origin.VERIFIER, Origin.RULE}
        return Run(graph, task, Budget(trials=self.trials, steps=steps), frozenset(origins | {Origin.VERIFIER}))

    def _wide(self, name: str) -> tuple[FeedbackGraph, Task, int]:
        actor, width = WIDE[name]
        options = {} if card(name).grounded else {"allow_ungrounded": True}
        made = actor(self.model, Named(self.model, "another"))
        return builder(name)(made, Check(["42"]), width=width, **options), QUESTION, 1

    def _code_repair(self) -> tuple[FeedbackGraph, Task, int]:
        actor = LLMActor(self.model, answer="whole", max_tokens=WORDS, context_tokens=200, repairs=0, resamples=0)
        critic = LLMCritic(self.model, max_tokens=WORDS, context_tokens=200)
        return builder("code_repair")(actor, critic, Check(["42"]), HiddenTests()), QUESTION, 1

    def _correction_memory(self) -> tuple[FeedbackGraph, Task, int]:
        actor = StepBeamActor(NextStep(self.model, "answer.txt", max_tokens=WORDS), samples=1)
        distil = Distiller(self.model)

        def ask(candidate: Candidate, task: Task) -> str:
            return "More joy."

        return builder("correction_memory")(actor, ask, distil=distil), QUESTION, 1

    def _episodic(self) -> tuple[FeedbackGraph, Task, int]:
        task = environment_task(Corridor(), id="corridor", prompt="Walk on.")
        actor = ReActActor(self.model, max_tokens=12)
        return builder("episodic")(actor, EpisodeCritic(self.model), Corridor), task, 1

    def _trajectory_factory(self) -> tuple[FeedbackGraph, Task, int]:
        task = environment_task(Corridor(), id="corridor", prompt="Walk on.")
        policy = ReActActor(self.model, remembers="nothing", max_tokens=12)
        return builder("trajectory_factory")(policy, EnvironmentTool(Corridor), ways=2), task, 1

    def _plan_ahead(self) -> tuple[FeedbackGraph, Task, int]:
        actor = LookaheadActor(LLMForesight(self.model, max_tokens=16), depth=1, width=1, simulations=1)
        return builder("plan_ahead")(actor, Porch), environment_task(Porch(), id="porch", prompt="Get in."), 1

    def _verified_steps(self) -> tuple[FeedbackGraph, Task, int]:
        graph = builder("verified_steps")(self.model, TERSE, path="answer.txt", corrections=0, max_tokens=24)
        return graph, QUESTION, 1

    def _step_beam(self) -> tuple[FeedbackGraph, Task, int]:
        actor = StepBeamActor(NextStep(self.model, "answer.txt", max_tokens=WORDS), samples=2)
        return builder("step_beam")(actor, Check(("zzz",)), depth=2), QUESTION, 1

    def _tool_recovery(self) -> tuple[FeedbackGraph, Task, int]:
        def count(store: Literal["north", "south"]) -> int:
            """Bolts in a store."""
            return {"north": 20, "south": 22}[store]

        tools = Toolbox(count)
        return builder("tool_recovery")(self._tool_user(tools), tools, self._answer), ASKED, 2

    def _preflight(self) -> tuple[FeedbackGraph, Task, int]:
        def throw(store: Literal["north", "south"]) -> None:
            """Throws all bolts of a store away."""
            self.thrown.append(store)

        tools = Toolbox(FunctionTool(throw, irreversible=True))
        veto = RuleReviewer(lambda call: Ruling(False, "bolts are kept", "answer 42"))
        return builder("preflight")(self._tool_user(tools), tools, self._answer, veto), ASKED, 2

    def _search_judge(self) -> tuple[FeedbackGraph, Task, int]:
        return builder("search_judge")(self.model, Corpus(PASSAGES).tool(k=1), form=self.form), ASKED, 4

    def _tool_user(self, tools: Toolbox) -> ToolActor:
        return ToolActor(self.model, tools.specs, form=self.form, max_tokens=24, repairs=0, resamples=0)

    _answer = AnswerCheck(lambda answer: "42" in answer)


async def once(run: Run) -> tuple[EpisodeResult, Sequence[Record]]:
    """Runs it, and again from its ledger, in which nobody is asked and all comes out the same."""
    app = run.graph.compile(store=InMemoryStore(), budget=run.budget)
    result = await app.arun(run.task)
    records = await app.store.records(result.episode_id)
    replayed = await app.areplay(run.task, run_id=result.run_id, episode_id=result.episode_id)
    assert replayed.difference is None and replayed.seals_verified
    return result, records
