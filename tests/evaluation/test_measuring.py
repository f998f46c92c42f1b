"""All metrics together, the episodes behind them, and what is said first."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
import pytest
from rows import episode, trials

from groundwire.core._signals import Origin
from groundwire.evaluation import Arm, RunFacts, TrialRow, Trials
from groundwire.evaluation._comparing import Answer
from groundwire.evaluation._measuring import as_data, history_calibration, measure
from groundwire.evaluation._table import SETS, episode_sets, groups_of
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
    assert (sets["lessons"] > 0) == (told.memory.hits.part > 0)
    assert told.outcome.by_round[-1] == told.outcome.final
    assert json.loads(json.dumps(as_data(told), allow_nan=False))["outcome"]["final"]["part"] == sets["solved"]


def test_nothing_is_measured_of_nothing() -> None:
    report = report_on([Arm(name="empty", trials=trials()), Arm(name="one", trials=trials(episode("a", "+")))])
    empty, one = report.arms
    assert empty.verdict.text.startswith("can't tell if reflection helped (n = 0)")
    assert empty.remarks[0].text == "nothing was tried: there is no rate of success"
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
        "1 of 1 answers that passed are wrong by hidden tests (100.0 %)",
        "1 first tries were judged by a model's tests or opinions only",
        "1 answers passed only tests that a model wrote",
        "1 episodes ended without a verdict",
        "1 tasks passed before anything was tried",
        "NOT grounded",
        "oracle: the answer key was used",
        "opinions count here: human",
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
    assert told.verdict.answer is Answer.HURT
    assert told.verdict.text.startswith("reflection hurt (n = 400): -10.0 points")
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


def test_lines_that_no_arm_has_a_number_for_are_left_out() -> None:
    report = report_on([Arm(name="a", trials=trials(episode("a", "+")))])
    names = {line.name for group in groups_of(report) for line in group.lines}
    assert "answer right" in names
    assert not names & {"RSS", "H.5, steps until half have failed", "oracle@k"}
    assert "Steps" not in {group.title for group in groups_of(report)}
