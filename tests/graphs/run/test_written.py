"""Tests that a model wrote, in the loop: real pytest in a real sandbox, a scripted model."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dying import dies_and_goes_on

from groundwire import EpisodeResult, Origin, StopReason, Task, Tree, Verdict
from groundwire.agents import LLMCaseWriter, RuleCritic
from groundwire.core._candidates import Candidate
from groundwire.core._contexts import ActorContext
from groundwire.core._records import Intent, ModelCall, Store
from groundwire.core._signals import Signal
from groundwire.core._tasks import Hidden
from groundwire.graphs.library._code_repair import code_repair
from groundwire.memory import InMemoryStore
from groundwire.models import ScriptedBackend
from groundwire.tools import HiddenTests, ModelTests

WEAK = "```python\nfrom mod import double\nassert double(2) == 4\n```"
STRONG = "```python\nfrom mod import double\nassert double(2) == 4\nassert double(3) == 6\nassert double(1) == 1\n```"
SQUARE, RIGHT = b"def double(x):\n    return x * x\n", b"def double(x):\n    return x * 2\n"
SECRET = Hidden(
    ("python", "-m", "pytest", "-q", "secret"),
    Tree({"secret/test_h.py": b"from mod import double\ndef test_five():\n    assert double(5) == 10\n"}),
)
TASK = Task(id="double", prompt="Make double(x) twice x.", tree=Tree({"mod.py": b"def double(x):\n    return x\n"}))


@dataclass
class Plays:
    """An actor that plays given versions of the file."""

    versions: list[bytes]
    seen: list[ActorContext] = field(default_factory=list[ActorContext])

    async def propose(self, context: ActorContext, n: int) -> list[Candidate]:
        self.seen.append(context)
        made = self.versions[len(self.seen) - 1 :][:1]
        return [Candidate(context.task.tree.digest, {"mod.py": version}) for version in made]


async def repair(
    answer: str,
    versions: list[bytes],
    *,
    hidden: Hidden | None = None,
    reference: Mapping[str, bytes | None] | None = None,
    store: Store | None = None,
) -> tuple[EpisodeResult, list[Any], Plays, ScriptedBackend]:
    from dataclasses import replace

    actor, backend, ledger = Plays(versions), ScriptedBackend([answer]), store or InMemoryStore()
    tests = ModelTests(LLMCaseWriter(backend), reference=(lambda task: reference) if reference else None)
    app = code_repair(actor, RuleCritic(), tests, HiddenTests()).compile(store=ledger)
    result = await app.arun(replace(TASK, hidden=hidden))
    return result, list(await ledger.records(result.episode_id)), actor, backend


async def test_a_wrong_program_that_passes_a_weak_test_is_an_internal_pass_and_not_verified() -> None:
    result, records, _, backend = await repair(WEAK, [SQUARE])
    assert (result.stop_reason, result.verdict, result.exit_code) == (StopReason.INTERNAL_PASS, Verdict.FAIL, 1)
    assert (result.patch, result.trials) == ("", 1)
    assert result.detail == "Tests that a model wrote pass; nothing outside has verified it."
    assert {r.origin for r in records if isinstance(r, Signal)} == {Origin.MODEL_TESTS}
    assert len(backend.requests) == 1, "written once, for the baseline and all trials"
    assert result.account.written is not None
    assert (result.account.written.kept, result.account.written.validated, result.account.oracle) == (1, False, False)


async def test_they_are_on_record_before_the_first_candidate_is_judged_by_them() -> None:
    _, records, _, _ = await repair(STRONG, [RIGHT])
    kinds = [r.kind if isinstance(r, Intent) else type(r).__name__ for r in records]
    assert kinds[:5] == ["EpisodeRecord", "model_call", "ModelCall", "model_tests", "Signal"]
    (call,) = [r for r in records if isinstance(r, ModelCall)]
    assert call.purpose == "write_tests"
    body = json.loads(next(r.body for r in records if isinstance(r, Intent) and r.kind == "model_tests"))
    assert (body["issuer"], len(body["cases"]), body["dropped"]) == ("baseline", 3, [])


async def test_they_ask_for_another_try_and_hidden_tests_may_verify_what_passes_them() -> None:
    result, _, actor, _ = await repair(WEAK, [b"def double(x):\n    return x + 9\n", RIGHT], hidden=SECRET)
    assert (result.stop_reason, result.trials) == (StopReason.VERIFIED, 2)
    failing = actor.seen[1].failing
    assert failing is not None
    assert failing.signal.origin is Origin.MODEL_TESTS
    wrong, _, _, _ = await repair(WEAK, [SQUARE], hidden=SECRET)
    assert (wrong.stop_reason, wrong.account.steering) == (StopReason.HIDDEN_FAILED, 0)


async def test_a_wrong_test_is_dropped_where_a_reference_is_known_and_the_run_is_marked() -> None:
    result, _, _, _ = await repair(STRONG, [RIGHT], reference={"mod.py": RIGHT})
    assert result.stop_reason is StopReason.INTERNAL_PASS
    assert result.account.written is not None
    assert (result.account.written.kept, result.account.written.dropped) == (2, 1)
    assert (result.account.written.validated, result.account.oracle) == (True, True)
    without, _, _, _ = await repair(STRONG, [RIGHT])
    assert without.stop_reason is StopReason.EXHAUSTED, "the wrong test stands in the way"


async def test_a_model_that_writes_no_test_gives_no_verdict() -> None:
    result, _, actor, _ = await repair("I would rather not.", [RIGHT])
    assert (result.stop_reason, result.exit_code, actor.seen) == (StopReason.NO_VERDICT, 3, [])
    assert "nothing_collected" in result.detail


async def test_after_a_crash_the_same_tests_judge_and_are_not_paid_for_again() -> None:
    store, backend = InMemoryStore(), ScriptedBackend([WEAK])
    graph = code_repair(Plays([SQUARE]), RuleCritic(), ModelTests(LLMCaseWriter(backend)), HiddenTests())
    app = graph.compile(store=store)

    result = await dies_and_goes_on(app, TASK, lambda record: isinstance(record, Signal))
    assert (result.stop_reason, len(backend.requests)) == (StopReason.INTERNAL_PASS, 1)
    records = await store.records(result.episode_id)
    assert sum(isinstance(r, Intent) and r.kind == "model_tests" for r in records) == 1
