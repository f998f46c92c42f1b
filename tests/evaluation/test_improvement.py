"""Whether training made a model better, by tasks; when a loop has to stop; and what its report says of both."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import replace

import pytest

from groundwire.evaluation._comparing import Conclusion
from groundwire.evaluation._improvement import SelfTraining, Shares, TaskShare, figures_of, gain_of
from groundwire.evaluation._measuring import as_data
from groundwire.evaluation.page._improvement import (
    TRAIN,
    ImprovedModel,
    ImprovementReport,
    as_markdown,
    as_page,
    plots_of_improvement,
)


def shares(right: Sequence[int], samples: int = 10) -> Shares:
    return {f"t{n}": TaskShare(samples=samples, right=count) for n, count in enumerate(right)}


def drawn(share: float, tasks: int = 120, seed: int = 0) -> Shares:
    draw = random.Random(seed)
    return shares([sum(draw.random() < share for _ in range(10)) for _ in range(tasks)])


def test_a_gain_is_paired_by_task_and_says_what_was_learned_and_unlearned() -> None:
    gain = gain_of(shares([0, 5, 2, 0]), shares([3, 5, 0, 0]))
    assert (gain.before, gain.after) == (pytest.approx(7 / 40), pytest.approx(8 / 40))
    assert (gain.better, gain.worse) == (1, 1) and gain.answer is Conclusion.CANT_TELL
    assert list(gain.learned) == ["t0"] and list(gain.unlearned) == ["t2"]
    assert "can't tell if training helped (n = 4 tasks)" in gain.sentence()


def test_only_tasks_that_both_answered_are_compared_and_nothing_right_before_gives_no_ratio() -> None:
    gain = gain_of(shares([0, 0]), {**shares([4, 0, 9])})
    assert gain.tasks == 2 and gain.ratio is None and gain.ratio_low is None
    assert gain_of({}, {}).tasks == 0 and gain_of(shares([1]), shares([2])).low is None


def test_a_clear_gain_is_told_with_intervals_that_hold_it() -> None:
    gain = gain_of(drawn(0.2), drawn(0.4, seed=1))
    assert gain.answer is Conclusion.HELPED and gain.ratio is not None and gain.low is not None
    assert gain.low < 0.2 and gain.ratio_low is not None and 1.3 < gain.ratio_low < gain.ratio
    assert gain.ratio_high is not None and gain.ratio < gain.ratio_high and "training helped" in gain.sentence()


def test_figures_are_means_over_tasks_with_an_interval() -> None:
    figures = figures_of(shares([10, 0]), 0.5)
    assert (figures.tasks, figures.samples, figures.right, figures.any_right) == (2, 20, 0.5, 1)
    assert figures_of(shares([3]), None).low is None
    wide = figures_of(drawn(0.3), 1.0)
    assert wide.low is not None and wide.high is not None and wide.low < wide.right < wide.high


def loop(**told: object) -> SelfTraining:
    fine = SelfTraining(
        trained_on=(0.2, 0.3), kept=(0.2, 0.3), diversity=(0.8, 0.7), evaluated=(drawn(0.2), drawn(0.3, seed=1))
    )
    return replace(fine, **told)


def test_a_loop_that_gets_better_goes_on() -> None:
    assert loop().why_stop() == ""


def test_it_stops_where_less_is_right_and_no_less_is_kept_twice_in_a_row() -> None:
    why = loop(trained_on=(0.4, 0.3, 0.2), kept=(0.5, 0.5, 0.6)).why_stop()
    assert why.startswith("error avalanche: by round 2")
    assert loop(trained_on=(0.4, 0.3, 0.2), kept=(0.4, 0.3, 0.2)).why_stop() == "", "a check that lets less through"


def test_it_stops_where_the_eval_set_has_fallen_below_its_best_round_and_hands_that_one_on() -> None:
    fallen = loop(evaluated=(drawn(0.2), drawn(0.5, seed=1), drawn(0.2, seed=2)))
    assert fallen.why_stop().startswith("the verified accuracy has fallen since round 1: training hurt")
    assert fallen.best == 1 and loop(evaluated=(shares([3]), shares([3]))).best == 0


def test_it_stops_where_all_answers_become_the_same() -> None:
    assert loop(diversity=(0.8, None, 0.19)).why_stop().startswith("diversity collapsed: 0.19")
    assert loop(diversity=(None, None)).why_stop() == ""


HOSTILE = "<script>alert(1)</script> | `x` \x1b[31m"


def report() -> ImprovementReport:
    sets = {HOSTILE: drawn(0.2), TRAIN: drawn(0.3)}
    first = {name: figures_of(own, 0.5) for name, own in sets.items()}
    models = [
        ImprovedModel(number=0, folder="base", revision="aa", figures=first, gains={}, runs={HOSTILE: "0193"}),
        ImprovedModel(
            number=1, folder="round-1", revision="bb", figures=first, rows=7, rows_digest="cc", left_out={"failed": 3},
            gains={HOSTILE: gain_of(sets[HOSTILE], sets[TRAIN])}, seconds={"train": 12.0},
            trained={"steps": 4, "loss": 0.5, "versions": {"trl": "1"}},
        ),
    ]  # fmt: skip
    return ImprovementReport(
        title=HOSTILE, about={"arm": HOSTILE}, models=models, best=1, stopped=HOSTILE, held_out="none of them"
    )


def test_the_report_escapes_what_it_shows_and_holds_its_plots() -> None:
    page = as_page(report())
    assert "<script" not in page and "\x1b" not in page and page.count("<svg") == 2
    markdown = as_markdown(report(), ["curve.svg"])
    assert "<script" not in markdown and "\x1b" not in markdown and "![](curve.svg)" in markdown
    rows = [line for line in markdown.splitlines() if line.startswith("| 1 |")]
    assert rows and all(line.count(" | ") == line.replace("\\|", "").count(" | ") for line in rows)
    assert "failed 3" in markdown and "trl 1" in markdown
    assert [plot.title for plot in plots_of_improvement(report())] == [
        "Right samples by round", "Different programs by round"
    ]  # fmt: skip


def test_a_loop_that_trained_nothing_says_so_and_all_is_plain_data() -> None:
    nothing = replace(report(), models=report().models[:1])
    assert "Nothing was trained." in as_markdown(nothing)
    assert re.fullmatch(r"\d+\.\d+", f"{as_data(report())['models'][1]['gains'][HOSTILE]['ratio']:.4f}")
