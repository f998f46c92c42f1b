"""bench/bench_width.py: recordings that lose nothing, equal tokens, and what its figures count."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pytest
from sample_numbers import sample_of

from groundwire.core._models import Completion, Message, Request
from groundwire.core._recordings import read_recording
from groundwire.demo._writing import function_tasks
from groundwire.models import ReplayBackend

BENCH = Path(__file__).parents[3] / "bench"
RIGHT, WRONG = "\n    return items[-1] if items else None\n", "\n    return items[0] if items else None\n"


@pytest.fixture(scope="module")
def bench() -> SimpleNamespace:
    """The modules beside the script, which import each other by name as scripts do."""
    sys.path.insert(0, str(BENCH))
    try:
        names = ("arms", "comparing", "episodes", "published", "recording")
        arms, comparing, episodes, published, recording = (import_module(f"width_{name}") for name in names)
    finally:
        sys.path.remove(str(BENCH))
    return SimpleNamespace(
        arms=arms,
        compare=comparing.compare,
        Keeper=recording.Keeper,
        normal=published.normal,
        record=episodes.record,
    )


class Pupil:
    """Right once in three samples, wrong at temperature 0; ten tokens an answer, as many a question."""

    model = "pupil"

    def __init__(self) -> None:
        self.asked: list[Request] = []

    async def complete(self, request: Request) -> Completion:
        self.asked.append(request)
        right = request.temperature > 0 and sample_of(request) == 1
        return Completion(
            texts=(RIGHT if right else WRONG,),
            model="pupil",
            prompt_tokens=10,
            completion_tokens=10,
            top_logprobs=(((-0.123456, -2.0),),) if request.logprobs else None,
        )

    async def complete_many(self, requests: list[Request]) -> list[Completion]:
        return [await self.complete(request) for request in requests]

    def price(self, request: Request) -> float | None:
        return 0.0


ASK = Request(messages=(Message(role="user", content="?"),), logprobs=True, top_logprobs=2)


async def test_nothing_recorded_is_asked_again_and_half_a_line_is_not_read(
    bench: SimpleNamespace, tmp_path: Path
) -> None:
    file = tmp_path / "calls.jsonl"
    first = bench.Keeper(Pupil(), file, "a test")
    player = first.player()
    assert await player.complete(ASK) == await first.player().complete(ASK), "arms share what they ask alike"
    await player.complete(ASK)
    plain = ASK.model_copy(update={"logprobs": False, "top_logprobs": 0})
    assert (await player.complete(plain)).top_logprobs is None
    assert len(first.backend.asked) == 2, "an answer with probabilities serves the question without them"
    whole = file.read_text()
    file.write_text(f'{whole}{{"request":"00')
    again = bench.Keeper(Pupil(), file)
    assert file.read_text() == whole and again.recording.source == "a test"
    await again.player().complete(ASK)
    await again.player().complete(plain)
    assert again.backend.asked == []
    assert (await ReplayBackend(read_recording(file)).complete(ASK)).top_logprobs == (((-0.1235, -2.0),),)


async def test_the_check_finds_what_the_vote_loses_and_each_arm_is_met_at_its_own_tokens(
    bench: SimpleNamespace, tmp_path: Path
) -> None:
    (task,) = [task for task in function_tasks() if task.id == "last_or_none"]
    sizes = bench.arms.Sizes(samples=3)
    keeper = bench.Keeper(Pupil(), tmp_path / "calls.jsonl")
    for arm in bench.arms.ARMS:
        await bench.record(arm, task, keeper.player(), sizes)
    asked = len(keeper.backend.asked)
    found = await bench.compare(keeper.recording, [task], bench.arms.ARMS, sizes)
    assert len(keeper.backend.asked) == asked, "a comparison asks nobody"
    of = {name: outcomes[0] for name, outcomes in found.outcomes.items()}
    assert {name for name, one in of.items() if one.solved} == {"width_checked", "synthesis_checked"}
    assert of["majority"].answered and not of["majority"].solved
    assert (of["first"].tokens, of["width_checked"].tokens, of["width_checked"].written) == (20, 60, 30)
    assert of["width_checked"].waited == 10 and of["self_refine"].waited == 30, "side by side, or one after another"
    matched = {name: outcomes[0] for name, outcomes in found.matched.items()}
    assert (matched["first"].calls, matched["first"].solved) == (1, False), "one sample for one call's tokens"
    assert (matched["majority"].calls, matched["majority"].solved) == (3, True)
    assert all(one.tokens <= max(20, of[name].tokens) for name, one in matched.items())
    said = found.report()
    assert "any of the samples is right: 1/1" in said and "| majority | 1/1 | 0/1 | +100" in said
    found.draw(tmp_path / "figure.svg")
    assert "self_refine" in (tmp_path / "figure.svg").read_text()


def test_programs_that_differ_in_words_alone_are_one_answer(bench: SimpleNamespace) -> None:
    one = 'def f(x):\n    """Doubles."""\n    pass\n\ndef f(x):\n    return x * 2  # twice\n'
    assert (
        bench.normal(one) == bench.normal("def f(x):\n    'd'\n    return (x * 2)\n") == "def f(x):\n    return x * 2"
    )
    assert bench.normal("def f(:") == "def f(:"
