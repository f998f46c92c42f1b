"""All metrics together, the episodes behind them, and what is said first."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from rows import episode, trials

from groundwire.core._signals import Origin
from groundwire.evaluation import Arm, RunFacts, TrialRow, Trials, TrialStep
from groundwire.evaluation._comparing import Conclusion
from groundwire.evaluation._measuring import (
    SELF,
    Flips,
    as_data,
    attempts,
    correction,
    decompose,
    history_calibration,
    measure,
    outcome,
    pass_at_k,
    pass_hat_k,
    rss,
)
from groundwire.evaluation._rates import Rate
from groundwire.evaluation._table import LINES, MEANS, SETS, episode_sets, groups_of
from groundwire.evaluation._verdicts import report_on
from groundwire.evaluation.page import render_page


def drawn(seed: int, count: int = 60) -> Trials:
    """Episodes of every kind."""
    random = np.random.default_rng(seed)
    rows: list[Sequence[TrialRow]] = []
    for at in range(count):
        length = int(random.integers(1, 5))
        verdicts = "".join(random.choice(list("+-?"), length, p=[0.4, 0.5, 0.1]))
        hidden = "".join(random.choice(list("+-?"), int(random.integers(0, length + 1))))
        origins = [Origin.TESTS if random.random() < 0.8 else Origin.MODEL_TESTS for _ in range(length)]
        first = int(random.integers(0, 2))
        rows.append(
            episode(
                f"e{at}",
                verdicts,
                task=f"t{at // 2}",
                hidden=hidden,
                origin=origins,
                trial=list(range(first, first + length)),
                candidate=[f"c{random.integers(3)}" for _ in range(length)],
                lessons=[int(random.integers(0, 2)) for _ in range(length)],
                judgings=[int(random.integers(0, 2)) for _ in range(length)],
                has_hidden=at % 3 == 0,
                tokens=int(random.integers(1, 500)),
            )
        )
    return trials(*rows)


@pytest.mark.parametrize("seed", range(5))
def test_every_number_has_its_episodes(seed: int) -> None:
    rows = drawn(seed)
    told, sets = measure(rows), {name: len(numbers) for name, numbers in episode_sets(rows).items()}
    assert sets.keys() == SETS.keys()
    assert sets["first"] == told.outcome.first_try.part
    assert sets["solved"] == told.outcome.final.part == told.cost.successes
    assert sets["solved"] + sets["unsolved"] + sets["given"] == told.outcome.episodes
    assert (sets["fixes"], sets["breaks"]) == (told.correction.fixes, told.correction.breaks)
    assert (sets["false"], sets["given"]) == (told.correction.false_passes, told.outcome.already_passing)
    assert (sets["unverified"], sets["none"]) == (told.outcome.unverified.part, told.outcome.no_verdict.part)
    assert sets["unjudged"] == told.outcome.unjudged.part
    assert (sets["lessons"] > 0) == (told.memory.hits.part > 0)
    assert told.outcome.by_round[-1] == told.outcome.final
    assert json.loads(json.dumps(as_data(told), allow_nan=False))["outcome"]["final"]["part"] == sets["solved"]


def test_nothing_is_measured_of_nothing() -> None:
    report = report_on([Arm(name="empty", trials=trials()), Arm(name="one", trials=trials(episode("a", "+")))])
    empty, one = report.arms
    assert empty.verdict.text.startswith("can't tell if reflection helped (n = 0)")
    assert empty.remarks[0].text == "nothing was tried, so there is no success rate"
    assert empty.measured.cost.tokens_per_success is None
    assert (empty.label, one.label) == ("A", "B")
    json.dumps(as_data(empty.measured), allow_nan=False)
    assert render_page(report).count("can&#39;t tell if reflection helped") == 2


def test_remarks_say_what_the_numbers_have_to_be_read_with() -> None:
    rows = trials(
        episode("a", "+", hidden="-"),
        episode("b", "+", origin=Origin.MODEL_TESTS),
        episode("c", "+", trial=0),
        episode("d", "?", judgings=1, oracle=True),
    )
    facts = RunFacts(grounded=False, trust=("human",))
    (told,) = report_on([Arm(name="r", trials=rows, facts=facts)]).arms
    said = "\n".join(remark.text for remark in told.remarks)
    for part in (
        "1 of 1 answer that passed failed the hidden tests (100.0 %)",
        "counted as wrong: 1 first try judged by a model's tests, opinions, or visible tests alone",
        "counted as unsolved: 1 answer that passed only a model's tests",
        "counted as unsolved: 1 episode that ended without a verdict",
        "in no rate: 1 task that passed before anything was tried",
        "NOT grounded",
        "oracle: the answer key was used",
        "opinions were trusted here: human",
    ):
        assert part in said


def test_model_written_tests_that_pass_wrong_code_hurt_and_it_is_said_plainly() -> None:
    """Row 24 in small: of 400 tasks, 40 right first tries are rewritten since a model's test is wrong."""
    names = [f"t{at}" for at in range(400)]
    simple = trials(*(episode(n, "+", hidden="+" if at % 5 else "-") for at, n in enumerate(names)))
    reflecting = trials(
        *(
            episode(
                n, "-+" if at % 10 == 3 else "+", hidden="+-" if at % 10 == 3 else "+" if at % 5 else "-",
                origin=Origin.MODEL_TESTS,
            )
            for at, n in enumerate(names)
        )
    )  # fmt: skip
    told, _ = report_on(
        [Arm(name="with", trials=reflecting), Arm(name="without", trials=simple)], control="without"
    ).arms
    assert told.verdict.answer is Conclusion.HURT
    assert told.verdict.text.startswith("NOT equal: reflection hurt (n = 400): -10.0 points")
    assert told.measured.correction.breaks == 40
    assert told.measured.correction.false_passes == 120


def test_each_control_is_beside_its_run_and_blind_resampling_comes_first() -> None:
    def arm(name: str, right: str, control: str = "") -> Arm:
        rows = trials(*(episode(f"t{at}", said) for at, said in enumerate(right)))
        return Arm(name=name, trials=rows, facts=RunFacts(control=control, control_of="main" if control else ""))

    arms = [arm("u", "-" * 20, "ungrounded"), arm("main", "+" * 20), arm("r", "+" * 20, "resampling")]
    ungrounded, main, _ = report_on(arms).arms
    assert [(a.control, a.what) for a in main.against] == [("C", "reflection"), ("A", "the outside signal")]
    assert main.verdict.text.startswith("can't tell if reflection helped (n = 20): no difference")
    assert main.remarks[0].text.startswith("beside A: the outside signal helped (n = 20): +100.0 points")
    assert ungrounded.verdict.text.startswith("this is a control arm")


def test_history_foretells_what_comes_later() -> None:
    random = np.random.default_rng(1)
    rows = [
        episode(
            str(at), "+" if random.random() < (0.9 if at % 2 else 0.1) else "-", model="large" if at % 2 else "small"
        )
        for at in range(150)
    ]
    told = history_calibration(trials(*rows))
    assert told is not None
    assert told.n == 50
    assert told.auroc is not None
    assert told.auroc > 0.8
    assert told.coverage[0] >= told.coverage[-1]
    assert history_calibration(trials(*rows[:20])) is None


def test_what_a_name_does_not_tell_has_a_line_on_the_page() -> None:
    steps = (TrialStep("a", ok=False), TrialStep("b", ok=True))
    rows = trials(episode("a", "-+", steps=steps), episode("b", "+", steps=steps), episode("c", "+-"))
    page = render_page(report_on([Arm(name="a", trials=rows)]))
    for name in ("CL, right ones kept", "CS, wrong ones fixed", "RSS", "first step failed (Trap@1)", "H.5, steps"):
        assert re.search(f"<th>{re.escape(name)}[^<]*<small class=.means.>[^<]+</small>", page), name


def test_lines_that_no_arm_has_a_number_for_are_left_out() -> None:
    report = report_on([Arm(name="a", trials=trials(episode("a", "+")))])
    names = {line.name for group in groups_of(report) for line in group.lines}
    assert names <= set(LINES) and set(MEANS) <= set(LINES)
    assert "tries with lessons" not in names, "0.0 % would say that there is no memory where it holds no lesson"
    assert "answer right" in names
    assert not names & {"RSS", "H.5, steps until half have failed", "oracle@k"}
    assert "Steps" not in {group.title for group in groups_of(report)}


# Fixes, breaks, and what is kept.


def test_the_worked_example_of_row_50() -> None:
    p = np.full(10, 0.6)
    told = decompose(p, p * 0.9, (1 - p) * 0.3)
    assert (told.acc1, told.cl, told.cs) == pytest.approx((0.6, 0.9, 0.3))
    assert (told.acc2, told.rss) == pytest.approx((0.66, 0.625))
    assert rss(1.0, 1.0) is None
    assert rss(0.0, 0.5) is None
    ones = np.ones(3)
    assert decompose(ones, ones, 0 * ones).cs is None
    assert decompose(ones, ones, 0 * ones).rss is None


@given(arrays(float, (3, 7), elements=st.floats(0, 1)))
def test_acc2_is_what_the_formula_says(drawn: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> None:
    p, b, c = drawn
    told = decompose(p, p * b, (1 - p) * c)
    if told.acc1 is None or told.acc2 is None:
        raise AssertionError("there were items")
    assert told.acc2 == pytest.approx(told.acc1 * (told.cl or 0) + (1 - told.acc1) * (told.cs or 0), abs=1e-9)


def test_an_episode_counts_from_its_first_try_to_its_answer() -> None:
    told = correction(
        trials(
            episode("fixed", "--+", hidden="?-+"),
            episode("broken", "-+", hidden="+-"),
            episode("kept", "+", hidden="+"),
            episode("lasting", "--"),
            episode("unknown", "-+", origin=Origin.MODEL_TESTS),
            episode("passing", "+", trial=0),
        )
    )
    assert (told.episodes, told.fixes, told.breaks) == (4, 1, 1)
    assert (told.false_passes, told.claimed) == (1, 3)
    assert (told.scores.acc1, told.scores.acc2) == (0.5, 0.5)
    assert (told.scores.cl, told.scores.cs, told.scores.rss) == (0.5, 0.5, 0.5)


def test_flips_are_split_by_what_opened_the_gate_and_by_round() -> None:
    """Rows 29 and 67."""
    told = correction(
        trials(
            episode("a", "-+"),
            episode("b", "+-", trigger=[None, None]),
            episode("c", "-+-", trigger=[None, Origin.OTHER_MODEL, Origin.OTHER_MODEL]),
            episode("d", "-+", trial=[0, 1]),
        )
    )
    assert told.by_origin == {SELF: Flips(0, 1, 1), "tests": Flips(1, 0, 1), "other_model": Flips(1, 1, 2)}
    assert told.by_round == {2: Flips(2, 1, 3), 3: Flips(0, 1, 1)}


def test_items_are_tasks_whatever_their_number_of_samples() -> None:
    """Five right samples of one task weigh as much as one wrong one of another."""
    seeds = [episode(f"a{at}", "+", task="a") for at in range(5)]
    told = correction(trials(*seeds, episode("b", "-+")))
    assert (told.scores.acc1, told.scores.acc2) == (0.5, 1.0)
    nothing = correction(trials())
    assert (nothing.episodes, nothing.scores.acc1) == (0, None)


# How often tasks are solved.


def test_a_pass_that_the_hidden_tests_never_judged_is_not_known_to_be_right() -> None:
    """Both arms alike; a FAIL refutes all the same."""
    rows = trials(
        episode("unjudged", "-+", has_hidden=True),
        episode("judged", "-+", hidden="?+", has_hidden=True),
        episode("has none", "-+"),
    )
    told = measure(rows)
    assert (told.outcome.final, told.outcome.unjudged, told.outcome.unverified) == (Rate(2, 3), Rate(1, 3), Rate(0, 3))
    assert (told.correction.episodes, told.correction.fixes) == (2, 2)
    assert {name: at.tolist() for name, at in episode_sets(rows).items() if name in ("solved", "unjudged")} == {
        "solved": [1, 2],
        "unjudged": [0],
    }
    said = [remark.text for remark in report_on([Arm(name="a", trials=rows)]).arms[0].remarks]
    assert "counted as unsolved: 1 answer that passed and that the hidden tests never judged" in said


def test_pass_at_4_and_pass_hat_4_of_three_right_and_one_wrong() -> None:
    """Row 101."""
    n, c = np.array([4]), np.array([3])
    assert pass_hat_k(n, c, 4) == 0
    assert pass_at_k(n, c, 4) == 1


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_both_are_the_share_of_all_ways_to_draw(k: int) -> None:
    """Unbiased: the same as going through every subset."""
    tasks = [[1, 1, 0, 0, 0, 1], [0, 0, 0, 0, 0, 0], [1, 1, 1, 1, 1, 1], [1, 0]]
    enough = [task for task in tasks if len(task) >= k]
    ways = [list(combinations(task, k)) for task in enough]
    n, c = np.array([len(task) for task in tasks]), np.array([sum(task) for task in tasks])
    assert pass_at_k(n, c, k) == pytest.approx(np.mean([np.mean([any(w) for w in task]) for task in ways]))
    assert pass_hat_k(n, c, k) == pytest.approx(np.mean([np.mean([all(w) for w in task]) for task in ways]))
    assert pass_at_k(n, c, 7) is None


def test_a_run_is_told_by_round_and_may_fall() -> None:
    told = outcome(
        trials(
            episode("a", "-+", stop="verified"),
            episode("b", "+", stop="verified"),
            episode("c", "---", hidden="+--", stop="budget_trials"),
            episode("d", "+", trial=0, stop="already_passing"),
            episode("e", "-?", judgings=1, stop="no_verdict"),
            episode("f", "+", origin=Origin.MODEL_TESTS, stop="internal_pass"),
            episode("g", "?", trial=0, stop="model_error"),
            episode("h", "-?", judgings=[1, 0], stop="exhausted"),
        )
    )
    assert (told.tasks, told.episodes, told.already_passing) == (8, 8, 1)
    assert (told.first_try, told.final) == (Rate(2, 7), Rate(2, 7))
    assert [r.part for r in told.by_round] == [0, 2, 2, 2], "c was right after round 1, and is no longer"
    assert (told.unverified, told.no_verdict) == (Rate(1, 7), Rate(2, 7)), "h's answer failed, and nothing came after"
    assert told.stops["verified"] == 2
    assert told.final.interval == pytest.approx((0.0367, 0.7096), abs=1e-4)
    nothing = outcome(trials())
    assert (nothing.episodes, nothing.final.value, nothing.by_round) == (0, None, ())


def test_attempts_are_episodes_of_one_task() -> None:
    seeds = [episode(f"a{at}", said, task="a", seed=at) for at, said in enumerate(["+", "+", "+", "-"])]
    one, two, four = attempts(trials(*seeds, episode("b", "-")))
    assert (one.k, one.tasks, one.at_least_one) == (1, 2, pytest.approx(0.375))
    assert (two.at_least_one, two.all_of_them) == (1.0, pytest.approx(0.5))
    assert (four.k, four.tasks, four.at_least_one, four.all_of_them) == (4, 1, 1.0, 0.0)
