"""Which files and lines a failure points at."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from groundwire.agents.patching._project_view import relevance_of
from groundwire.core._signals import Origin

if TYPE_CHECKING:
    from conftest import Scene

FILES = {"shop/price.py": "a\n", "shop/tax.py": "b\n", "price.py": "c\n", "tests/test_price.py": "d\n"}


def test_frames_cases_coverage_and_changes(scene: Scene) -> None:
    task = scene.task(FILES)
    message = (
        'Traceback:\n  File "/sandbox/work/shop/price.py", line 12, in total\nshop/tax.py:7: in rate\n'
        "/usr/lib/python3.11/json/decoder.py:355: JSONDecodeError\n./tests/test_price.py:3: AssertionError"
    )
    failing = scene.judged(scene.base(task), [("tests/test_price.py::TestTotal::test_some[a::b]", message)])
    coverage = {
        "tests/test_price.py::TestTotal::test_some[a::b]": {"shop/tax.py": (1, 2), "gone.py": (1,)},
        "tests/test_price.py::test_other": {"price.py": (5,)},
    }
    found = relevance_of(task.tree, failing.signal, coverage, ["price.py"])
    assert dict(found.lines) == {"shop/price.py": {12}, "shop/tax.py": {7}, "tests/test_price.py": {3}}
    assert dict(found.covered) == {"shop/tax.py": {1, 2}}
    assert sorted(found.score, key=lambda p: -found.score[p]) == [
        "shop/tax.py",
        "tests/test_price.py",
        "shop/price.py",
        "price.py",
    ]
    assert found.test_files == ["tests/test_price.py"]


def test_names_of_tests(scene: Scene) -> None:
    task = scene.task(FILES)
    names = ["tests/test_price.py::test_a[1]", "tests/test_price.py::TestX::test_b", "tests/test_price.py", "odd id"]
    failing = scene.judged(scene.base(task), [(name, "") for name in names])
    found = relevance_of(task.tree, failing.signal)
    assert found.test_names == {"test_a", "test_b"}


def test_hidden_tests_point_at_nothing(scene: Scene) -> None:
    task = scene.task(FILES)
    failing = scene.judged(scene.base(task), [("tests/test_price.py::t", "price.py:1")], origin=Origin.HIDDEN_TESTS)
    found = relevance_of(task.tree, failing.signal, {"tests/test_price.py::t": {"price.py": (1,)}})
    assert not found.score and not found.test_files


def test_floods_take_no_time(scene: Scene) -> None:
    task = scene.task(FILES)
    for flood in ("a" * 3_000_000, "a/" * 1_500_000, "price.py:1 " * 300_000, "a.p" * 1_000_000):
        failing = scene.judged(scene.base(task), [(flood, flood)], stdout=flood)
        began = time.process_time()
        relevance_of(task.tree, failing.signal)
        assert time.process_time() - began < 2


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=120), st.text(max_size=120))
def test_any_message_points_only_at_files_there_are(scene: Scene, name: str, message: str) -> None:
    task = scene.task(FILES)
    failing = scene.judged(scene.base(task), [(name, message)])
    found = relevance_of(task.tree, failing.signal)
    assert set(found.score) | set(found.lines) | set(found.test_files) <= set(task.tree.files)
