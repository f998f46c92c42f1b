"""Tasks of several steps: each an episode of its own, on what the one before left; their rewards become one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from groundwire.core._candidates import Candidate, Tree
from groundwire.core._errors import TaskError
from groundwire.core._records import CandidateRecord, Store
from groundwire.core._signals import Verdict
from groundwire.core._tasks import Task
from groundwire.graphs import EpisodeResult, FeedbackApp
from groundwire.integrations.harbor._config import StepSection
from groundwire.integrations.harbor._environments import HarborEnvironments
from groundwire.integrations.harbor._rewards import REWARD, is_solved, rewards_in
from groundwire.integrations.harbor._task import HarborTask


@dataclass(frozen=True)
class StepResult:
    """One step, as it ended.

    Args:
        name: the step's.
        verdict: its verifier's.
        rewards: what its verifier gave; empty where nothing was judged.
        episode: all else of it.
    """

    name: str
    verdict: Verdict
    rewards: Mapping[str, float]
    episode: EpisodeResult


@dataclass(frozen=True)
class StepsResult:
    """A task of several steps, as it ended.

    Args:
        verdict: PASS if the rewards together say that the task is solved; none where one step has no verdict.
        rewards: those of the steps as one: the mean of each, or those of the last step, as `task.toml` says.
        steps: that were taken, in order.
        detail: one line for people.
    """

    verdict: Verdict
    rewards: Mapping[str, float]
    steps: tuple[StepResult, ...]
    detail: str


async def run_steps(
    harbor: HarborTask,
    app: Callable[[Task], FeedbackApp],
    *,
    sandbox: str | None = None,
    image: str = "",
    python: Path | None = None,
    network: bool = False,
) -> StepsResult:
    """Runs a task of several steps: an episode a step, in the order of `task.toml`.

    A step begins with the project as the candidate left it that the verifier of the step before judged, verified or
    not, as in Harbor. After a step whose rewards are below its `min_reward`, or that has no verdict, no other is taken.

    Args:
        harbor: the task, read from its folder.
        app: makes the graph for a step's task; its verifier judges there (`HarborVerifier`).
        sandbox: where a step's `setup.sh` is run; this and the rest as for `HarborVerifier`.
        image: an image that is here, in the place of the task's own.
        python: the interpreter in bubblewrap.
        network: lets the build and the scripts use the network.

    Raises:
        TaskError: it has no steps, or one of them can't be judged here.
        SandboxError: the image, or Docker, can't be had.
    """
    if not harbor.steps:
        raise TaskError(f"{harbor.name} has no steps.", do="Run  harbor.task()  as any other task.")
    if why := harbor.why_not():
        raise TaskError(f"{harbor.name} can't be judged here: {why}.", do="Leave the task out.")
    environments = HarborEnvironments(sandbox, image, python, network)
    project: Tree | None = None
    taken: list[StepResult] = []
    for name in harbor.steps:
        step = harbor.at(name)
        task = step.task_on(await environments.begin(step, project))
        runs = app(task)
        result = await runs.arun(task)
        taken.append(step_result(name, result))
        project = (await candidate_left(runs.store, task, result)).applied_to(task.tree)
        if (stop := why_stop(step.section, taken[-1])) and name != harbor.steps[-1]:
            return steps_result(harbor, taken, stop)
    return steps_result(harbor, taken)


def step_result(name: str, result: EpisodeResult) -> StepResult:
    """What a step's episode came to.

    Args:
        name: the step's.
        result: the episode's.
    """
    evidence = result.hidden_evidence
    if evidence is None and result.best is not None and result.best.signal.oracle:
        evidence = result.best.signal.evidence
    return StepResult(name, result.verdict, rewards_in(evidence) if evidence else {}, result)


async def candidate_left(store: Store, task: Task, result: EpisodeResult) -> Candidate:
    """What a step's episode leaves: the candidate that its verifier judged at the end, else its best; else nothing.

    Args:
        store: that holds the episode.
        task: the step's.
        result: the episode's.
    """
    if result.hidden is not None:
        records = [one for one in await store.records(result.episode_id) if isinstance(one, CandidateRecord)]
        judged = next((one for one in records if one.digest == result.hidden.candidate_digest), None)
        if judged is not None and judged.artifact:
            return Candidate.from_bytes(await store.artifact(judged.artifact))
    left = result.best or result.unconfirmed
    return left.candidate if left is not None else Candidate(task.tree.digest, {})


def why_stop(section: StepSection | None, step: StepResult) -> str:
    """Why no step is taken after this one; empty if the next one is.

    Args:
        section: what `task.toml` says of it.
        step: as it ended.
    """
    if step.verdict is Verdict.NONE:
        return f"the step {step.name} has no verdict ({step.episode.detail})"
    wanted = section.min_reward if section is not None else None
    least = {REWARD: wanted} if isinstance(wanted, int | float) else wanted or {}
    for name, threshold in least.items():
        if (given := step.rewards.get(name)) is None or given < threshold:
            told = "no" if given is None else f"{given:g} as"
            return f"the step {step.name} has {told} {name}, and {threshold:g} is the least that lets go on"
    return ""


def steps_result(harbor: HarborTask, steps: Sequence[StepResult], stopped: str = "") -> StepsResult:
    """The steps as one.

    Args:
        harbor: the task.
        steps: those that were taken.
        stopped: why no more were.
    """
    rewards = combined([step.rewards for step in steps], final=harbor.config.multi_step_reward_strategy == "final")
    if any(step.verdict is Verdict.NONE for step in steps):
        verdict = Verdict.NONE
    else:
        verdict = Verdict.PASS if rewards and is_solved(rewards) else Verdict.FAIL
    said = ", ".join(f"{name} {value:g}" for name, value in sorted(rewards.items())) or "no reward"
    detail = f"{len(steps)} of {len(harbor.steps)} steps: {said}" + (f"; {stopped}" if stopped else "")
    return StepsResult(verdict, rewards, tuple(steps), detail)


def combined(rewards: Sequence[Mapping[str, float]], *, final: bool) -> Mapping[str, float]:
    """The rewards of steps as those of a task, as Harbor has them.

    Args:
        rewards: of each step that was taken, in order.
        final: True: those of the last one count; else the mean of each, which a step that does not give it gives as 0.
    """
    if final:
        return rewards[-1] if rewards else {}
    names = dict.fromkeys(name for one in rewards for name in one)
    return {name: sum(one.get(name, 0.0) for one in rewards) / len(rewards) for name in names}
