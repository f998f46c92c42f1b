"""Episodes in the Agent Trajectory Interchange Format, version 1.7 (Harbor's `Trajectory`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from groundwire.training import Trajectory, Turn
from groundwire.training._trajectories import Attempt, Author, Remark, Seen

SCHEMA = "ATIF-v1.7"
PROPOSE = "propose"
"""The name of the call that hands a candidate to its judge."""


def atif_of(trajectory: Trajectory) -> dict[str, Any]:
    """One episode.

    A model's call is a step of the agent's, with what it wrote and thought. A candidate is a call of `propose` with its
    changes, and what was observed about it is that call's result, with its verdict, origin and seal. Prompts are not
    repeated: the first step is the task's.

    Args:
        trajectory: the episode.
    """
    steps = [_task_step(trajectory), *_steps(trajectory)]
    model = next((turn.model.name for turn in trajectory.turns if turn.model.name), None)
    tokens = sum(turn.completion_tokens for turn in _calls_once(trajectory))
    return {
        "schema_version": SCHEMA,
        "session_id": trajectory.run,
        "trajectory_id": trajectory.episode,
        "agent": _present(
            name="groundwire",
            version=trajectory.version or "unknown",
            model_name=model,
            extra={"graph": trajectory.graph, "grounded": trajectory.grounded},
        ),
        "steps": [{"step_id": number, **step} for number, step in enumerate(steps, start=1)],
        "final_metrics": _present(total_completion_tokens=tokens or None, total_steps=len(steps)),
        "extra": {
            "task": trajectory.task,
            "verdict": trajectory.verdict.value,
            "stop_reason": trajectory.stop_reason.value if trajectory.stop_reason else None,
            "reward": trajectory.reward,
            "seed": trajectory.seed,
        },
    }


def _task_step(trajectory: Trajectory) -> dict[str, Any]:
    return _present(
        source="user", message=trajectory.prompt or trajectory.task, timestamp=trajectory.created_at or None
    )


def _steps(trajectory: Trajectory) -> Iterator[dict[str, Any]]:
    """In the order of the ledger: what was asked, what was tried, what a rule or a person said; a model's reflection is
    the text of its call already."""
    found: list[tuple[int, dict[str, Any]]] = []
    for trial in trajectory.trials:
        found += [(turn.at, _turn(turn)) for turn in trial.turns]
        found += [(attempt.at, _attempt(attempt)) for attempt in trial.attempts]
        found += [(remark.at, _remark(remark)) for remark in trial.remarks if remark.author is not Author.MODEL]
    yield from (step for _, step in sorted(found, key=lambda pair: pair[0]))


def _turn(turn: Turn) -> dict[str, Any]:
    metrics = {"completion_tokens": turn.completion_tokens} if turn.completion_tokens and turn.samples == 1 else None
    return _present(
        source="agent",
        message=turn.answer,
        reasoning_content=turn.reasoning or None,
        model_name=turn.model.name or None,
        metrics=metrics,
        llm_call_count=1,
        extra=_present(
            purpose=turn.purpose,
            part=turn.part,
            trial=turn.trial,
            prompt_digest=turn.prompt_digest,
            error=turn.error or None,
        ),
    )


def _attempt(attempt: Attempt) -> dict[str, Any]:
    results = [_result(attempt, signal) for signal in attempt.signals]
    if attempt.base:
        # nobody proposed it, so there is no call that this answers
        results = [{name: value for name, value in one.items() if name != "source_call_id"} for one in results]
        return _present(
            source="system",
            message="The task's own files are judged.",
            observation={"results": results} if results else None,
            extra={"trial": attempt.trial},
        )
    changes = {one.path: None if one.deleted else one.content for one in attempt.changes}
    return _present(
        source="agent",
        message=attempt.note or f"candidate {attempt.digest[:12]}",
        tool_calls=[
            {"tool_call_id": attempt.digest, "function_name": PROPOSE, "arguments": {"changes": changes}},
        ],
        observation={"results": results} if results else None,
        llm_call_count=0,
        extra=_present(trial=attempt.trial, actor=attempt.actor, reward=attempt.reward, turn=attempt.turn or None),
    )


def _result(attempt: Attempt, signal: Seen) -> dict[str, Any]:
    failed = [f"{name}: {message}" if message else name for name, message in signal.failed[:20]]
    return {
        "source_call_id": attempt.digest,
        "content": "\n".join([signal.detail, *failed]).strip(),
        "extra": _present(
            signal=signal.id,
            verdict=signal.verdict.value,
            origin=signal.origin.value,
            reason=signal.reason.value if signal.reason else None,
            seal=signal.seal.value,
            issuer=signal.issuer,
        ),
    }


def _remark(remark: Remark) -> dict[str, Any]:
    return {
        "source": "system",
        "message": remark.text,
        "extra": {"trial": remark.trial, "reflection_on": remark.signal, "by": remark.by},
    }


def _calls_once(trajectory: Trajectory) -> Iterator[Turn]:
    """A turn for each call, since its tokens are those of all its samples together."""
    seen: set[str] = set()
    for turn in trajectory.turns:
        call = turn.id.partition("#")[0]
        if call not in seen:
            seen.add(call)
            yield turn


def _present(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}
