"""Runs the arms on tasks, and judges what they come to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from width_arms import CHECKED, Arm, Sizes, arms_named
from width_episodes import run_episode

from groundwire.core import (
    Backend,
    Candidate,
    Completion,
    ConfigError,
    Isolation,
    Observation,
    Request,
    Sandbox,
    Task,
    Tool,
    ToolContext,
    Verdict,
)
from groundwire.evaluation import Sample, TrialRow, trial_rows
from groundwire.graphs import Sandboxes
from groundwire.tools import HiddenTests, tool_for

__all__ = ["Outcome", "Runner", "as_data"]


@dataclass(frozen=True)
class Outcome:
    """What one arm came to on one task.

    Args:
        arm: its name.
        task: the task's id.
        answered: False where it came to no answer, or where the check let none through.
        solved: the answer passes the visible and the hidden tests.
        tokens: prompt and completion tokens.
        written: completion tokens of all calls (B_total).
        waited: of these, those that had to wait for one another (B_seq).
        calls: model calls.
        row: the same as evaluation reads it.
    """

    arm: str
    task: str
    answered: bool
    solved: bool
    tokens: int
    written: int
    waited: int
    calls: int
    row: TrialRow


class Runner:
    """Runs arms on tasks, each candidate judged once in a sandbox, whichever arms come to it.

    Args:
        sizes: of all arms.
        seed: of every episode.
    """

    def __init__(self, sizes: Sizes, *, seed: int = 0) -> None:
        self.sizes = sizes
        self._seed = seed
        self._boxes = Sandboxes(None)
        self._visible: dict[str, _Seen] = {}
        self._hidden: dict[tuple[str, str], Verdict] = {}
        self._width: dict[tuple[str, int], Outcome] = {}

    async def run(self, arm: Arm, task: Task, model: Backend, sizes: Sizes | None = None) -> Outcome:
        """One arm on one task.

        Args:
            arm: which.
            task: with hidden tests.
            model: answers.
            sizes: other ones than the runner's.

        Raises:
            ModelError: the model, or the recording, can't answer.
        """
        judge = self._visible.setdefault(task.id, _Seen(tool_for(task.command)))
        graph = arm.build(model, judge, sizes or self.sizes)
        episode = await run_episode(graph, task, self._boxes, self._seed)
        result, proposed = episode.result, episode.proposed
        chosen = next((c for c in proposed if not arm.checked or judge.passed(c)), None)
        hidden = Verdict.FAIL if chosen is None else await self._right(chosen, task, judge)
        samples = [Sample(c.digest, await self._right(c, task, judge)) for c in proposed] if arm.checked else []
        row = trial_rows(episode.opened, episode.records)[-1]
        row = replace(row, run=arm.name, hidden=hidden, samples=tuple(samples))
        return Outcome(
            arm.name,
            task.id,
            answered=chosen is not None,
            solved=hidden is Verdict.PASS,
            tokens=result.tokens,
            written=result.completion_tokens,
            waited=result.critical_tokens,
            calls=row.calls,
            row=row,
        )

    async def matched(self, other: Outcome, task: Task, models: Callable[[], Backend]) -> Outcome:
        """Width with the check on as many samples as the other arm's tokens paid for: one at least, all at most.

        Where tokens are not known, as in published logs, it has all samples.

        Args:
            other: what the other arm came to.
            task: the same.
            models: makes a model that plays from the beginning.
        """
        (arm,) = arms_named(CHECKED)
        best: Outcome | None = None
        for samples in range(1, self.sizes.samples + 1):
            key = (task.id, samples)
            if key not in self._width:
                self._width[key] = await self.run(arm, task, models(), replace(self.sizes, samples=samples))
            if best is not None and self._width[key].tokens > other.tokens:
                break
            best = self._width[key]
        assert best is not None
        return best

    async def _right(self, candidate: Candidate, task: Task, visible: _Seen) -> Verdict:
        """PASS where both the visible and the hidden tests pass: the hidden ones don't repeat the visible ones."""
        context = ToolContext(sandbox=self._sandbox, call=_no_model)
        if (await visible.judge(candidate, task, context)).verdict is not Verdict.PASS:
            return Verdict.FAIL
        key = (task.id, candidate.digest)
        if key not in self._hidden:
            judged = await HiddenTests(isolation=Isolation.IN_PROCESS).judge(candidate, task, context)
            self._hidden[key] = Verdict.PASS if judged.verdict is Verdict.PASS else Verdict.FAIL
        return self._hidden[key]

    async def _sandbox(self) -> Sandbox:
        return await self._boxes.open(None)

    async def aclose(self) -> None:
        """Closes the sandbox."""
        await self._boxes.aclose()


class _Seen:
    """The visible tests; each candidate is judged once, whichever arms come to it."""

    def __init__(self, tool: Tool) -> None:
        self._tool = tool
        self._said: dict[str, Observation] = {}

    async def judge(self, candidate: Candidate, task: Task, context: ToolContext) -> Observation:
        """See `Tool`."""
        if candidate.digest not in self._said:
            self._said[candidate.digest] = await self._tool.judge(candidate, task, context)
        return self._said[candidate.digest]

    def passed(self, candidate: Candidate) -> bool:
        """True if it passed."""
        said = self._said.get(candidate.digest)
        return said is not None and said.verdict is Verdict.PASS


async def _no_model(backend: Backend, request: Request) -> Completion:
    raise ConfigError(f"{backend.model} was asked ({request.purpose}); nothing here asks a model.")


def as_data(outcomes: Sequence[Outcome]) -> list[Mapping[str, Any]]:
    """A line a task and arm."""
    names = ("arm", "task", "answered", "solved", "tokens", "written", "waited", "calls")
    return [{name: getattr(outcome, name) for name in names} for outcome in outcomes]
