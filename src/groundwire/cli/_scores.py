"""What a run over published questions came to, as the sets themselves count: accuracy, F1 of words, F1 of a judge."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import fmean
from typing import Any

from groundwire.benchmarks import Item
from groundwire.benchmarks.answers._key import is_question, key_of, said_in, word_f1
from groundwire.cli._repair import unique_run
from groundwire.cli.graph_options._flags import checked_options
from groundwire.core._candidates import Candidate
from groundwire.core._errors import ConfigError
from groundwire.core._records import CandidateRecord, EpisodeEnd, ModelCall, Record, StopReason, episodes_with_records
from groundwire.core._signals import Origin, Signal, Verdict
from groundwire.graphs.run._result import EXIT_CODES
from groundwire.memory import SqlStore

PROCESSBENCH = "processbench"
WITHOUT_AN_ANSWER = frozenset({3, 5, 6, 7, 130})
"""Exit codes of episodes that say nothing of an arm."""
SOLVED = frozenset({StopReason.VERIFIED, StopReason.ALREADY_PASSING})


@dataclass(frozen=True)
class TaskScore:
    """One task of a run.

    Args:
        task_id: whose.
        split: the part of the set that it belongs to.
        right: whether its answer is; None where something broke, so that it says nothing.
        f1: of its answer's words, for open questions; None for others.
        seconds: wall seconds of its episode.
        tokens: prompt and completion tokens.
    """

    task_id: str
    split: str
    right: bool | None
    f1: float | None
    seconds: float
    tokens: int


@dataclass(frozen=True)
class SetScores:
    """A set of questions in numbers; None where there is nothing to count.

    Args:
        right: answers that are.
        of: answers.
        f1: mean F1 of words, from 0 to 1; an episode without an answer counts 0.
        judge: for ProcessBench: accuracy on wrong and on right solutions, and their F1.
    """

    right: int
    of: int
    f1: float | None = None
    judge: tuple[float, float, float] | None = None

    @property
    def accuracy(self) -> float | None:
        """The share that is right."""
        return self.right / self.of if self.of else None

    def sentence(self) -> str:
        """For people."""
        if self.accuracy is None:
            return "no answer was judged"
        said = f"{100 * self.accuracy:.1f} % right ({self.right} of {self.of})"
        if self.f1 is not None:
            said += f"   F1 of words {100 * self.f1:.1f}"
        if self.judge is not None:
            wrong, right, f1 = self.judge
            halves = f"{100 * wrong:.1f} % of wrong solutions, {100 * right:.1f} % of right ones"
            said += f"   as a judge: {halves}, F1 {100 * f1:.1f}"
        return said

    def as_data(self) -> dict[str, Any]:
        """For scripts."""
        names = ("accuracy_on_wrong", "accuracy_on_right", "f1")
        judge = dict(zip(names, self.judge, strict=True)) if self.judge else None
        return {"right": self.right, "of": self.of, "accuracy": self.accuracy, "f1_of_words": self.f1, "judge": judge}


async def task_scores(store: SqlStore, run_id: str, items: Sequence[Item] = ()) -> Sequence[TaskScore]:
    """Reads them from the ledger; of a task that was run once more the last episode counts.

    Args:
        store: the ledger.
        run_id: a run of `groundwire bench` or `run`.
        items: its tasks, where the words of answers are to be scored.
    """
    run = await unique_run(store, run_id)
    splits = {one[0]: one[2] for one in json.loads(run.config).get("suite", {}).get("tasks", ())}
    tasks = {item.task.id: item.task for item in items if is_question(item.task)}
    found: dict[str, TaskScore] = {}
    async for episode, records in episodes_with_records(store, run.id):
        end = next((r for r in records if isinstance(r, EpisodeEnd)), None)
        found.pop(episode.task_id, None)
        if end is None:
            continue
        judged = [r for r in records if isinstance(r, Signal) and r.origin is Origin.HIDDEN_TESTS]
        broken = EXIT_CODES[end.stop_reason] in WITHOUT_AN_ANSWER
        right = judged[-1].verdict is Verdict.PASS if judged else end.stop_reason in SOLVED
        f1 = None
        task = tasks.get(episode.task_id)
        if task is not None and task.hidden is not None:
            answers, compare = key_of(task.hidden)
            if compare == "words":
                said = await _said(store, records, judged[-1].candidate_digest, task) if judged else ""
                f1 = word_f1(said, answers)
        found[episode.task_id] = TaskScore(
            episode.task_id,
            splits.get(episode.task_id, ""),
            None if broken else right,
            f1,
            _seconds(episode.created_at, end.created_at),
            sum(r.prompt_tokens + r.completion_tokens for r in records if isinstance(r, ModelCall)),
        )
    return list(found.values())


async def _said(store: SqlStore, records: Sequence[Record], digest: str, task: Any) -> str:
    kept = next((r for r in records if isinstance(r, CandidateRecord) and r.digest == digest), None)
    return said_in(Candidate.from_bytes(await store.artifact(kept.artifact)), task) if kept else ""


def _seconds(begun: str, ended: str) -> float:
    return max(0.0, (datetime.fromisoformat(ended) - datetime.fromisoformat(begun)).total_seconds())


def set_scores(scores: Sequence[TaskScore], *, judges: bool = False) -> SetScores:
    """All of them in numbers.

    Args:
        scores: of a run.
        judges: True for ProcessBench, whose splits are the two halves of its F1.
    """
    told = [one for one in scores if one.right is not None]
    words = [one.f1 for one in told if one.f1 is not None]
    halves = [[bool(one.right) for one in told if one.split == split] for split in ("wrong", "right")]
    judge = None
    if judges and all(halves):
        from groundwire.evaluation._signal_quality import localiser_f1

        on_wrong, on_right = map(fmean, halves)
        judge = (on_wrong, on_right, localiser_f1(on_wrong, on_right))
    return SetScores(sum(bool(one.right) for one in told), len(told), fmean(words) if words else None, judge)


async def check_judge(store: SqlStore, graph: str, options: Mapping[str, Any]) -> None:
    """Refuses a judge whose own grade is too low.

    Args:
        store: the ledger that its grading is in.
        graph: that it would judge in.
        options: what that graph was told.

    Raises:
        ConfigError: that run is of another benchmark or of another model, says nothing, or says that it is too weak.
    """
    judge, run_id = options.get("judge"), options.get("judge_run")
    if not run_id:
        return
    least_f1: float = checked_options(graph, options).least_f1
    run = await unique_run(store, run_id)
    config: dict[str, Any] = json.loads(run.config)
    source = config.get("suite", {}).get("source", {})
    do = f"Grade it:  groundwire bench {PROCESSBENCH} --data FILE --graph blind_resampling --model {judge}"
    if source.get("kind") != "bench" or source.get("name") != PROCESSBENCH or config.get("model") != judge:
        raise ConfigError(f"Run {run.id} does not grade {judge} on {PROCESSBENCH}.", do=do)
    graded = set_scores(await task_scores(store, run.id), judges=True).judge
    if graded is None:
        raise ConfigError(f"Run {run.id} has judged no wrong or no right solution.", do=do)
    if graded[2] < least_f1:
        raise ConfigError(
            f"{judge} finds the first wrong step with an F1 of {graded[2]:.3f}, and {least_f1:.3f} is asked for.",
            do="Name a better judge, or ask for less with --least-f1.",
        )
