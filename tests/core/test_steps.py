"""Steps of an answer: together they are the answer, byte for byte."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import example, given
from hypothesis import strategies as st

from groundwire.core._steps import Broken, StepRules, by_lines, first_broken


def not_empty(steps: Sequence[str]) -> str:
    return "" if steps[-1].strip() else "it says nothing"


@given(st.text())
@example("\r0\n")
def test_steps_make_the_answer_again(text: str) -> None:
    rules = StepRules(not_empty)
    assert "".join(rules.steps(text)) == text
    assert text.startswith("".join(by_lines(text)))


async def test_the_first_broken_step_is_named_whether_checks_wait_or_not() -> None:
    async def later(steps: Sequence[str]) -> str:
        return not_empty(steps)

    for check in (not_empty, later):
        assert await first_broken(StepRules(check), ["a", " ", "b", ""]) == Broken(2, "it says nothing")
        assert await first_broken(StepRules(check), ["a", "b"]) is None


def test_answers_that_are_the_same_in_a_row_are_stable() -> None:
    rules = StepRules(not_empty, answer=lambda step: step.strip("?"), stable=2)
    assert not rules.is_stable(["4", "5", "4"])
    assert rules.is_stable(["4", "5", "", "5?"]), "a step that states nothing does not count"
    assert not StepRules(not_empty, answer=str).is_stable(["4"] * 9)
