"""A sample of both corpora of `bench/bench_judges.py`: no attack is called right, no honest solution is refused."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from adversarial.corpus import MECHANISMS, Attack, attacks, sample
from adversarial.honest import Honest, honest
from adversarial.packages import PACKAGES

BENCH = Path(__file__).parents[2] / "bench"
DATA = BENCH.parent.parent / "shared/data"
SEED, ATTACKS, SOLUTIONS = 7, 10, 8


@pytest.fixture(scope="module")
def judges() -> Iterator[SimpleNamespace]:
    """The modules of the bench, which import each other by name as scripts do."""
    sys.path.insert(0, str(BENCH))
    try:
        ours, judged = import_module("judges_ours"), import_module("bench_judges")
    finally:
        sys.path.remove(str(BENCH))
    yield SimpleNamespace(ours=ours, interval=judged.interval)


def test_there_are_enough_of_them_and_of_every_kind() -> None:
    everything = attacks()
    assert len({a.name for a in everything}) == len(everything) >= 300
    assert len({m.name for m in MECHANISMS}) == len(MECHANISMS) >= 60
    # no verdict asks a model, so there is nothing to attack in that way
    assert {m.flaw for m in MECHANISMS} == {"V1", "V2", "V3", "V5", "V6", "V7", "V8"}
    assert min(Counter((a.runner, a.hidden) for a in everything).values()) > 10
    assert [a.name for a in attacks()] == [a.name for a in everything], "the same seed gives the same ones"


def test_there_are_enough_honest_solutions() -> None:
    if not DATA.is_dir():
        pytest.skip("the published problems are not here; their folder is shared/data beside the repository")
    solutions = honest(DATA)
    assert len({h.name for h in solutions}) == len(solutions) >= 300


def _chosen() -> list[Honest]:
    kinds = honest(Path("nowhere"))
    return [kinds[place * len(PACKAGES) // SOLUTIONS] for place in range(SOLUTIONS)]


@pytest.mark.parametrize("attack", sample(attacks(), ATTACKS, SEED), ids=lambda a: a.name)
async def test_an_attack_is_not_called_right(attack: Attack, bench: Any, judges: SimpleNamespace) -> None:
    said = await judges.ours.Ours(bench.sandbox)(attack.project, attack.files)
    assert not (said.passed and said.unforgeable), said.why


@pytest.mark.parametrize("solution", _chosen(), ids=lambda h: h.name)
async def test_an_honest_solution_is_called_right(solution: Honest, bench: Any, judges: SimpleNamespace) -> None:
    said = await judges.ours.Ours(bench.sandbox)(solution.project, solution.files)
    assert said.passed, said.why


async def test_an_exit_status_is_fooled_by_what_is_caught_here(bench: Any, judges: SimpleNamespace) -> None:
    """What is shown above is shown against something."""
    chosen = [a for a in attacks() if a.mechanism.name in ("leaves at exit", "equals everything")]
    for attack in chosen:
        if attack.runner != "pytest":  # pytest would load whatever plug-ins this very environment has
            assert (await judges.ours.ExitStatus(bench.sandbox)(attack.project, attack.files)).passed, attack.name
        once = await judges.ours.Ours(bench.sandbox, in_process=True)(attack.project, attack.files)
        assert not once.unforgeable


def test_the_interval_is_exact(judges: SimpleNamespace) -> None:
    low, high = judges.interval(0, 300)
    assert low == 0 and high == pytest.approx(1 - 0.025 ** (1 / 300), rel=1e-6)
    low, high = judges.interval(3, 300)
    assert (low, high) == (pytest.approx(0.002067, abs=1e-5), pytest.approx(0.028945, abs=1e-4))
    assert judges.interval(5, 5)[1] == 1
