"""Mathematical equality by math-verify: what is equal has one form, and nothing hostile hangs or is run."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from groundwire.core._errors import ConfigError
from groundwire.core._math_form import PROGRAM, MathForm
from groundwire.core.math_equality import is_harmless

pytest.importorskip("math_verify", reason="needs the extra math: pip install 'groundwire[math]'")


@pytest.fixture(scope="module")
def form() -> Iterator[MathForm]:
    made = MathForm(seconds=60)
    yield made
    made.close()


@pytest.mark.parametrize(
    "equal",
    [["(x+1)^2", "x^2+2x+1", "x^2 + 1 + 2x"], ["\\sqrt{8}", "2\\sqrt{2}"], ["2^3", "8", "\\boxed{8.0}"], ["4!", "24"],
     ["\\frac{\\sqrt{3}}{3}", "\\frac{1}{\\sqrt{3}}", "sqrt(3)/3"], ["3x", "x*3"], ["y>5", "5<y"],
     ["\\binom{5}{2}", "10"],
     ["[0,1)", "[0,\\frac{2}{2})"]],
)  # fmt: skip
def test_what_is_equal_has_one_form(form: MathForm, equal: list[str]) -> None:
    assert len({form(text) for text in equal}) == 1


def test_what_is_not_equal_stays_apart_and_words_are_no_products_of_letters(form: MathForm) -> None:
    apart = ["[0,1)", "(0,1]", "(1,2)", "(2,1)", "12", "1/3", "0.333333", "x^2+1", "(x+1)^2", "\\frac{1}{x"]
    assert len({form(text) for text in apart}) == len(apart)
    assert len({form(text) for text in ("Paris", "Pairs", "CD", "DC", "5 km", "5 mk")}) == 6


def test_what_takes_too_long_equals_itself_and_the_next_one_is_compared_again(monkeypatch: pytest.MonkeyPatch) -> None:
    made = MathForm(seconds=60)
    assert made("\\sqrt{18}") == made("3\\sqrt{2}")
    made._seconds = 0.5  # pyright: ignore[reportPrivateUsage]  # loading took longer than any comparison may
    tower = "9^{9^{9^{9^{9}}}}"
    assert made(tower) == made(tower) and made(tower) != made("\\sqrt{18}")
    made._seconds = 60  # pyright: ignore[reportPrivateUsage]
    assert made("\\sqrt{50}") == made("5\\sqrt{2}")
    made.close()
    made.close()


def test_no_text_is_run(form: MathForm, tmp_path: Path) -> None:
    there = tmp_path / "there"
    for text in (f"__import__('pathlib').Path('{there}').touch()", f"\\text{{open('{there}','w')}}+1"):
        assert form(text) == form(text)
        asked = json.dumps({"said": text, "known": ["1", text]})
        done = subprocess.run(
            [sys.executable, "-I", "-B", str(PROGRAM)], input=f"{asked}\n", capture_output=True, text=True, check=True
        )
        assert done.stdout.startswith("ready\n")
    assert not there.exists()
    assert all(is_harmless(code) for code in ("Integer (42 )", "Float ('0.5' )", "-Integer (1 )", "Symbol ('x' )"))
    hostile = (
        "__import__('os')",
        "Integer (open('x'))",
        "Symbol('x').__class__",
        "(lambda: 1)()",
        "x",
        "1 if 1 else 2",
    )
    assert not any(is_harmless(code) for code in hostile)


def no_package(_name: str) -> None: ...


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", no_package)
    with pytest.raises(ConfigError, match=r"groundwire\[math\]"):
        MathForm()
    with pytest.raises(ConfigError, match="seconds"):
        MathForm(seconds=0)
