"""Which sample a request is, read back from its seed: for models that answer each sample otherwise."""

from __future__ import annotations

from bisect import bisect_right
from functools import cache

from groundwire.core._ids import seed_for
from groundwire.core._models import Request

Place = tuple[int, int, int]
"""The seed of a call's first sample, its trial and its number."""


def sample_of(request: Request, episode: int = 0) -> int:
    """The number of a sample among those of its call, in an episode of that seed."""
    return (request.seed or 0) - _place(request, episode)[0]


def number_of(request: Request) -> int:
    """The number of a sample among those of all its trial's calls, each call's 256 apart, in an episode of seed 0."""
    return 256 * _place(request, 0)[2] + sample_of(request)


def trial_of(request: Request, episode: int = 0) -> int:
    """The trial that asks, in an episode of that seed."""
    return _place(request, episode)[1]


def _place(request: Request, episode: int) -> Place:
    places = _places(episode)
    return places[bisect_right(places, (request.seed or 0, 1 << 30, 0)) - 1]


@cache
def _places(episode: int) -> list[Place]:
    names = [f"{purpose}{raised}" for purpose in ("width", "propose") for raised in ("", "@1", "@2")]
    return sorted((seed_for(episode, t, name, call), t, call) for name in names for t in range(9) for call in range(33))
