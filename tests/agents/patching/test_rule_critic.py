"""The rule critic: everything it says is in the signal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.agents import RuleCritic
from groundwire.core._candidates import Candidate, Tree
from groundwire.core._contexts import CriticContext, Judged
from groundwire.core._models import Backend, Completion, Request
from groundwire.core._seal import Mint
from groundwire.core._signals import CaseOutcome, CaseResult, Evidence, Observation, Origin, Verdict
from groundwire.core._tasks import Task

TASK = Task(id="t", tree=Tree({"shop/price.py": b"x = 1\n", "tests/test_a.py": b""}))


async def no_model(backend: Backend, request: Request) -> Completion:
    raise AssertionError("a rule needs no model")


async def reflect(*cases: CaseOutcome, note: str = "", partial: bool = False) -> str:
    candidate = Candidate(TASK.tree.digest, {"shop/price.py": b"x = 2\n"} if note else {}, note=note)
    seen = Observation(verdict=Verdict.FAIL, origin=Origin.TESTS, evidence=Evidence(cases=cases), partial=partial)
    signal = Mint("r", b"k" * 32).signal(
        seen, episode_id="e", trial=1, issuer="test", candidate_digest=candidate.digest
    )
    context = CriticContext(task=TASK, failing=Judged(candidate, signal), tree=TASK.tree, call=no_model)
    return (await RuleCritic().reflect(context)).text


def case(name: str, message: str, result: CaseResult = CaseResult.FAILED) -> CaseOutcome:
    return CaseOutcome(id=f"tests/test_a.py::{name}", result=result, message=message)


async def test_expected_against_got_places_and_what_was_tried() -> None:
    text = await reflect(
        case("test_sum", "shop/price.py:12: in total\ntests/test_a.py:3: AssertionError\nassert 2 == 3"),
        case("test_ok", "", CaseResult.PASSED),
        note="shop/price.py:12 < → <=",
    )
    assert text == (
        "1 of 2 cases fail; test_sum expected 3 but got 2; the failures pass through shop/price.py:12; "
        "this was not enough: shop/price.py:12 < → <=."
    )


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("E   ZeroDivisionError: division by zero", "test_x raised ZeroDivisionError: division by zero"),
        ("did not finish: wall_s", "test_x: did not finish: wall_s"),
        ("", "test_x failed"),
    ],
)
async def test_exceptions_and_other_messages(message: str, said: str) -> None:
    assert said in await reflect(case("test_x", message))


async def test_values_are_told_and_not_the_source_of_the_assertion() -> None:
    message = "KeyError: '0'\n  tests/test_a.py:7 in test_a: assert seconds(\"90s\") == 90\n  shop/price.py:8 in f: x"
    assert "test_a raised KeyError: '0'" in await reflect(case("test_a", message))


async def test_many_failures_are_counted_and_an_early_end_is_said() -> None:
    text = await reflect(*(case(f"test_{i}", "") for i in range(9)), partial=True)
    assert "5 more fail" in text
    assert "other cases may fail too" in text
    assert "without naming a case" in await reflect()


@given(st.text(max_size=300), st.text(max_size=300))
async def test_any_message_gives_one_bounded_text(name: str, message: str) -> None:
    text = await reflect(case(name, message))
    assert len(text) < 1200
    assert text == await reflect(case(name, message))
