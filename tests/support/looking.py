"""A tool whose looks are written down beforehand, for tests of what several looks at one candidate come to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from guessing import ANSWER

from groundwire import NoVerdict, Observation, Origin, Task, Verdict
from groundwire.core._candidates import Candidate
from groundwire.core._contexts import ToolContext
from groundwire.core._signals import CaseOutcome, CaseResult, Evidence

Look = Mapping[str, bool] | NoVerdict
"""How each case ends, or why there is no verdict."""


def looked(look: Look, origin: Origin = Origin.TESTS, *, command: tuple[str, ...] = ("pytest",)) -> Observation:
    if isinstance(look, NoVerdict):
        return Observation(verdict=Verdict.NONE, origin=origin, reason=look, command=command, duration_s=2.0)
    cases = tuple(
        CaseOutcome(id=name, result=CaseResult.PASSED if ok else CaseResult.FAILED, message="" if ok else f"{name} bad")
        for name, ok in look.items()
    )
    good = sum(look.values())
    return Observation(
        verdict=Verdict.PASS if good == len(look) else Verdict.FAIL,
        origin=origin,
        command=command,
        duration_s=2.0,
        evidence=Evidence(cases=cases, detail=f"{good} of {len(look)}", stdout="\n".join(c.message for c in cases)),
    )


@dataclass
class Looks:
    """Per answer, what each look at it shows; the last one is repeated."""

    script: Mapping[str, Sequence[Look]]
    repeatable: bool = True
    origin: Origin = Origin.TESTS
    judged: list[str] = field(default_factory=list[str])

    async def judge(self, candidate: Candidate, task: Task, context: ToolContext) -> Observation:
        text = task.tree.with_changes(candidate.changes).files[ANSWER].decode()
        looks = self.script[text]
        look = looks[min(self.judged.count(text), len(looks) - 1)]
        self.judged.append(text)
        return looked(look, self.origin)
