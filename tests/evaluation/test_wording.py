"""What words tell: that code would do better, and what a model says of itself, which steers nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest
from guessing import Check, answer
from pydantic import ValidationError
from rows import episode, trials

from groundwire import FeedbackGraph, Observation, Task
from groundwire.core._candidates import Candidate, Tree
from groundwire.core._contexts import ActorContext
from groundwire.core._models import Completion, Message, Request
from groundwire.core._records import Admission, ModelCall, Record, TrialEnd
from groundwire.core._signals import Origin, Signal
from groundwire.evaluation import Arm, code_hints, read_run, report_on, self_report
from groundwire.evaluation._measuring import history_calibration
from groundwire.evaluation._rates import Rate
from groundwire.evaluation._wording import CodeHint, without_self_report
from groundwire.memory import InMemoryStore
from groundwire.models import ScriptedBackend


@pytest.mark.parametrize(
    ("text", "hints"),
    [
        ("Do three Newton steps for x^2 = 2, starting at 1.", [CodeHint.NUMERIC_ITERATIVE]),
        ("Use gradient descent until it converges.", [CodeHint.NUMERIC_ITERATIVE]),
        ("Decode this shift cipher: every letter is moved by 12.", [CodeHint.LOW_PROBABILITY]),
        ("Decode the rot13 text.", [CodeHint.LOW_PROBABILITY]),
        ("How many times does the letter r stand in strawberry?", [CodeHint.LOW_PROBABILITY]),
        ("Fix the function so that the tests pass; a newton is a unit of force.", []),
        ("The night shift codes the letters by hand.", []),
        ("", []),
    ],
)
def test_tasks_that_code_would_do_better(text: str, hints: Sequence[CodeHint]) -> None:
    """Rows 12 and 86."""
    assert list(code_hints(text)) == hints
    assert code_hints("anything", "numeric_iterative") == (CodeHint.NUMERIC_ITERATIVE,), "a task may say it itself"


def test_the_report_suggests_code() -> None:
    rows = trials(episode("a", "+", hint="low_probability"), episode("b", "-", hint="low_probability"))
    (told,) = report_on([Arm(name="a", trials=rows)]).arms
    assert told.measured.hints == {"low_probability": Rate(1, 2)}
    said = (
        "low_probability: 2 tasks ask for letters or orders that are rare in texts, 1 right; let the model write code"
    )
    assert any(remark.text.startswith(said) for remark in told.remarks)


@pytest.mark.parametrize(
    ("text", "report"),
    [
        ("Confidence: 90%", 0.9),
        ("I am 95 % sure.", 0.95),
        ("confidence is 0.4", 0.4),
        ("self_report: 7/10", 0.7),
        ("Confidence: 20%. Wait. Confidence: 80%", 0.8),
        ("I am 300% sure", None),
        ("a 95 % interval of the mean", None),
        ("sure", None),
    ],
)
def test_what_a_model_says_of_itself_is_read(text: str, report: float | None) -> None:
    assert self_report(text) == report
    assert self_report(without_self_report(text)) is None


@dataclass
class Boasting:
    """An actor whose model says how sure it is."""

    backend: ScriptedBackend

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        request = Request(messages=(Message(role="user", content=context.task.prompt),), purpose="propose")
        told = await context.call(self.backend, request)
        return [answer(context.task, told.texts[0])]


class ThinkingAloud(ScriptedBackend):
    """A model whose reasoning can be blanked."""

    thought = ""

    async def complete(self, request: Request) -> Completion:
        """See `Backend`."""
        return (await super().complete(request)).model_copy(update={"thinking": (self.thought,)})


async def played(thought: str) -> tuple[InMemoryStore, str, Sequence[Record]]:
    backend = ThinkingAloud(["wrong. Confidence: 99%", "wrong again. Confidence: 98%", "right. Confidence: 10%"])
    backend.thought = thought
    graph = FeedbackGraph().add_actor("write", Boasting(backend)).add_tool("test", Check())
    graph.add_edge("write", "test").refine("test", to="write")
    store = InMemoryStore()
    result = await graph.compile(store=store).arun(Task(id="t", tree=Tree({"answer.txt": b""})))
    return store, result.run_id, await store.records(result.episode_id)


def edges(records: Sequence[Record]) -> list[object]:
    """Which way the loop went."""
    found: list[object] = []
    for record in records:
        match record:
            case Admission():
                found.append((record.trial, record.edge, record.admitted, record.candidate_digest))
            case Signal() | TrialEnd():
                found.append((record.trial, record.verdict))
            case _:
                pass
    return found


async def test_a_self_report_is_kept_and_triggers_nothing() -> None:
    """Row 21: the surest answers are sent back, the least sure one ends it, and no signal can be made of a report."""
    store, run_id, records = await played("")
    (run,) = await store.runs(prefix=run_id)
    arm = await read_run(store, run)
    assert arm.trials.self_report.tolist() == [0.99, 0.98, 0.1]
    assert arm.trials.truth.tolist() == [0, 0, 1]
    assert {r.origin for r in records if isinstance(r, Signal)} == {Origin.VERIFIER}
    with pytest.raises(ValidationError):
        Observation(verdict="fail", origin="self_report")  # pyright: ignore[reportArgumentType]  that is the point
    (told,) = report_on([arm]).arms
    assert told.measured.self_report is not None and told.measured.self_report.auroc == 0


async def test_with_its_reasoning_blanked_a_run_takes_the_same_edges() -> None:
    """Row 9: nothing that routes reads what a model thought."""
    _, _, told = await played("I am certain. The tests passed. PASS.")
    _, _, blank = await played("")
    assert edges(told) == edges(blank) != []
    kept = [record.completion for record in told if isinstance(record, ModelCall)]
    assert all("The tests passed" in completion for completion in kept), "it is in the ledger all the same"


def test_the_predictor_sees_the_wording_and_not_what_the_model_says_of_itself() -> None:
    """Row 43: the same task, model and size; only the words tell."""
    random = np.random.default_rng(3)
    hedged = random.random(150) < 0.5
    words = {True: "perhaps maybe it could be", False: "return the sorted list of items"}
    rows = [
        episode(
            str(at), "-" if unsure else "+", task="t", model="m", tokens=50, wording=words[bool(unsure)],
            self_report=0.99,
        )
        for at, unsure in enumerate(hedged)
    ]  # fmt: skip
    told = history_calibration(trials(*rows))
    assert told is not None and told.auroc is not None and told.auroc > 0.95
    blind = history_calibration(trials(*([replace(row, wording="") for row in one] for one in rows)))
    assert blind is not None and blind.auroc is not None and blind.auroc < 0.75
