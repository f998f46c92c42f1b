"""Which of a model's samples it is trained on: by arm, each solution once, few of an easy task."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from groundwire.training._schema import Row
from groundwire.training.forms._rlvr import RlvrRow
from groundwire.training.improving._samples import CountedSample

Arm = Literal["verified", "unverified", "model-judged", "failed"]
ARMS: tuple[Arm, ...] = ("verified", "unverified", "model-judged", "failed")


@dataclass(frozen=True, kw_only=True)
class KeepingRules:
    """What is kept.

    Args:
        arm: `verified`: what executed checks passed. The others are controls, with as many rows of the same samples:
            `unverified`, whatever the checks said; `model-judged`, what the model itself said is right; `failed`, what
            the checks failed.
        per_task: different solutions of a task at most.
        easy: share of right samples from which a task is easy.
        per_easy_task: solutions of such a task at most: what a model can do it need not learn.
        with_failed: of each task as many different failed answers too, for methods that learn from both (KTO).
        seed: which of several are taken.
    """

    arm: Arm = "verified"
    per_task: int = 4
    easy: float = 0.9
    per_easy_task: int = 1
    with_failed: bool = False
    seed: int = 0


@dataclass
class Kept:
    """What is trained on.

    Args:
        turns: ids of the answers.
        left_out: by reason, how many answers are not.
        tasks: by task, how many answers are.
        wanted: rows that the verified arm has of the same samples; a control that has fewer says so.
    """

    turns: set[str] = field(default_factory=set[str])
    left_out: Counter[str] = field(default_factory=Counter[str])
    tasks: Counter[str] = field(default_factory=Counter[str])
    wanted: int = 0
    reasons: dict[str, str] = field(default_factory=dict[str, str], repr=False)

    note = ""

    def refuses(self, row: Row) -> str:
        """See `Filter`. Of a row with several answers all that may be learned must be kept; a question is one that the
        model answers rightly at times: where all its answers are alike, GRPO has nothing to compare."""
        if isinstance(row, RlvrRow):
            return "" if 0.0 < row.correct_ratio < 1.0 else "nothing_to_compare"
        turns = row.provenance.turns
        # of a pair the first is what is preferred; what it is preferred to need not be kept
        return "" if turns and turns[0] in self.turns else self.reasons.get(turns[0] if turns else "", "not_kept")


def kept_of(samples: Sequence[CountedSample], rules: KeepingRules) -> Kept:
    """Chooses among all samples so far; the same ones each time.

    Args:
        samples: of all rounds that are trained on, the newest last.
        rules: what is kept.
    """
    verified = _distinct(samples, rules, lambda sample: sample.right)
    if rules.arm == "verified":
        return _with_failed(verified, samples, rules) if rules.with_failed else verified
    takes: Mapping[str, Callable[[CountedSample], bool]] = {
        "unverified": lambda _: True,
        "model-judged": lambda sample: sample.approved is True,
        "failed": lambda sample: not sample.right,
    }
    # any number of a task: an arm that knows no right ones can't tell an easy task
    free = KeepingRules(arm=rules.arm, per_task=max(len(samples), 1), easy=2.0, seed=rules.seed)
    control = _distinct(samples, free, takes[rules.arm])
    wanted = len(verified.turns)
    of = {sample.answer.turn.id: sample for sample in samples}
    in_lots = sorted(control.turns, key=lambda turn: _lot(rules.seed, of[turn].task, of[turn].key))
    chosen = in_lots[:wanted]
    for turn in control.turns - set(chosen):
        control.reasons[turn] = "more_than_verified"
        control.left_out["more_than_verified"] += 1
    control.turns = set(chosen)
    control.tasks = Counter(of[turn].task for turn in chosen)
    control.wanted = wanted
    return control


def _with_failed(verified: Kept, samples: Sequence[CountedSample], rules: KeepingRules) -> Kept:
    failed = _distinct(samples, replace(rules, per_task=max(len(samples), 1), easy=2.0), lambda one: not one.right)
    left = Counter(verified.tasks)
    for sample in sorted(samples, key=lambda one: _lot(rules.seed, one.task, one.key)):
        turn = sample.answer.turn.id
        if turn in failed.turns and left[sample.task] > 0:
            left[sample.task] -= 1
            verified.turns.add(turn)
    return verified


def _distinct(samples: Sequence[CountedSample], rules: KeepingRules, takes: Callable[[CountedSample], bool]) -> Kept:
    kept = Kept()

    def leave(sample: CountedSample, reason: str) -> None:
        kept.left_out[reason] += 1
        kept.reasons[sample.answer.turn.id] = reason

    by_task: dict[str, list[CountedSample]] = {}
    for sample in samples:
        by_task.setdefault(sample.task, []).append(sample)
    for task, own in by_task.items():
        share = sum(sample.right for sample in own) / len(own)
        most = rules.per_easy_task if share >= rules.easy else rules.per_task
        first: dict[str, CountedSample] = {}
        for sample in own:
            if not takes(sample):
                leave(sample, "not_wanted" if rules.arm != "verified" else "failed")
            elif sample.key in first:
                leave(sample, "same_solution")
            else:
                first[sample.key] = sample
        for place, sample in enumerate(sorted(first.values(), key=lambda one: _lot(rules.seed, task, one.key))):
            if place < most:
                kept.turns.add(sample.answer.turn.id)
                kept.tasks[task] += 1
            else:
                leave(sample, "easy_task" if most == rules.per_easy_task and share >= rules.easy else "enough_of_task")
    kept.wanted = len(kept.turns)
    return kept


def _lot(seed: int, task: str, key: str) -> str:
    """Draws lots: an order that only the seed, the task and the program decide, whichever run it came from."""
    return hashlib.sha256(f"{seed} {task} {key}".encode()).hexdigest()
