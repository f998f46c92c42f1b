"""A run of groundwire's as a log of inspect_ai, which its reader loads and `inspect view` opens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from groundwire.core._errors import ConfigError, StorageError
from groundwire.core._signals import Verdict
from groundwire.integrations.inspect._solving import inspect_part
from groundwire.training import Trajectory, Turn
from groundwire.training._trajectories import Attempt, Seen

SCORER = "groundwire"
ENDINGS = (".eval", ".json")


def write_inspect_log(trajectories: Iterable[Trajectory], path: Path) -> int:
    """Writes the episodes of one run as a log.

    Args:
        trajectories: of one run.
        path: ends in `.eval` or `.json`.

    Returns:
        How many samples it holds.

    Raises:
        ConfigError: inspect_ai is not installed, the ending is another one, there is nothing to write, or the episodes
            are of several runs.
        StorageError: the file can't be written.
    """
    if path.suffix not in ENDINGS:
        raise ConfigError(f"{path.name} ends in neither .eval nor .json.", do="Name the file accordingly.")
    log = eval_log_of(trajectories)
    try:
        inspect_part("inspect_ai.log").write_eval_log(log, str(path))
    except OSError as error:
        raise StorageError(f"{path} can't be written: {error.strerror or error}.", do="Name another file.") from error
    return len(log.samples)


def eval_log_of(trajectories: Iterable[Trajectory]) -> Any:
    """The episodes of one run as an `EvalLog` of inspect_ai: a sample each, an event each call and signal.

    Args:
        trajectories: of one run.

    Raises:
        ConfigError: as `write_inspect_log`.
    """
    logs = inspect_part("inspect_ai.log")
    episodes = list(trajectories)
    runs = {one.run for one in episodes}
    if len(runs) != 1:
        what = "There is no episode" if not runs else f"These are {len(runs)} runs"
        raise ConfigError(f"{what}, and a log of inspect_ai holds one run.", do="Name one run that has episodes.")
    seen: Counter[str] = Counter()
    samples: list[Any] = []
    for episode in episodes:
        seen[episode.task] += 1
        samples.append(_sample(episode, seen[episode.task]))
    first = episodes[0]
    model = next((turn.model.name for one in episodes for turn in one.turns if turn.model.name), "none/none")
    scored = [one for one in episodes if one.verdict is not Verdict.NONE]
    right = sum(one.verdict is Verdict.PASS for one in scored)
    accuracy = logs.EvalMetric(name="accuracy", value=right / len(scored) if scored else 0.0)
    created = first.created_at or datetime.now(UTC).isoformat()
    return logs.EvalLog(
        status="success",
        eval=logs.EvalSpec(
            run_id=first.run,
            eval_id=first.run,
            task_id=first.run,
            created=created,
            task=f"groundwire/{first.graph or 'run'}",
            solver=first.graph or None,
            dataset=logs.EvalDataset(
                name=first.family or None, samples=len(seen), sample_ids=list(seen), shuffled=False
            ),
            model=model,
            config=logs.EvalConfig(epochs=max(seen.values())),
            packages={"groundwire": first.version} if first.version else {},
            metadata={"graph": first.graph, "grounded": first.grounded, "control": first.control},
        ),
        results=logs.EvalResults(
            total_samples=len(samples),
            completed_samples=len(samples),
            scores=[
                logs.EvalScore(
                    name=SCORER,
                    scorer=SCORER,
                    scored_samples=len(scored),
                    unscored_samples=len(samples) - len(scored),
                    metrics={"accuracy": accuracy},
                )
            ],
        ),
        stats=logs.EvalStats(
            started_at=created,
            completed_at=_last_time(episodes) or created,
            model_usage=_used(turn for one in episodes for turn in one.turns),
        ),
        samples=samples,
    )


def _sample(episode: Trajectory, epoch: int) -> Any:
    logs, models = inspect_part("inspect_ai.log"), inspect_part("inspect_ai.model")
    proposed = [turn for turn in episode.turns if turn.part == "actor" and not turn.error]
    last = proposed[-1] if proposed else None
    messages = [*_messages(last), models.ChatMessageAssistant(content=last.answer)] if last else []
    answer = last.answer if last else _written(episode)
    return logs.EvalSample(
        id=episode.task,
        epoch=epoch,
        input=episode.prompt,
        target="",
        messages=messages,
        output=models.ModelOutput.from_content(model=last.model.name if last else "none/none", content=answer),
        scores={SCORER: _score(episode, answer)},
        metadata={
            "episode": episode.episode,
            "family": episode.family,
            "seed": episode.seed,
            "trials": sum(trial.number > 0 for trial in episode.trials),
            "stop_reason": episode.stop_reason.value if episode.stop_reason else "",
        },
        events=list(_events(episode)),
        uuid=episode.episode,
        model_usage=_used(episode.turns),
        started_at=episode.created_at or None,
        completed_at=(ended := _last_time([episode])) or None,
        total_time=(_time(ended) - _time(episode.created_at)).total_seconds() if ended and episode.created_at else None,
    )


def _messages(turn: Turn | None) -> list[Any]:
    models = inspect_part("inspect_ai.model")
    kinds: Mapping[str, Any] = {
        "system": models.ChatMessageSystem,
        "user": models.ChatMessageUser,
        "assistant": models.ChatMessageAssistant,
        # a result without the call that it answers can't stand as a tool's message there
        "tool": models.ChatMessageUser,
    }
    return [kinds[one.role](content=one.content) for one in turn.prompt] if turn else []


def _written(episode: Trajectory) -> str:
    """What was proposed last, where no model wrote it."""
    attempts = list(episode.attempts)
    changes = attempts[-1].changes if attempts else ()
    return "\n".join(f"--- {one.path}\n{'(deleted)' if one.deleted else one.content or ''}" for one in changes)


def _score(episode: Trajectory, answer: str) -> Any:
    scoring = inspect_part("inspect_ai.scorer")
    reason = episode.stop_reason.value if episode.stop_reason else "it has no end"
    signals = [signal for _, signal in _signals(episode)]
    metadata = {"signals": [_seen(signal) for signal in signals[-20:]], "of": len(signals)}
    said = f"{episode.verdict.value}: {reason}"
    if episode.verdict is Verdict.NONE:
        return scoring.Score.unscored(reason="scoring_failed", answer=answer, explanation=said, metadata=metadata)
    value = scoring.CORRECT if episode.verdict is Verdict.PASS else scoring.INCORRECT
    return scoring.Score(value=value, answer=answer, explanation=said, metadata=metadata)


def _seen(signal: Seen) -> dict[str, Any]:
    return {
        "id": signal.id,
        "trial": signal.trial,
        "issuer": signal.issuer,
        "origin": signal.origin.value,
        "verdict": signal.verdict.value,
        "reason": signal.reason.value if signal.reason else "",
        "seal": signal.seal.value,
        "candidate": signal.candidate,
        "detail": signal.detail,
        "failed": [name for name, _ in signal.failed[:20]],
    }


def _signals(episode: Trajectory) -> Iterator[tuple[Attempt, Seen]]:
    for trial in episode.trials:
        for attempt in trial.attempts:
            for signal in attempt.signals:
                yield attempt, signal


def _events(episode: Trajectory) -> Iterator[Any]:
    """Each model call and each signal, in the order of the ledger."""
    events = inspect_part("inspect_ai.event")
    calls = [(turn.at, turn) for turn in episode.turns]
    seen = [(signal.at, signal) for _, signal in _signals(episode)]
    when = _time(episode.created_at)
    for _, one in sorted([*calls, *seen], key=lambda pair: pair[0]):
        if isinstance(one, Turn):
            yield _call(one, when)
        else:
            when = _time(one.created_at) or when
            yield events.InfoEvent(source="groundwire signal", data=_seen(one), timestamp=when, working_start=0.0)


def _call(turn: Turn, when: datetime) -> Any:
    events, models = inspect_part("inspect_ai.event"), inspect_part("inspect_ai.model")
    content = turn.text if not turn.error else ""
    output = models.ModelOutput.from_content(model=turn.model.name, content=content)
    output.usage = _usage(turn)
    return events.ModelEvent(
        model=turn.model.name or "none/none",
        role=turn.purpose or None,
        input=_messages(turn),
        tools=[],
        tool_choice="none",
        config=models.GenerateConfig(temperature=turn.temperature),
        output=output,
        error=turn.error or None,
        timestamp=when,
        working_start=0.0,
    )


def _usage(turn: Turn) -> Any:
    """What a call used, with its first sample; None with its others, and where nobody counted."""
    total = turn.prompt_tokens + turn.completion_tokens
    if not total or not turn.id.endswith("#0"):
        return None
    return inspect_part("inspect_ai.model").ModelUsage(
        input_tokens=turn.prompt_tokens, output_tokens=turn.completion_tokens, total_tokens=total
    )


def _used(turns: Iterable[Turn]) -> dict[str, Any]:
    """What each model used in all."""
    used: dict[str, Any] = {}
    for turn in turns:
        if usage := _usage(turn):
            name = turn.model.name or "none/none"
            used[name] = used[name] + usage if name in used else usage
    return used


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text) if text else datetime.now(UTC)


def _last_time(episodes: Sequence[Trajectory]) -> str:
    return max((signal.created_at for one in episodes for _, signal in _signals(one)), default="")
