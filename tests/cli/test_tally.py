"""What a run of many tasks says of each episode as it ends."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console

from groundwire.cli._tally import EndedEpisode, Tally
from groundwire.core._records import StopReason
from groundwire.core._signals import Isolation, Verdict

SHAPE = "m.py:2 answers an input of the tests with what they expect (`x == 3`)"
ENDED = EndedEpisode(
    "r", "e", "t", Verdict.PASS, StopReason.VERIFIED, None, 1, 1, 0, 0, 0.0, 1.0, "", None, Isolation.TWO_BOXES
)


def line(ended: EndedEpisode) -> str:
    written = io.StringIO()
    Tally("", 1, Console(file=written, width=300), as_json=False).ended(ended, "", seed=0)
    return written.getvalue()


def test_what_a_verified_episode_is_to_be_doubted_for_stands_in_its_line() -> None:
    assert "weak tests" not in line(ENDED) and "unforgeable" not in line(ENDED)
    assert "in one process: not unforgeable" in line(replace(ENDED, isolation=Isolation.IN_PROCESS))
    assert f"weak tests: {SHAPE}" in line(replace(ENDED, anti_patterns=(SHAPE,)))


@pytest.mark.parametrize("ended", [replace(ENDED, anti_patterns=(SHAPE,)), replace(ENDED, isolation=None)])
def test_a_worker_hands_it_on(ended: EndedEpisode) -> None:
    assert EndedEpisode.from_data(ended.as_data()) == ended


def test_one_of_an_earlier_version_is_read_too() -> None:
    data = ENDED.as_data()
    del data["isolation"], data["anti_patterns"]
    assert EndedEpisode.from_data(data) == replace(ENDED, isolation=None)
