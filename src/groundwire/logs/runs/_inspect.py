"""Logs of inspect_ai as runs: a sample is an episode of one trial, and its first score says how it was judged."""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, cast

from groundwire.core._candidates import Candidate, Tree
from groundwire.core._errors import ConfigError, RecordingError
from groundwire.core._signals import CaseOutcome, CaseResult, Evidence, NoVerdict, Observation, Origin, Verdict
from groundwire.core._tasks import ANSWER_FILE, Task
from groundwire.logs.runs._logged import LoggedEpisode, LoggedTrial, seen

HEAD_BYTES = 4096
SOLVED = 1.0
_BY_MODEL = "model_graded"
_RIGHT = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
"""inspect_ai's letters, as its own accuracy counts them."""


def is_inspect_log(file: Path) -> bool:
    """True if a file is a log of inspect_ai's: by its ending, or by how its JSON begins."""
    if file.suffix == ".eval":
        return True
    if file.suffix != ".json":
        return False
    with file.open("rb") as opened:
        head = b"".join(opened.read(HEAD_BYTES).split())
    return head.startswith(b'{"version":') and b'"status":' in head and b'"eval":' in head


def read_inspect_log(file: Path) -> Any:
    """The log, by inspect_ai's own reader.

    Raises:
        ConfigError: inspect_ai is not installed.
        RecordingError: the reader refuses it, or it holds no samples.
    """
    try:
        reader: Any = importlib.import_module("inspect_ai.log")
    except ImportError as error:
        raise ConfigError(
            f"{file.name} is read by inspect_ai, which is not installed.", do='pip install "groundwire[inspect]"'
        ) from error
    try:
        log = reader.read_eval_log(str(file))
    except Exception as error:  # a damaged file ends in any error of its parts
        raise RecordingError(f"{file} is no log that inspect_ai reads: {error}", do="Look at it there.") from error
    if not log.samples:
        raise RecordingError(f"{file} holds no samples.", do="Log them: inspect eval … --log-samples")
    return log


def episodes_of(file: Path) -> Iterable[LoggedEpisode]:
    """The episodes of a log.

    Raises:
        ConfigError, RecordingError: as `read_inspect_log`.
    """
    log = read_inspect_log(file)
    scorer = next((one.scorer for one in (log.results.scores if log.results else ())), "")
    return list(_episodes(log, scorer, file.name))


def _episodes(log: Any, scorer: str, file: str) -> Iterator[LoggedEpisode]:
    for sample in log.samples:
        times = f"#{sample.epoch}" if sample.epoch > 1 else ""
        asked = sample.input if isinstance(sample.input, str) else "\n\n".join(one.text for one in sample.input)
        task = Task(
            id=f"{log.eval.task}/{sample.id}{times}",
            prompt=asked,
            tree=Tree({ANSWER_FILE: b""}),
            family=log.eval.task,
            editable=(ANSWER_FILE,),
            kind="write",
        )
        answer: str = sample.output.completion if sample.output and sample.output.choices else ""
        candidate = Candidate(task.tree.digest, {ANSWER_FILE: answer.encode("utf-8", "surrogatepass")})
        judged = _judged(sample, scorer, f"{file}, sample {sample.id}, epoch {sample.epoch}")
        yield LoggedEpisode(task, (LoggedTrial(1, ((candidate, judged),), answers=(answer,)),))


def _judged(sample: Any, scorer: str, place: str) -> Observation:
    if sample.error is not None:
        return _none(NoVerdict.RUNNER_CRASHED, f"the sample ended in an error: {sample.error.message}"[:500], place)
    scores: dict[str, Any] = sample.scores or {}
    name = scorer if scorer in scores else next(iter(scores), "")
    if not name:
        why = NoVerdict.LIMIT_HIT if sample.limit else NoVerdict.NOTHING_COLLECTED
        said = f"it hit the limit {sample.limit.type}" if sample.limit else "nothing scored it"
        return _none(why, said, place)
    score = scores[name]
    worth = _worth(score.value)
    if math.isnan(worth):
        return _none(NoVerdict.UNDECIDED, f"{name} gave {score.value!r:.80}, which is no score", place)
    right = worth >= SOLVED
    result = CaseResult.PASSED if right else CaseResult.FAILED
    case = CaseOutcome(id=name, result=result, message=(score.explanation or "")[:500])
    return seen(
        Verdict.PASS if right else Verdict.FAIL,
        place,
        origin=Origin.OTHER_MODEL if _BY_MODEL in name else Origin.VERIFIER,
        oracle=bool(_targets(sample.target)),
        evidence=Evidence(cases=(case,), collected=1, detail=f"{name} {score.value!r:.80}"),
    )


def _targets(target: str | list[str]) -> list[str]:
    return [one for one in ([target] if isinstance(target, str) else target) if one.strip()]


def _worth(value: object) -> float:
    """A score as a number; of several the least, since only what holds in all is right. NaN where it is none."""
    if isinstance(value, str):
        return _RIGHT.get(value, math.nan)
    if isinstance(value, int | float):
        return float(value)
    several = cast("Any", value.values() if isinstance(value, dict) else value if isinstance(value, list) else ())
    numbers = [_worth(one) for one in several]
    return math.nan if not numbers or any(map(math.isnan, numbers)) else min(numbers)


def _none(reason: NoVerdict, detail: str, place: str) -> Observation:
    return seen(Verdict.NONE, place, origin=Origin.VERIFIER, reason=reason, evidence=Evidence(detail=detail))
