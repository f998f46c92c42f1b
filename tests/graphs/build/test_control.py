"""The control arm: what an actor is told there, what it may use, and of which graphs it can be made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from guessing import Check, Guesser, Noter, answer, loop

from groundwire import Budget, FeedbackGraph, StopReason, Task
from groundwire.agents.patching._variants import BlindActor
from groundwire.agents.search import SearchActor
from groundwire.core._candidates import Candidate
from groundwire.core._contexts import ActorContext
from groundwire.core._errors import GraphError
from groundwire.core._models import Message, Request
from groundwire.core._records import ModelCall, Recall, ReflectionRecord, TrialRecord
from groundwire.core._traits import Needs
from groundwire.graphs.build._control import (
    CONTROL_RULES,
    EpisodeUsage,
    allowance_of,
    control_budget,
    resampling_of,
    spent_by,
)
from groundwire.graphs.run._gate import GateKind
from groundwire.memory import InMemoryStore
from groundwire.models._scripted import ScriptedBackend


@dataclass
class Sampler:
    """An actor that asks a model for a word, and remembers what it was given."""

    backend: ScriptedBackend
    seen: list[ActorContext] = field(default_factory=list[ActorContext])

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        self.seen.append(context)
        asked = Message(role="user", content="a word of forty bytes: ................")
        seed = context.seed + 4096 * context.trial
        request = Request(messages=(asked,), n=n, seed=seed, max_tokens=10, purpose="propose")
        completion = await context.call(self.backend, request)
        return [answer(context.task, text) for text in completion.texts]


def reflexion(actor: object, *, baseline: bool = False) -> FeedbackGraph:
    """With a critic, and the baseline judged first where it is wanted."""
    graph = loop(actor, Check(), Noter())  # pyright: ignore[reportArgumentType]  any actor does
    if baseline:
        graph.add_tool("baseline", Check())
        graph.set_entry("baseline")
        graph.refine("baseline", to="write")
    return graph


async def run(graph: FeedbackGraph, task: Task, store: InMemoryStore, budget: Budget, *, control: bool = False):
    rules = CONTROL_RULES if control else None
    result = await graph.compile(store=store, budget=budget, rules=rules).arun(task, seed=5)
    return result, await store.records(result.episode_id)


async def test_a_model_s_control_makes_first_tries_at_equal_tokens(task: Task) -> None:
    store = InMemoryStore()
    sampler = Sampler(ScriptedBackend(lambda request: f"wrong {(request.seed or 0) % 3}"))
    main, records = await run(reflexion(sampler, baseline=True), task, store, Budget(trials=3))
    spent = spent_by(records)
    assert (main.stop_reason, spent.candidates, spent.by_model) == (StopReason.BUDGET_TRIALS, 3, True)
    assert spent.tokens == main.tokens > 0
    first, sampler.seen = sampler.seen[0], []

    graph = resampling_of(reflexion(sampler, baseline=True), spent)
    control, drawn = await run(graph, task, store, control_budget(Budget(trials=3), spent), control=True)
    calls = [r for r in drawn if isinstance(r, ModelCall)]
    one = control.tokens // len(calls)
    assert spent.tokens <= control.tokens < spent.tokens + one, "it begins a try while it has used fewer"
    assert control.stop_reason in (StopReason.BUDGET_TOKENS, StopReason.STUCK)
    assert not any(isinstance(r, ReflectionRecord | Recall) for r in drawn)
    assert all(not r.lessons for r in drawn if isinstance(r, TrialRecord))
    for told in sampler.seen:
        assert (told.tree, told.escalation, told.reflection, told.lessons) == (first.tree, 0, None, ())
        assert told.tried == frozenset(), "what was drawn before may be drawn again"
        assert told.failing is not None and told.failing.candidate.is_base and told.judged == (told.failing,)
    # the same three words come again and again; each draw is by another seed, the first by the other arm's
    assert len({(told.seed, told.trial) for told in sampler.seen}) == len(sampler.seen)
    assert (sampler.seen[0].seed, sampler.seen[0].trial) == (first.seed, first.trial)


async def test_a_control_may_use_what_an_episode_that_succeeded_might_have_used(task: Task) -> None:
    """Held to what was used, equal policies would differ: the control would end wherever the other arm had success."""
    store = InMemoryStore()
    sampler = Sampler(ScriptedBackend(lambda request: "right" if request.seed == 5 + 4096 * 2 else "wrong"))
    main, records = await run(reflexion(sampler), task, store, Budget(trials=8))
    spent = spent_by(records)
    assert (main.stop_reason, main.trials) == (StopReason.VERIFIED, 2)
    allowed = allowance_of(records, Budget(trials=8))
    assert (allowed.tokens, allowed.candidates, allowed.first_call) == (4 * spent.tokens, 8, spent.first_call)
    assert allowance_of(records, Budget(trials=8, tokens=spent.tokens + 1)).tokens == spent.tokens + 1
    assert allowance_of(records, Budget(trials=2)) == spent, "all that there was has been used"
    assert allowance_of([], Budget()) == EpisodeUsage()


async def test_it_stops_at_its_first_pass(task: Task) -> None:
    sampler = Sampler(ScriptedBackend(["wrong", "wrong 2", "right", "never asked"]))
    graph = resampling_of(reflexion(sampler), EpisodeUsage(tokens=1000, first_call=30, candidates=9))
    result, _ = await run(graph, task, InMemoryStore(), Budget(trials=100), control=True)
    assert (result.stop_reason, result.trials, sampler.backend.left) == (StopReason.VERIFIED, 3, 1)


async def test_without_a_model_it_judges_as_many_candidates_and_is_told_only_which(task: Task) -> None:
    guesser = Guesser([["a", "b"], ["c", "d"], ["e", "f"]])
    graph = resampling_of(reflexion(guesser), EpisodeUsage(candidates=3))
    result, records = await run(graph, task, InMemoryStore(), Budget(trials=100), control=True)
    assert (result.stop_reason, spent_by(records).candidates) == (StopReason.EXHAUSTED, 3)
    second = guesser.seen[1]
    assert answer(task, "a").digest in second.tried
    assert (second.best, second.failing, second.judged, second.reflection) == (None, None, (), None)


@pytest.mark.parametrize(("limit", "asked"), [(0, 0), (1, 1), (5, 1)])
async def test_what_an_actor_is_asked_for_is_never_more_than_is_left(task: Task, limit: int, asked: int) -> None:
    guesser = Guesser([["a"]])
    blind = BlindActor(guesser, samples=False, width=1, candidates=limit)
    context = ActorContext(task, task.tree, call=None, tried=frozenset({Candidate(task.tree.digest, {}).digest}))  # pyright: ignore[reportArgumentType]  no model is called
    assert len(await blind.propose(context, 9)) == asked


def test_needs_are_the_actor_s_without_memory() -> None:
    needs = BlindActor(SearchActor(), samples=False, width=1).traits.needs
    assert needs == Needs(coverage=True, edit_statistics=False, lessons=0)


def test_the_control_of_a_graph_keeps_its_wiring_and_leaves_the_graph_as_it_is(task: Task) -> None:
    graph = reflexion(Guesser([["a"]]), baseline=True)
    control = resampling_of(graph, EpisodeUsage(candidates=3))
    assert set(control.parts.names) == {"write", "test", "baseline"} and "reflect" in graph.parts.critics
    assert control.parts.gates == {(tool, GateKind.REFINE): (None, "write") for tool in ("test", "baseline")}
    assert not isinstance(graph.parts.actors["write"].actor, BlindActor)
    control.compile()


def test_a_graph_with_nodes_of_its_own_has_no_blind_control() -> None:
    graph = reflexion(Guesser([["a"]]))
    graph.add_node("tell", lambda _state: {}, role="pure")
    graph.add_edge("tell", "write")
    with pytest.raises(GraphError, match="blind control can't be made"):
        resampling_of(graph, EpisodeUsage())


def test_the_budget_is_the_other_arm_s_but_for_trials_and_tokens() -> None:
    budget = Budget(trials=3, tokens=50, usd=1.0, seconds=9)
    by_model = control_budget(budget, EpisodeUsage(tokens=100, first_call=30, candidates=3))
    assert (by_model.tokens, by_model.usd, by_model.seconds) == (129, 1.0, 9)
    assert by_model.trials > 1000 and control_budget(budget, EpisodeUsage(candidates=3)).tokens is None
