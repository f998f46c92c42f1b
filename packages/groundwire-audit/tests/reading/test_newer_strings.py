"""f-strings of Python 3.12 are read by an older Python too."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from audit_cases import written

from groundwire_audit._discover import audit_path
from groundwire_audit.reading._newer_strings import with_sums


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ('a = f"x {d["k"]} y"', 'a = ("" + str(d["k"]))'),
        ("a = f'{x!r:>{n}} {y:%H:%M} {z=}'", 'a = ("" + str(x) + str(y) + str(z))'),
        ("a = f'{{}} {\"\\n\".join(x)}'", 'a = ("" + str("\\n".join(x)))'),
        ("a = f'{a != b} {(lambda: 1)()} {d[1:2]}'", 'a = ("" + str(a != b) + str((lambda: 1)()) + str(d[1:2]))'),
        ("a = f'{f'{f'{1}'}'}'", 'a = ("" + str(("" + str(("" + str(1))))))'),
        ("a = rf'{x}\\d' + b'{y}' + 'f{z}'  # f'{", "a = (\"\" + str(x)) + b'{y}' + 'f{z}'  # f'{"),
        ("a = ('x' f'{y}'\n  'z')", "a = ('x' + (\"\" + str(y))\n  + 'z')"),
        ("'x'\nf'{y}'", "'x'\n(\"\" + str(y))"),
        ("selff = buf['k']", "selff = buf['k']"),
        ("a = f'{x", "a = f'{x"),
    ],
)
def test_an_f_string_becomes_a_sum_of_what_is_in_it(source: str, wanted: str) -> None:
    assert with_sums(source) == wanted


def test_all_lines_stay_where_they_are() -> None:
    source = 'a = f"""one\n{x}\ntwo {\ny["k"]} \n"""\nb = 1\n'
    assert ast.parse(with_sums(source)).body[1].lineno == source.split("\n").index("b = 1") + 1


def test_a_file_of_a_newer_python_keeps_its_loops(tmp_path: Path) -> None:
    source = """
from openai import OpenAI
client = OpenAI()
def ask(d):
    return client.responses.create(model="m", input=f"Task: {d["task"]} {"\\n".join(d["notes"])}").output_text
def refine(d):
    while "GOOD" not in ask(d):
        d["notes"].append(ask(d))
"""
    report = audit_path(written(source, tmp_path))
    assert [(x.path, str(x.verdict)) for x in report.loops] == [("refine ⟲", "ungrounded")]
    assert not report.findings


def test_what_is_nested_too_deep_stays_as_it_is() -> None:
    source = "x = " + 'f"{' * 2000 + "1" + '}"' * 2000 + "\n"
    assert with_sums(source) == source
