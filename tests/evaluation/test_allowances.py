"""What episodes might use, and whether two arms were allowed the same."""

from __future__ import annotations

from contextlib import aclosing
from pathlib import Path

import numpy as np
import pytest
from recorded_runs import ledger_at
from rows import episode, trials

from groundwire.core._seal import MemoryKeys
from groundwire.core._signals import Verdict
from groundwire.evaluation import Arm, JudgedSample, Trials, read_run, report_on
from groundwire.evaluation._allowances import Allowance, allowance_in, bounded, within
from groundwire.evaluation._comparing import Conclusion, compare
from groundwire.logs.runs import runs_in, write_run

LOGS = Path(__file__).parents[2].parent / "shared" / "data"


def policy(random: np.random.Generator, most: int, *, tasks: int = 100, chance: float = 0.12) -> Trials:
    """A policy that tries until it succeeds, and may try so often."""
    drawn = random.geometric(chance, tasks)
    return trials(
        *(
            episode(f"{at}", "-" * (first - 1) + "+" if first <= most else "-" * most, task=f"t{at}", tokens=100)
            for at, first in enumerate(drawn)
        )
    )


def test_equal_policies_are_not_called_helped_because_one_may_try_more_often() -> None:
    """15 tries against 7: called `helped` in nearly all of 60 simulations while spending was compared."""
    random = np.random.default_rng(23)
    told = [compare(policy(random, 15), policy(random, 7)) for _ in range(60)]
    assert sum(one.answer is not Conclusion.CANT_TELL for one in told) <= 6
    assert abs(np.mean([one.difference or 0.0 for one in told])) < 0.02
    assert all(one.allowed.is_equal for one in told)
    assert "allowed 15 trials against 7 trials, both cut to 7 trials: equal; tokens" in told[0].sentence()


def test_an_arm_that_solved_all_is_no_reason_to_cut_the_other() -> None:
    told = compare(trials(episode("a", "-+", task="t")), trials(episode("b", "---+", task="t")))
    assert (told.difference, told.allowed.was_cut) == (0, False)
    assert "neither came to an end of what it was allowed: equal" in told.sentence()
    told = compare(trials(episode("a", "-+", task="t")), trials(episode("b", "-", task="t")))
    assert told.difference == 1, "cut to a single try, nothing of what comes after it would be compared"
    assert told.sentence().startswith("NOT equal: can't tell") and "against 1 trial: NOT equal" in told.sentence()


def test_what_the_run_says_counts_before_what_was_seen() -> None:
    seen = trials(episode("a", "--", task="t", tokens=100, seconds=3.0))
    assert bounded(seen, Allowance()).trials == 2
    assert bounded(seen, Allowance(trials=9)).trials == 9
    assert len(within(seen, Allowance(tokens=100))) == 1, "a try begins while fewer were used"
    assert len(within(seen, Allowance(tokens=101))) == 2
    assert len(within(seen, Allowance(seconds=3.0))) == len(within(seen, Allowance(samples=1))) == 1
    told = compare(seen, trials(episode("b", "--", task="t", tokens=100)), control_allowed=Allowance(tokens=50))
    assert str(told.allowed) == "allowed 2 trials against 2 trials, 50 tokens, both cut to 2 trials, 50 tokens: equal"
    assert allowance_in({"cli": {"settings": {"max_trials": 3, "max_tokens": 9}}}) == Allowance(trials=3, tokens=9)
    assert allowance_in({"imported": {"trials": None, "allowed_trials": 7}}) == Allowance(trials=7)


def test_wider_tries_are_not_equal() -> None:
    samples = (JudgedSample("a", Verdict.FAIL), JudgedSample("b", Verdict.FAIL))
    wide, narrow = trials(episode("a", "-", task="t", samples=samples)), trials(episode("b", "-", task="t"))
    told = compare(wide, narrow).sentence()
    assert told.startswith("NOT equal: can't tell") and "2 against 1 candidates a try: NOT equal" in told


@pytest.mark.parametrize(("held_to", "equal"), [("allowance", True), ("spending", False)])
def test_a_control_that_was_held_to_spending_is_not_equal(held_to: str, equal: bool) -> None:
    told = compare(trials(episode("a", "-+", task="t")), trials(episode("b", "----", task="t")), held_to=held_to)
    assert told.allowed.is_equal is equal and told.sentence().startswith("NOT equal: ") is not equal


@pytest.mark.skipif(not LOGS.is_dir(), reason="the published logs are not on this machine")
@pytest.mark.parametrize(
    ("folder", "names", "allowed", "points", "pairs"),
    [
        ("reflexion_alfworld", ("reflexion", "base"), (15, 7), 16.4, None),
        ("reflexion_hotpotqa", ("react_reflexion", "react_base"), (7, 5), 17.0, (18, 1)),
    ],
)
async def test_published_logs_are_compared_within_the_smaller_allowance(
    folder: str,
    names: tuple[str, str],
    allowed: tuple[int, int],
    points: float,
    pairs: tuple[int, int] | None,
    tmp_path: Path,
) -> None:
    logged = {run.name.partition("/")[2]: run for run in runs_in(LOGS / folder)}
    keys, arms = MemoryKeys(), list[Arm]()
    async with aclosing(ledger_at(tmp_path)) as store:
        for name in names:
            await write_run(store, logged[name], key=keys.create(name), run_id=name)
            (run,) = await store.runs(prefix=name)
            arms.append(await read_run(store, run))
    told, _ = report_on(arms, control=names[1]).arms
    compared = told.against[0].comparison
    assert (compared.allowed.arm.trials, compared.allowed.control.trials) == allowed
    assert compared.allowed.both.trials == min(allowed) and compared.allowed.was_cut
    assert compared.difference is not None and round(100 * compared.difference, 1) == points
    # counted question by question in the log's text: each log has its questions in an order of its own
    assert pairs is None or (compared.better, compared.worse) == pairs
