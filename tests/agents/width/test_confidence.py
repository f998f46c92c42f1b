"""Confidence of traces by synthetic probabilities (methods row 4)."""

from __future__ import annotations

import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st
from traces import Traces

from groundwire.agents.width._confident_vote import KillBelow, StreamsProbabilities
from groundwire.agents.width._voting import RunningGroup, groups, percentile, score, token_confidence
from groundwire.core._models import Message, Request
from groundwire.models._openai_compatible import KILLED

DIP = [9.0] * 400 + [1.0] * 64 + [9.0] * 400
ASK = Request(messages=(Message(role="user", content="?"),), logprobs=True, top_logprobs=20)


def test_a_token_is_confident_where_one_alternative_stands_out_and_a_21st_does_not_count() -> None:
    peaked, flat = [-0.001, *[-10.0] * 19], [-math.log(20)] * 20
    assert token_confidence(peaked) > token_confidence(flat) == pytest.approx(math.log(20))
    assert token_confidence([*flat, -100.0]) == token_confidence(flat) and token_confidence([]) == 0


async def test_a_low_run_of_64_tokens_is_ended_by_a_window_of_64_and_kept_by_the_mean_of_all() -> None:
    assert score(DIP, "mean", 64) > 8 and score(DIP, "lowest", 64) == pytest.approx(1)
    assert score(DIP, "tail", 64) == pytest.approx(9) and 1 < score(DIP, "bottom", 64) < 6
    backend = Traces(lambda _seed: ("7", DIP))
    assert isinstance(backend, StreamsProbabilities)
    killed = await KillBelow(backend, threshold=8, window=64).complete(ASK)
    assert killed.finish_reasons == (KILLED,) and 400 < killed.completion_tokens < 464
    kept = await KillBelow(backend, threshold=8, window=len(DIP)).complete(ASK)
    assert kept.finish_reasons == ("stop",) and kept.completion_tokens == len(DIP)
    whole = await KillBelow(Traces(lambda _seed: ("7", DIP), streams=False), threshold=8, window=64).complete(ASK)
    assert whole.completion_tokens == len(DIP)


@given(st.lists(st.floats(0, 30), min_size=1, max_size=80), st.integers(1, 100))
def test_groups_are_the_means_of_their_windows_also_while_a_trace_is_written(values: list[float], window: int) -> None:
    size = min(window, len(values))
    slow = [statistics.fmean(values[i : i + size]) for i in range(len(values) - size + 1)]
    assert groups(values, window) == pytest.approx(slow, abs=1e-6)
    running = RunningGroup(window)
    live = [mean for mean in map(running.add, values) if mean is not None]
    assert live == pytest.approx(slow if len(values) >= window else [], abs=1e-6)


def test_percentiles_lie_between_values() -> None:
    assert [percentile([3, 1, 2], q) for q in (0, 25, 50, 100)] == [1, 1.5, 2, 3]
    assert percentile([5], 90) == 5
