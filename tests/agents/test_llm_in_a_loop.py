"""The LLM actor and critic in the repair loop: what the ledger holds of their calls."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from groundwire import Budget, Task, Tree
from groundwire.agents import LLMActor, LLMCritic, RuleCritic
from groundwire.agents.patching._edit_blocks import SearchReplace, render_answer
from groundwire.agents.prompting._templates import load_prompt
from groundwire.core._models import Request
from groundwire.core._records import CandidateRecord, Intent, ModelCall, Record, StopReason
from groundwire.graphs import EpisodeResult
from groundwire.graphs.library._code_repair import code_repair
from groundwire.memory import InMemoryStore
from groundwire.models import ScriptedBackend
from groundwire.tools import HiddenTests, Pytest

CODE = "def total(prices):\n    result = 0\n    for price in prices:\n        result -= price\n    return result\n"
TASK = Task(
    id="shop",
    prompt="Make the tests pass.",
    tree=Tree(
        {
            "price.py": CODE.encode(),
            "test_price.py": b"from price import total\n\n\ndef test_some():\n    assert total([1, 2]) == 3\n",
        }
    ),
    command=("python", "-m", "pytest", "-q"),
)
GOOD = render_answer([SearchReplace("price.py", "        result -= price\n", "        result += price\n")])
WRONG = render_answer([SearchReplace("price.py", "    result = 0\n", "    result = 1\n")])
UNMATCHED = render_answer([SearchReplace("price.py", "        result -= prices\n", "        result += price\n")])


async def repaired(
    replies: Sequence[str] | Callable[[Request], str], *, model_critic: bool = False, trials: int = 4, samples: int = 1
) -> tuple[EpisodeResult, Sequence[Record]]:
    backend, store = ScriptedBackend(replies), InMemoryStore()
    critic = LLMCritic(backend) if model_critic else RuleCritic()
    actor = LLMActor(backend, answer="edits", samples=samples)
    graph = code_repair(actor, critic, Pytest(), HiddenTests(), width=samples)
    result = await graph.compile(store=store, budget=Budget(trials=trials)).arun(TASK)
    (run,) = await store.runs()
    (episode,) = await store.episodes(run.id)
    return result, await store.records(episode.id)


def calls(records: Sequence[Record]) -> list[tuple[str, str]]:
    """(purpose, digest of the prompt file) of each call, as the intents have them."""
    bodies = [json.loads(r.body) for r in records if isinstance(r, Intent) and r.kind == "model_call"]
    return [(body["purpose"], body["prompt_digest"]) for body in bodies]


def digest(name: str) -> str:
    return load_prompt(name).digest


async def test_every_call_names_the_prompt_file_it_was_made_with() -> None:
    result, records = await repaired([WRONG, "I changed the start.", UNMATCHED, GOOD], model_critic=True)
    assert result.stop_reason is StopReason.VERIFIED
    assert calls(records) == [
        ("propose", digest("repair_edits_v2")),
        ("reflect", digest("reflect_v1")),
        ("propose", digest("repair_edits_v2")),
        ("correct", digest("correct_answer_v1")),
    ]
    assert [r.purpose for r in records if isinstance(r, ModelCall)] == ["propose", "reflect", "propose", "correct"]


async def test_correcting_the_form_is_bounded_and_makes_no_candidate() -> None:
    result, records = await repaired(lambda _request: UNMATCHED)
    assert result.stop_reason is StopReason.MODEL_ERROR
    assert [purpose for purpose, _ in calls(records)] == ["propose", "correct", "correct", "propose", "propose"]
    assert not [r for r in records if isinstance(r, CandidateRecord)]
    assert result.error is not None and "no usable edit in 5 calls" in result.error.what


async def test_a_correction_is_no_refinement() -> None:
    """Only what was judged is rewritten, and only after a FAIL: no candidate stands between the two calls."""
    result, records = await repaired([UNMATCHED, GOOD])
    assert (result.stop_reason, result.trials, result.candidates) == (StopReason.VERIFIED, 1, 1)
    kinds = [type(r).__name__ for r in records]
    assert kinds.count("ModelCall") == 2
    first, second = (i for i, kind in enumerate(kinds) if kind == "ModelCall")
    assert "CandidateRecord" not in kinds[first:second] and "Admission" not in kinds[first:second]


async def test_samples_are_judged_together_and_the_one_that_passes_wins() -> None:
    result, records = await repaired([WRONG, UNMATCHED, GOOD, WRONG], samples=4)
    assert (result.stop_reason, result.trials) == (StopReason.VERIFIED, 1)
    assert len([r for r in records if isinstance(r, CandidateRecord)]) == 2
    assert len([r for r in records if isinstance(r, ModelCall)]) == 1
    assert "+        result += price" in result.patch


async def test_the_same_answer_for_ever_is_stuck_after_warmer_tries() -> None:
    result, records = await repaired(lambda _request: WRONG)
    assert result.stop_reason is StopReason.STUCK
    temperatures = [json.loads(r.body)["temperature"] for r in records if isinstance(r, Intent)]
    assert temperatures[:4] == [0.2, 0.2, 0.35, 0.5] and max(temperatures) > 0.5
    assert len([r for r in records if isinstance(r, CandidateRecord)]) == 1
