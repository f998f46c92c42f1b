"""Test strength: of mutants of a verified patch's own lines, the share that the tests notice.

Tests that pass a patch and its mutants alike would have passed a wrong patch too. It is measured once the verdict is in
the ledger and changes nothing about it; what it comes to is kept there under the episode's id.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import aclosing
from dataclasses import asdict, dataclass, replace
from typing import Any

from groundwire.core._candidates import Candidate
from groundwire.core._contexts import Tool, ToolContext
from groundwire.core._errors import RecordNotFound
from groundwire.core._records import Artifact, Store
from groundwire.core._signals import Verdict, canonical
from groundwire.core._tasks import Task

NAME = "test_strength"
MUTANTS = 8
SECONDS = 30.0
WEAK_BELOW = 0.5
"""The share of mutants below which tests are called weak."""


@dataclass(frozen=True)
class Strength:
    """What tests made of mutants.

    Args:
        killed: mutants that a test noticed.
        judged: mutants that got a verdict; some of those that no test noticed may mean the same as the patch.
        survived: what was changed in those that no test noticed, a line each.
        out_of_time: True if the seconds were used up first.
        untested: those of `survived` that leave out a clause of a condition: no test says what that is for.
        anti_patterns: shapes of the patch that pass such tests without solving anything, a line each.
    """

    killed: int = 0
    judged: int = 0
    survived: tuple[str, ...] = ()
    out_of_time: bool = False
    untested: tuple[str, ...] = ()
    anti_patterns: tuple[str, ...] = ()

    @property
    def share(self) -> float | None:
        """The part that was noticed, 0 to 1; None where nothing was judged."""
        return self.killed / self.judged if self.judged else None

    @property
    def is_weak(self) -> bool:
        """True if the tests let too much pass for their PASS to say much."""
        return self.killed < WEAK_BELOW * self.judged or bool(self.untested or self.anti_patterns)

    def as_data(self) -> dict[str, Any]:
        """For `--json`."""
        told = {name: list(getattr(self, name)) for name in ("survived", "untested", "anti_patterns")}
        return {**asdict(self), **told, "share": self.share, "weak": self.is_weak}


async def measure_strength(
    tool: Tool, candidate: Candidate, task: Task, context: ToolContext, *, n: int = MUTANTS, seconds: float = SECONDS
) -> Strength:
    """Judges mutants of a candidate by the task's visible tests; the hidden ones are not asked.

    Args:
        tool: judges by the visible tests.
        candidate: what was verified.
        task: the task.
        context: for the tool.
        n: the most mutants.
        seconds: the most wall seconds; a judging that is under way is ended.
    """
    # here, since who only reads what the ledger knows needs neither
    from groundwire.agents.search._mutants import drops_clause, mutants_of
    from groundwire.graphs.replay._substitutes import observe

    public = task.public()
    mutants = mutants_of(public.tree, candidate, n, context.seed)
    killed = judged = 0
    survived: list[str] = []
    untested: list[str] = []
    out_of_time = False
    # a mutant that passes is nobody's answer, so that its PASS is not confirmed
    context = replace(context, confirming=False)
    try:
        async with asyncio.timeout(seconds), aclosing(observe(tool, mutants, public, context, name=NAME)) as seen:
            async for mutant, observation in seen:
                if observation.verdict is Verdict.NONE:
                    continue
                judged += 1
                if observation.verdict is Verdict.FAIL:
                    killed += 1
                else:
                    survived.append(mutant.note)
                    if drops_clause(mutant):
                        untested.append(mutant.note)
    except TimeoutError:
        out_of_time = True
    return Strength(killed, judged, tuple(survived), out_of_time, tuple(untested), shapes_of(candidate, task))


def shapes_of(candidate: Candidate, task: Task) -> tuple[str, ...]:
    """The anti-patterns of a patch, read off its text and that of the visible tests."""
    from groundwire.agents.search._mutants import changed_lines
    from groundwire.tools._anti_patterns import anti_patterns

    return anti_patterns(candidate, task.public(), changed_lines(task.tree, candidate))


async def keep_strength(store: Store, episode_id: str, strength: Strength) -> None:
    """Writes it to the ledger."""
    body = canonical(asdict(strength)).encode()
    await store.append(Artifact(digest=_key(episode_id), kind=NAME, body=body))


async def strength_of(store: Store, episode_id: str) -> Strength | None:
    """What the ledger knows of it; None where it was not measured."""
    try:
        said: dict[str, Any] = json.loads(await store.artifact(_key(episode_id)))
    except RecordNotFound:
        return None
    later = (tuple(said.get(name, ())) for name in ("untested", "anti_patterns"))  # ledgers of before know of none
    return Strength(said["killed"], said["judged"], tuple(said["survived"]), said["out_of_time"], *later)


def _key(episode_id: str) -> str:
    return f"strength-{episode_id}"
