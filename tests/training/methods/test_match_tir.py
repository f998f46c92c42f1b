"""Row 70, MatchTIR: each call's credit, by an exact match with the right calls."""

from __future__ import annotations

from contextlib import aclosing
from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from method_rows import made
from recorded_runs import ledger_at, read, run
from tool_runs import STOCK, answering, calling, counting

from groundwire.core._errors import ConfigError
from groundwire.core._toolcalls import Call
from groundwire.training._schema import Options, Rejected
from groundwire.training.methods._match_tir import UNMATCHED, MatchTirRow, advantages, hard, rows, similarity, soft

SCORES = st.integers(1, 4).flatmap(
    lambda width: st.lists(
        st.lists(st.floats(0.0, 1.0, allow_nan=False), min_size=width, max_size=width), min_size=1, max_size=4
    )
)


def test_where_greedy_is_not_the_best() -> None:
    greedy, best = 0.9 + 0.1, 0.8 + 0.7
    scores = [[0.9, 0.8], [0.7, 0.1]]
    assert sum(hard(scores)) == pytest.approx(best) and best > greedy
    assert hard([[0.9], [0.7]]) == [0.9, UNMATCHED] and hard([[0.0]]) == [UNMATCHED], "no likeness is no match"
    assert hard([]) == [] and hard([[], []]) == [UNMATCHED] * 2 and soft([[]]) == [0.0]
    for wrong in (hard, soft):
        with pytest.raises(ConfigError):
            wrong([[1.0], [1.0, 0.0]])
    with pytest.raises(ConfigError):
        soft(scores, regularisation=0)


@given(SCORES)
def test_the_match_is_the_best_of_all_and_the_soft_one_stays_in_range(scores: list[list[float]]) -> None:
    width = len(scores[0])
    table = scores if len(scores) <= width else [list(column) for column in zip(*scores, strict=True)]
    best = max(
        sum(table[i][j] for i, j in enumerate(order)) for order in permutations(range(len(table[0])), len(table))
    )
    assert sum(max(reward, 0.0) for reward in hard(scores)) == pytest.approx(best)
    assert all(-1e-6 <= reward <= 1 + 1e-6 for reward in soft(scores))


def test_likeness_and_softness_by_hand() -> None:
    right = Call("count", {"store": "south", "deep": True})
    assert similarity(right, right) == 1.0 and similarity(Call("add"), right) == 0.0
    assert similarity(Call("count", {"store": "south"}), right) == pytest.approx((1 + 1 / 2 + 1) / 4)
    assert similarity(Call("count", {"store": "x", "deep": 1}), right) == pytest.approx(2 / 4), "1 is no true"
    assert similarity(Call("add", {"a": 1.0}), Call("add", {"a": 1})) == 1.0, "JSON knows one kind of number"
    assert similarity(Call("now"), Call("now")) == 1.0
    assert soft([[1.0, 0.0], [0.0, 1.0]]) == pytest.approx([1.0, 1.0], abs=1e-3)
    assert soft([[1.0], [0.0]]) == pytest.approx([1.0, 0.0])
    # by hand: at turn 1 the sums are 1.5 and -0.5, so ±1, as the outcomes; at turn 2 there is one call alone
    first, second = advantages([[1.0, 1.0], [UNMATCHED]], [1.0, 0.0], discount=0.5)
    assert first == pytest.approx([1.0, 0.5]) and second == pytest.approx([-1.0])
    assert advantages([[1.0]], [1.0]) == [[0.0]] and advantages([], []) == []
    three = advantages([[0.0, 1.0], [0.0, 0.0], [1.0, 0.0]], [1.0, 1.0, 1.0])
    assert [one[0] for one in three] == pytest.approx([0.5 * z for z in (0.593, -1.4084, 0.8154)], abs=1e-3)
    with pytest.raises(ConfigError):
        advantages([[1.0]], [])


async def test_the_calls_of_two_episodes_of_one_question(tmp_path: Path) -> None:
    north, sout, south = (calling("count", store=name) for name in ("north", "sout", "south"))
    add, end = calling("add", a=20, b=22), answering("42")
    async with aclosing(ledger_at(tmp_path)) as store:
        clumsy = await run(store, counting(north, sout, south, add, end), STOCK)
        short = await run(store, counting(south, north, end), STOCK)
        never = await run(store, counting(sout, calling("count", store="x"), calling("count", store="y")), STOCK)
    told = await read(tmp_path, clumsy, short, never)
    found, reasons = made("match_tir", told, MatchTirRow)
    assert not reasons and [row.reward for row in found] == [1, 1, 0]
    assert {row.gold_episode for row in found} == {told[1].episode}, "the shortest way that was right"
    first, second, third = found
    assert [call.hard for call in first.calls] == [1.0, UNMATCHED, 1.0, UNMATCHED]
    assert [call.failed for call in first.calls] == [False, True, False, False]
    assert [call.hard for call in second.calls] == [1.0, 1.0]
    # two of three are matched: alike by their names, not by their values
    assert sorted(call.hard for call in third.calls) == [UNMATCHED, pytest.approx(2 / 3), pytest.approx(2 / 3)]
    assert min(c.advantage for c in second.calls) > max(c.advantage for c in third.calls)
    assert first.calls[1].completion.content == sout and first.calls[1].prompt[-1].role == "user"
    unknown = [one for one in rows(told[2:], Options()) if isinstance(one, Rejected)]
    assert [one.reason for one in unknown] == ["no_right_calls_known"]
