"""Slices from failing assertions, against those worked out by hand."""

from __future__ import annotations

from textwrap import dedent
from typing import Any

import pytest

from groundwire.agents.search._slicing import Slicer
from groundwire.core._signals import CaseOutcome, CaseResult

CODE = dedent("""\
    LIMIT = 10


    def low(values):
        best = None
        count = 0
        for value in values:
            count += 1
            if best is None or value < best:
                best = value
        return best


    def share(values, part):
        total = 0
        seen = []
        for value in values:
            total += value
            seen.append(value)
        if total > LIMIT:
            return 1
        print(seen)
        return part / total
    """)
TEST = dedent("""\
    from app import low, share

    def test_low():
        values = [3, 1]
        other = share(values, 1)
        assert low(values) == 1

    def test_share():
        assert share([1], 2) == 2
    """)


def failing(name: str, message: str = "", path: str = "tests/test_app.py") -> CaseOutcome:
    return CaseOutcome(id=f"{path}::{name}", result=CaseResult.FAILED, message=message)


def lines(maker: Any, case: CaseOutcome, files: dict[str, str] | None = None, coverage: Any = None) -> set[int]:
    task = maker.task({"app.py": CODE, "tests/test_app.py": TEST, **(files or {})})
    found = Slicer(task, coverage).of(case)
    assert {path for path, _ in found} <= {"app.py"}
    return {line for _, line in found}


def test_what_the_assertion_did_not_see_is_left_out(maker: Any) -> None:
    message = "AssertionError: assert 3 == 1\n  tests/test_app.py:6 in test_low: assert low(values) == 1"
    found = lines(maker, failing("test_low", message))
    assert found == {4, 5, 7, 9, 10, 11}, "not the count, and nothing of share, which has no part in it"


def test_from_an_exception_in_the_project(maker: Any) -> None:
    message = (
        "ZeroDivisionError: division by zero\n"
        "  tests/test_app.py:9 in test_share: assert share([1], 2) == 2\n"
        "  app.py:23 in share: return part / total"
    )
    assert lines(maker, failing("test_share", message)) == {1, 14, 15, 17, 18, 20, 21, 23}


def test_only_what_ran_where_that_is_known(maker: Any) -> None:
    case = failing("test_share", "AssertionError\n  tests/test_app.py:9 in test_share: assert share([1], 2) == 2")
    ran = (15, 16, 17, 18, 19, 20, 22, 23)
    coverage = {case.id: {"app.py": ran}, "": {"app.py": (1, 4, 14)}}
    # line 21 did not run; without coverage it could have
    assert lines(maker, case, coverage=coverage) == {1, 14, 15, 17, 18, 20, 23}
    assert 21 in lines(maker, case)


def test_without_frames_the_whole_test_counts(maker: Any) -> None:
    assert lines(maker, failing("test_share")) == {1, 14, 15, 17, 18, 20, 21, 23}
    assert lines(maker, failing("test_low")) >= {10, 23}
    assert lines(maker, failing("gone")) == set()


@pytest.mark.parametrize("name", ["TestIt::test_it[1-2]", "TestIt.test_it"])
def test_methods_and_parameters(maker: Any, name: str) -> None:
    test = "from app import low\nclass TestIt:\n    def test_it(self):\n        assert low([1]) == 1\n"
    assert lines(maker, failing(name), {"tests/test_app.py": test}) == {4, 5, 7, 9, 10, 11}


def test_through_attributes_and_constructors(maker: Any) -> None:
    code = dedent("""\
        class Account:
            def __init__(self, owner, amount):
                self.owner = owner
                self.amount = amount

            def pay(self, sum):
                self.amount = self.amount - sum
                self.paid = True

            def left(self):
                return self.amount
        """)
    test = dedent("""\
        from app import Account
        def test_pay():
            account = Account("me", 10)
            account.pay(3)
            assert account.left() == 7
        """)
    case = failing("test_pay", "AssertionError\n  tests/test_app.py:5 in test_pay: assert account.left() == 7")
    found = lines(maker, case, {"app.py": code, "tests/test_app.py": test})
    assert found >= {4, 7, 11}
    assert not found & {3, 8}


def test_fixtures_are_calls(maker: Any) -> None:
    test = dedent("""\
        import pytest
        from app import low

        @pytest.fixture
        def lowest():
            yield low([1])

        def test_it(lowest):
            assert lowest == 1
        """)
    case = failing("test_it", "AssertionError\n  tests/test_app.py:9 in test_it: assert lowest == 1")
    assert lines(maker, case, {"tests/test_app.py": test}) == {4, 5, 7, 9, 10, 11}


def test_functions_that_call_each_other(maker: Any) -> None:
    code = "def even(n):\n    return n == 0 or odd(n - 1)\n\n\ndef odd(n):\n    return n and even(n - 1)\n"
    test = "from app import even\ndef test_it():\n    assert even(2)\n"
    case = failing("test_it", "AssertionError\n  tests/test_app.py:3 in test_it: assert even(2)")
    assert lines(maker, case, {"app.py": code, "tests/test_app.py": test}) == {1, 2, 5, 6}


def test_several_cases_together(maker: Any) -> None:
    task = maker.task({"app.py": CODE, "tests/test_app.py": TEST})
    both = [failing("test_share"), failing("test_low", "E\n  tests/test_app.py:6 in test_low: assert low(values) == 1")]
    together = Slicer(task).lines(both)
    assert together == Slicer(task).of(both[0]) | Slicer(task).of(both[1])


def test_files_that_cannot_be_parsed_are_no_trouble(maker: Any) -> None:
    broken = {"broken.py": "def (", "tests/test_broken.py": "\0", "deep.py": f"x = {'-' * 5000}1\n"}
    assert lines(maker, failing("test_share"), broken)
    hostile = failing("test_share", "  ../../etc/passwd:1 in x\n  app.py:99999 in y\n  app.py:0 in z\n" * 10)
    assert lines(maker, hostile)
