"""How strong the tests of a patch are said to be."""

from __future__ import annotations

import pytest

from groundwire.graphs.run._strength import Strength


@pytest.mark.parametrize(
    ("killed", "judged", "weak"),
    [(0, 0, False), (0, 1, True), (1, 1, False), (1, 2, False), (0, 2, True), (3, 8, True), (4, 8, False)],
)
def test_tests_are_weak_that_notice_less_than_half_of_what_there_was_to_notice(
    killed: int, judged: int, weak: bool
) -> None:
    """However little that was: a lone mutant that nobody notices says that nobody needs the line."""
    strength = Strength(killed, judged, ("a.py:1 x → (nothing)",) * (judged - killed))
    assert strength.is_weak is weak
    assert strength.as_data()["weak"] is weak


def test_a_clause_that_can_go_unnoticed_makes_tests_weak_whatever_else_they_notice() -> None:
    assert not Strength(7, 8, ("a.py:1 x → y",)).is_weak
    strength = Strength(7, 8, ("a.py:1 x or y → x",), untested=("a.py:1 x or y → x",))
    assert strength.is_weak
    assert strength.as_data()["untested"] == ["a.py:1 x or y → x"]


def test_so_does_a_patch_that_would_pass_them_without_solving_anything() -> None:
    strength = Strength(8, 8, anti_patterns=("a.py:1 f looks at nothing that it is given",))
    assert strength.is_weak
    assert strength.as_data()["anti_patterns"] == ["a.py:1 f looks at nothing that it is given"]
