"""Repair from evidence, measured: of recorded wrong attempts, how many a model mends when it is shown what failed.

What small models make of feedback is seldom more than of another sample, so the same attempts are also asked without
the evidence: the first question alone, once more. Shares are given by kind of error, since an AssertionError is mended
far more seldom than a NameError.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from groundwire.core._errors import ConfigError, ModelError
from groundwire.core._ids import seed_for
from groundwire.core._intervals import wilson
from groundwire.core._models import Backend, Message, Request
from groundwire.training._answers import judged_in
from groundwire.training._schema import ChatMessage
from groundwire.training._trajectories import Flaw, Trajectory
from groundwire.training.methods._error_recovery import error_type
from groundwire.training.methods._repair_from_evidence import asked_again, evidence_shown
from groundwire.training.rewards._completions import read_completion
from groundwire.training.rewards._judging import PolicySample, RewardJudge

ALL = "all"
ROLES = ("system", "user", "assistant")
AT_ONCE = 16
"""Requests to the model at a time."""


@dataclass(frozen=True)
class WrongAttempt:
    """A recorded attempt that an executed check failed.

    Args:
        task_id: the task.
        error_type: the kind of its error.
        question: what was asked first.
        with_evidence: the question, the wrong answer and what failed.
    """

    task_id: str
    error_type: str
    question: tuple[ChatMessage, ...]
    with_evidence: tuple[ChatMessage, ...]


@dataclass(frozen=True)
class MendedShare:
    """Of attempts of one kind of error, how many answers mended them.

    Args:
        error_type: the kind, or `all`.
        evidence: True where the model was shown what failed; False: it was asked the first question once more.
        answers: with a verdict.
        right: of these.
        no_verdict: answers that nobody could judge; they count nowhere.
        low: of the share, 95 %, by Wilson's interval.
        high: likewise.
    """

    error_type: str
    evidence: bool
    answers: int
    right: int
    no_verdict: int
    low: float
    high: float

    @property
    def share(self) -> float:
        """Of the answers, those that are right; 0 where there are none."""
        return self.right / self.answers if self.answers else 0.0


def wrong_attempts(trajectories: Iterable[Trajectory], *, each: int = 4) -> Iterator[WrongAttempt]:
    """The wrong attempts of runs whose failure can be shown, no text twice.

    Args:
        trajectories: episodes.
        each: of one task at most.
    """
    taken: Counter[str] = Counter()
    known: set[tuple[str, str]] = set()
    for trajectory in trajectories:
        for wrong in judged_in([trajectory])[0]:
            shown = evidence_shown(wrong.attempt)
            key = (trajectory.task, wrong.turn.answer.strip())
            if wrong.reward == 1.0 or wrong.is_step or not shown or key in known or taken[trajectory.task] >= each:
                continue
            known.add(key)
            taken[trajectory.task] += 1
            yield WrongAttempt(trajectory.task, error_type(wrong.attempt), wrong.prompt, asked_again(wrong, shown))


Answered = dict[tuple[str, str], list[float]]
"""By task and by what was asked: what the answers earned."""


def answered_before(trajectories: Iterable[Trajectory], judge: RewardJudge) -> Answered:
    """What answers earned that an earlier process asked for and judged: they are neither asked for nor judged again.

    Args:
        trajectories: episodes of that measurement; those that were cut off, or whose seals do not hold, count for
            nothing, and so does an answer without a verdict.
        judge: knows the tasks.
    """
    found: Answered = {}
    for trajectory in trajectories:
        if trajectory.stop_reason is None or Flaw.BROKEN_SEAL in trajectory.flaws:
            continue
        rewards = {attempt.digest: attempt.reward for trial in trajectory.trials for attempt in trial.attempts}
        for turn in trajectory.turns:
            read = read_completion(turn.text, judge.task(trajectory.task))
            if (reward := rewards.get(read.candidate.digest)) is not None:
                found.setdefault((trajectory.task, turn.prompt[0].content), []).append(reward)
    return found


async def measure_repair(
    backend: Backend,
    attempts: Sequence[WrongAttempt],
    judge: RewardJudge,
    *,
    known: Answered | None = None,
    samples: int = 1,
    temperature: float = 0.0,
    max_tokens: int = 1024,
    seed: int = 0,
) -> list[MendedShare]:
    """Asks for each attempt, with its evidence and without, and judges what comes back.

    Args:
        backend: the model.
        attempts: what is to be mended; those of tasks that the judge does not know are refused.
        judge: judges; with a ledger, all answers are written there before they are judged.
        known: of answers that an earlier process had; see `answered_before`.
        samples: answers to each question.
        temperature: of these.
        max_tokens: of each answer.
        seed: of the sampling.

    Returns:
        All attempts, then by kind of error, the commonest first; each with evidence, then without.

    Raises:
        ConfigError: there is no attempt, or a task is not known.
        ModelError: the model can't be asked at all. A single answer that fails counts as none.
    """
    if not attempts:
        raise ConfigError(
            "There is no wrong attempt to be mended.", do="Give runs of the judge's tasks in which something failed."
        )
    for attempt in attempts:
        judge.task(attempt.task_id)
    room = asyncio.Semaphore(AT_ONCE)
    left = {question: list(rewards) for question, rewards in (known or {}).items()}

    async def answers(number: int, attempt: WrongAttempt, *, evidence: bool) -> list[float | None]:
        asked = attempt.with_evidence if evidence else attempt.question
        prompt = "\n\n".join(message.content for message in asked)
        before = left.get((attempt.task_id, prompt), [])
        if len(before) >= samples:
            taken, before[:samples] = before[:samples], []
            return [*taken]
        request = Request(
            messages=tuple(_message(one) for one in asked),
            n=samples,
            temperature=temperature,
            max_tokens=max_tokens,
            seed=seed_for(seed, 0, "repair", number),
            purpose="propose",
        )
        async with room:
            completion = await backend.complete(request)
        given = [PolicySample(attempt.task_id, text, prompt) for text in completion.texts]
        return [one.reward for one in await judge.score(given)]

    found: dict[tuple[str, bool], list[float | None]] = {}
    failed: ModelError | None = None
    for evidence in (True, False):
        work = [answers(number, attempt, evidence=evidence) for number, attempt in enumerate(attempts)]
        for attempt, came in zip(attempts, await asyncio.gather(*work, return_exceptions=True), strict=True):
            if isinstance(came, ModelError):
                failed, came = came, [None] * samples
            elif isinstance(came, BaseException):
                raise came
            for kind in (ALL, attempt.error_type or "other"):
                found.setdefault((kind, evidence), []).extend(came)
    if failed is not None and all(one is None for one in found[ALL, True]):
        raise failed
    common = Counter(attempt.error_type or "other" for attempt in attempts)
    kinds = [ALL, *(kind for kind, _ in common.most_common())]
    return [_share(kind, evidence, found[kind, evidence]) for kind in kinds for evidence in (True, False)]


def _message(message: ChatMessage) -> Message:
    role = message.role if message.role in ROLES else "user"
    return Message.model_validate({"role": role, "content": message.content})


def _share(kind: str, evidence: bool, rewards: Sequence[float | None]) -> MendedShare:
    told = [reward for reward in rewards if reward is not None]
    right = sum(reward == 1.0 for reward in told)
    low, high = wilson(right, len(told)) if told else (0.0, 1.0)
    return MendedShare(kind, evidence, len(told), right, len(rewards) - len(told), low, high)
