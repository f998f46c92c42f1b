"""A step of a long episode costs what a step of a short one does: what is looked at is counted, never timed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from guessing import Check, answer, no_verdict

from groundwire import Budget, FeedbackGraph, Task, Verdict
from groundwire.core._candidates import Candidate
from groundwire.core._contexts import ActorContext, Judged
from groundwire.core._signals import NoVerdict, Signal
from groundwire.graphs.build._declarations import Rules
from groundwire.graphs.run._history import FirstKeys, JudgedSoFar, Part
from groundwire.memory import InMemoryStore


class Reads:
    """Counts how often fields of signals are read in the package's own code."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        plain: Callable[[Any, str], Any] = Signal.__getattribute__

        def counted(signal: Any, name: str) -> Any:
            self.count += name in ("origin", "verdict", "trial", "candidate_digest", "id")
            return plain(signal, name)

        monkeypatch.setattr(Signal, "__getattribute__", counted)


class Going:
    """An actor whose answer grows by a line, or is another one; it notes how much was read by then."""

    def __init__(self, reads: Reads, *, appends: bool) -> None:
        self.reads = reads
        self.appends = appends
        self.at: list[int] = []
        self.given: list[tuple[int, int]] = []

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        self.at.append(self.reads.count)
        self.given.append((len(context.judged), len(context.tried)))
        number = len(self.at)
        text = "".join(f"{i}\n" for i in range(number)) if self.appends else f"{number}"
        return [answer(context.task, text)]


def app(actor: Going, *, appends: bool, upto: int) -> Any:
    check = Check(override=(lambda _text: no_verdict(NoVerdict.GO_ON)) if appends else lambda _text: None)
    graph = FeedbackGraph().add_actor("write", actor).add_tool("test", check).add_edge("write", "test")
    graph = graph.advance("test", to="write") if appends else graph.refine("test", to="write")
    budget = Budget(trials=upto, steps=upto)
    return graph.compile(store=InMemoryStore(), budget=budget, rules=Rules(repeats=None, actions=None))


@pytest.mark.parametrize("appends", [True, False], ids=["steps", "trials"])
async def test_as_much_is_read_in_the_300th_step_as_in_the_30th(
    task: Task, monkeypatch: pytest.MonkeyPatch, appends: bool
) -> None:
    actor = Going(Reads(monkeypatch), appends=appends)
    result = await app(actor, appends=appends, upto=300).arun(task)
    assert len(actor.at) == 300, (result.stop_reason, result.detail)
    in_a_step = [after - before for before, after in zip(actor.at, actor.at[1:], strict=False)]
    early, late = sum(in_a_step[20:40]) / 20, sum(in_a_step[-20:]) / 20
    assert late <= 1.1 * early, (early, late)
    assert actor.given[-1] == ((299 if appends else 1), 300)


def judged(trial: int, name: str, issuer: str = "test", verdict: Verdict = Verdict.FAIL) -> Judged:
    signal = Signal.model_construct(id=f"{trial}{name}{verdict}", trial=trial, issuer=issuer, candidate_digest=name)
    return Judged(Candidate("base", {name: b""}), signal)


def names(part: Sequence[Judged]) -> list[str]:
    return [j.signal.candidate_digest for j in part]


def test_what_somebody_was_given_stays_as_it_was() -> None:
    so_far = JudgedSoFar()
    for one in (judged(0, "base"), judged(1, "a"), judged(1, "b")):
        so_far.add(one)
    of, until = so_far.of(1), so_far.until(1)
    again = judged(1, "a", verdict=Verdict.PASS)
    so_far.add(again)
    so_far.add(judged(2, "c"))
    assert (names(of), names(until)) == (["a", "b"], ["base", "a", "b"]) and of[0].signal.id == "1afail"
    assert so_far.of(1)[0] is again and names(so_far.until(1)) == ["base", "a", "b"], "a second look takes its place"
    so_far.add(judged(1, "late"))
    assert names(so_far.until(2)) == ["base", "a", "b", "late", "c"] and names(so_far.of(2)) == ["c"]
    assert so_far.of(1)[0] is again and names(so_far.of(7)) == [] and names(so_far.until(0)) == ["base"]


def test_parts_and_first_keys_are_what_they_stand_for() -> None:
    whole = [1, 2, 3, 4]
    part = Part(whole, 1, 3)
    assert list(part) == [2, 3] and part == (2, 3) and part[-1:] == (3,) and part[0] == 2 and 4 not in part
    with pytest.raises(IndexError):
        part[2]
    numbers = {"a": 0, "b": 1}
    keys = FirstKeys(numbers, 2)
    numbers["c"] = 2
    assert set(keys) == {"a", "b"} and "c" not in keys and len(keys) == 2 and keys == {"a", "b"}
    one_by_one = iter(keys)
    assert next(one_by_one) == "a"
    numbers["d"] = 3
    assert next(one_by_one) == "b"
    assert keys - {"a"} == frozenset({"b"}) and keys | {"z"} == frozenset({"a", "b", "z"})
