"""All metrics over a million synthetic trials, and the comparison with a control of as many: seconds and peak memory.

    python bench/bench_metrics.py            # 1,000,000 trials and the goal: under 60 s and 2 GB
    python bench/bench_metrics.py --trials 100000

The trials are drawn from a seeded generator: four rounds, a tenth of the tasks with several seeds, candidates, steps
and hidden verdicts, so that no metric has nothing to count.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from groundwire.core import Origin
from groundwire.evaluation import Labels, Ragged, Trials, compare
from groundwire.evaluation import _measuring as all_metrics
from groundwire.evaluation._rows import FAIL, NONE, ORIGINS, PASS

ROUNDS = 4
SEEDS = 4
SAMPLES = 3
STEPS = 2
GROUPS = (
    "outcome", "attempts", "correction", "confusion", "confusion_by_origin", "uptake", "process", "horizon", "width",
    "diversity", "drift", "memory_effect", "history_calibration", "cost", "provenance",
)  # fmt: skip
T = TypeVar("T")


def synthetic(count: int, seed: int) -> Trials:
    """Trials of episodes of four rounds each, in columns."""
    random = np.random.default_rng(seed)
    episode = np.arange(count) // ROUNDS
    episodes = int(episode[-1]) + 1
    task = episode // SEEDS
    trial = np.arange(count) % ROUNDS + 1
    right = random.random(count) < 0.2 + 0.1 * trial
    visible = np.where(right ^ (random.random(count) < 0.1), PASS, FAIL).astype(np.int8)
    hidden = np.where(random.random(count) < 0.7, np.where(right, PASS, FAIL), NONE).astype(np.int8)
    tests = ORIGINS.index(Origin.TESTS)
    n_samples, n_steps = count * SAMPLES, count * STEPS
    return Trials.from_columns(
        run=_constant(count, "run"),
        episode=Labels(episode.astype(np.int32), [f"e{at}" for at in range(episodes)]),
        task=Labels(task.astype(np.int32), [f"t{at}" for at in range(int(task[-1]) + 1)]),
        family=Labels((task % 20).astype(np.int32), [f"f{at}" for at in range(20)]),
        seed=episode % SEEDS,
        trial=trial,
        candidate=Labels(random.integers(0, count, count).astype(np.int32), [f"c{at}" for at in range(count)]),
        visible=visible,
        hidden=hidden,
        origin=np.where(random.random(count) < 0.8, tests, ORIGINS.index(Origin.MODEL_TESTS)).astype(np.int8),
        trigger=np.where(trial > 1, tests, -1).astype(np.int8),
        signature=Labels(random.integers(0, 6, count).astype(np.int32), ["", *(f"Error{at}" for at in range(5))]),
        model=Labels(random.integers(0, 2, count).astype(np.int32), ["small", "large"]),
        tokens=random.integers(100, 2_000, count),
        critical_tokens=random.integers(100, 500, count),
        usd=np.where(random.random(count) < 0.01, np.nan, random.random(count) / 100),
        seconds=random.random(count),
        calls=random.integers(1, 3, count),
        judgings=random.integers(1, 4, count),
        lessons=random.integers(0, 4, count),
        reflections=random.integers(0, 2, count),
        escalation=np.maximum(trial - 3, 0),
        oracle=random.random(count) < 0.01,
        stop=Labels((episode % 3).astype(np.int32), ["verified", "budget_trials", "exhausted"]),
        sampled=Ragged.of(np.full(count, SAMPLES)),
        sample_answer=Labels(random.integers(0, 5, n_samples).astype(np.int32), list("abcde")),
        sample_verdict=np.where(random.random(n_samples) < 0.3, PASS, FAIL).astype(np.int8),
        sample_weight=random.random(n_samples),
        stepped=Ragged.of(np.full(count, STEPS)),
        step_action=Labels(random.integers(0, 9, n_steps).astype(np.int32), list("abcdefghi")),
        step_ok=random.random(n_steps) < 0.8,
    )


def _constant(count: int, text: str) -> Labels:
    return Labels(np.zeros(count, dtype=np.int32), [text])


def timed(name: str, work: Callable[[], T]) -> T:
    """Does it, and says how long that took and the peak so far."""
    begun = time.perf_counter()
    result = work()
    print(f"{name:<22}{time.perf_counter() - begun:8.2f} s   peak {_peak_gb():.2f} GB")
    return result


def _peak_gb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def main() -> int:
    """Measures, and says whether the goal was met."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=1_000_000)
    count: int = parser.parse_args().trials
    trials = timed("drawing the trials", lambda: synthetic(count, 1))
    begun = time.perf_counter()
    for name in GROUPS:
        metric: Any = getattr(all_metrics, name)
        timed(name, lambda metric=metric: metric(trials))
    seconds, peak = time.perf_counter() - begun, _peak_gb()
    print(f"\nall metrics of {count:,} trials: {seconds:.1f} s, peak {peak:.2f} GB (goal: 60 s, 2 GB)")
    control = synthetic(count, 2)
    told = timed("compare with a control", lambda: compare(trials, control))
    print(told.sentence())
    return 0 if seconds < 60 and peak < 2 else 1


if __name__ == "__main__":
    sys.exit(main())
