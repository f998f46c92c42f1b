"""The labelled loops of bench/audit_set: enough of them, split by a hash, and no mistake but those that are known."""

from __future__ import annotations

import importlib.util
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

MISTAKES = {
    ("browser_actions.py", "grounded", "partly"),
    ("browser_actions.py", "tool_loop", "partly"),
    ("haiku_syllables.py", "grounded", "ungrounded"),
    ("trip_replanner.py", "partly", "tool_loop"),
    # of the kinds beyond a StateGraph
    ("plain_more.py", "grounded", "unknown"),
    ("teams_more.py", "ungrounded", "partly"),
    ("crew_flows.py", "(not labelled)", "tool_loop"),
}
BENCH = Path(__file__).parents[1] / "bench" / "bench_audit.py"


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    spec = importlib.util.spec_from_file_location("bench_audit", BENCH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["bench_audit"] = module
    spec.loader.exec_module(module)
    return module


def test_the_set_is_large_enough_and_split_by_a_hash(bench: ModuleType) -> None:
    cases = bench.cases()
    loops = Counter[str]()
    for case in cases:
        assert case.path.exists(), case.file
        loops[case.half] += sum(not x.optional for x in case.loops)
    assert loops["tuning"] + loops["held_out"] >= 60
    assert abs(loops["tuning"] - loops["held_out"]) <= 10
    assert len({(c.folder, c.file, c.pattern) for c in cases}) == len(cases)


def test_the_mistakes_are_those_that_are_known(bench: ModuleType) -> None:
    found = [o for case in bench.cases() for o in bench.outcomes(case)]
    assert {(o.file, o.expected, o.got) for o in found if o.expected != o.got} == MISTAKES
    assert bench.table(found)["ungrounded"]["there"] >= 40


def test_an_interval_holds_its_proportion(bench: ModuleType) -> None:
    assert bench.wilson(0, 0) == (0.0, 1.0)
    for right, total in ((0, 5), (5, 5), (44, 49)):
        low, high = bench.wilson(right, total)
        assert 0 <= low <= right / total <= high <= 1
