"""step_beam: the best beginnings are kept, by what a tool has judged of them (methods row 78)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from pages import check_page
from worlds import WAYS

from groundwire import EpisodeResult, Observation, Origin, StopReason, Task, Tree, Verdict
from groundwire.agents.steps._step_beam import NextStep, StepBeamActor, passed_share
from groundwire.core._candidates import Candidate
from groundwire.core._contexts import ActorContext, Judged, ToolContext
from groundwire.core._errors import ConfigError
from groundwire.core._models import Request
from groundwire.core._records import Admission, CandidateRecord, Record
from groundwire.core._signals import CaseOutcome, CaseResult, Evidence, Signal
from groundwire.graphs.library._step_beam import step_beam
from groundwire.models import ScriptedBackend
from groundwire.tools import Pytest

GOAL = (3, 1, 4, 1, 5)
DIGITS = Task(id="digits", tree=Tree({"way.txt": b""}))


class Way:
    """Judges a way of comma-separated places: one case for each place of the goal that is right."""

    async def judge(self, candidate: Candidate, task: Task, context: ToolContext) -> Observation:
        way = way_of(candidate)
        cases = tuple(
            CaseOutcome(
                id=f"place {n}", result=CaseResult.PASSED if way[n : n + 1] == [str(wanted)] else CaseResult.FAILED
            )
            for n, wanted in enumerate(GOAL)
        )
        return seen(all(c.result.ok for c in cases), cases)


class Exit:
    """Judges a way through the trap: a PASS for who is out, and nothing but a FAIL for all others."""

    async def judge(self, candidate: Candidate, task: Task, context: ToolContext) -> Observation:
        out = way_of(candidate)[-1] == "out"
        return seen(out, (CaseOutcome(id="out", result=CaseResult.PASSED if out else CaseResult.FAILED),))


def seen(passed: bool, cases: tuple[CaseOutcome, ...]) -> Observation:
    return Observation(
        verdict=Verdict.PASS if passed else Verdict.FAIL, origin=Origin.VERIFIER, evidence=Evidence(cases=cases)
    )


def way_of(candidate: Candidate | None) -> list[str]:
    body = (candidate.changes["way.txt"] or b"").decode() if candidate else ""
    return body.split(",")[:-1]


def extended(context: ActorContext, beam: Judged | None, places: Sequence[Any]) -> list[Candidate]:
    way = way_of(beam.candidate if beam else None)
    bodies = ["".join(f"{place}," for place in (*way, place)) for place in places]
    return [Candidate(context.task.tree.digest, {"way.txt": body.encode()}) for body in bodies]


async def run(actor: StepBeamActor, tool: Any, task: Task, **options: Any) -> tuple[EpisodeResult, Sequence[Record]]:
    app = step_beam(actor, tool, **options).compile()
    result = await app.arun(task)
    replayed = await app.areplay(task, run_id=result.run_id, episode_id=result.episode_id)
    assert replayed.difference is None, "the ledger alone gives the same run"
    return result, await app.store.records(result.episode_id)


async def test_one_beam_of_five_finds_the_goal_in_as_many_calls_as_it_has_steps() -> None:
    asked: list[list[str]] = []

    async def digits(context: ActorContext, beam: Judged | None, n: int) -> Sequence[Candidate]:
        asked.append(way_of(beam.candidate if beam else None))
        return extended(context, beam, [1, 1, 3, 4, 5][:n])

    result, records = await run(StepBeamActor(digits), Way(), DIGITS)
    assert (result.stop_reason, result.trials) == (StopReason.VERIFIED, len(GOAL))
    best = [[], ["3"], ["3", "1"], ["3", "1", "4"], ["3", "1", "4", "1"]]
    assert asked == best * 2, "the best beginning each time, and again in the replay"
    made = [r for r in records if isinstance(r, CandidateRecord)]
    assert len(made) == 4 * len(GOAL), "equal steps are one candidate"
    opened = [r for r in records if isinstance(r, Admission)]
    assert [(a.edge, a.admitted) for a in opened] == [("refine", True)] * 4


async def test_beams_that_are_finished_leave_and_four_of_them_walk_into_the_trap() -> None:
    light = {"dark": 0.1, "darker": 0.1, "back": 0.0}

    async def doors(context: ActorContext, beam: Judged | None, n: int) -> Sequence[Candidate]:
        place = way_of(beam.candidate)[-1] if beam else "hall"
        return extended(context, beam, ("brightest",) if place.startswith("bright ") else WAYS.get(place, ()))

    def brightness(judged: Judged) -> float:
        return light.get(way_of(judged.candidate)[-1], 0.9)

    actor = StepBeamActor(doors, beams=4, samples=6, value=brightness)
    result, records = await run(actor, Exit(), DIGITS)
    assert (result.stop_reason, result.verdict) == (StopReason.EXHAUSTED, Verdict.FAIL)
    assert sum(isinstance(r, Signal) for r in records) == 6 + 4, (
        "all doors, then four bright ones; then nothing is left"
    )
    fair, _ = await run(StepBeamActor(doors, beams=6, samples=6, value=brightness), Exit(), DIGITS)
    assert fair.stop_reason is StopReason.VERIFIED, "where nothing is cut the way out is found"


PROJECT = Task(
    id="calc",
    prompt="Write add and double.",
    tree=Tree(
        {
            "calc.py": b"",
            "test_calc.py": b"import calc\n\ndef test_add():\n    assert calc.add(2, 3) == 5\n\n"
            b"def test_double():\n    assert calc.double(4) == 8\n",
        }
    ),
)


async def test_executed_tests_stand_in_for_a_value_model() -> None:
    steps = {
        1: [
            "def add(a, b):\n    return a - b",
            "def add(a, b):\n    return a + b",
            "",
            "def add(a, b):\n    return a - b",
        ],
        2: ["def double(a):\n    return a", "def double(a):\n    return add(a, a)", "x = (", "pass"],
    }
    queues = {trial: iter(texts) for trial, texts in steps.items()}

    def answers(request: Request) -> str:
        return next(queues[2 if "return a + b" in request.messages[-1].content else 1])

    backend = ScriptedBackend(answers)
    actor = StepBeamActor(NextStep(backend, "calc.py"), samples=4)
    result, records = await run(actor, Pytest(), PROJECT)
    assert (result.stop_reason, result.trials) == (StopReason.VERIFIED, 2)
    assert result.best is not None
    assert result.best.candidate.changes["calc.py"] == (
        b"def add(a, b):\n    return a + b\n\ndef double(a):\n    return add(a, a)\n\n"
    )
    assert [(r.n, r.temperature, r.stop) for r in backend.requests] == [(4, 0.6, ("\n\n",))] * 2
    assert 'verdict="fail"' in backend.requests[1].messages[-1].content
    assert "test_double" in backend.requests[1].messages[-1].content
    first = [s for s in records if isinstance(s, Signal) and s.trial == 1]
    shares = {passed_share(Judged(Candidate("", {}), s)) for s in first if s.evidence.cases}
    assert shares == {0.0, 0.5}


def test_arguments_out_of_range_are_refused() -> None:
    with pytest.raises(ConfigError):
        StepBeamActor(NextStep("scripted:x", "a.py"), beams=0)
    with pytest.raises(ConfigError):
        NextStep(ScriptedBackend([]), "a.py", stop="")


def test_its_page_shows_this_graph() -> None:
    check_page("step_beam", step_beam(StepBeamActor(NextStep(ScriptedBackend([]), "a.py")), Pytest()))
