"""Trajectories out of real ledgers: what was sent, said, seen and rewarded, and what is wrong with a ledger."""

from __future__ import annotations

import asyncio
import math
import sqlite3
from contextlib import aclosing, closing
from pathlib import Path
from shutil import copyfile

import pytest
from guessing import ANSWER, Check, Guesser, loop, no_verdict
from recorded_runs import Certain, gone_through, ledger_at, question, read, repairing, run, saying, trajectories

from groundwire import Origin, Verdict
from groundwire.core._errors import ConfigError
from groundwire.core._models import Completion, Request
from groundwire.core._records import ModelCall, RunRecord, StopReason
from groundwire.core._seal import MemoryKeys
from groundwire.core._signals import NoVerdict
from groundwire.training import trajectories_of
from groundwire.training._trajectories import Author, Flaw, Message, Seal
from groundwire.training._turns import token_entropies


def authors(message: Message) -> list[tuple[str, str]]:
    """Every span with its author, and that together they are the message."""
    assert "".join(message.content[s.start : s.end] for s in message.spans) == message.content
    return [(s.author.value, s.what) for s in message.spans if message.content[s.start : s.end].strip()]


def rewritten(folder: Path, statement: str, *values: object) -> int:
    """Changes the ledger behind our back."""
    with closing(sqlite3.connect(folder / "ledger.db")) as database, database:
        return database.execute(statement, values).rowcount


async def test_two_trials_with_all_that_was_sent_said_and_seen(tmp_path: Path) -> None:
    thought = "six sevens are forty-one"
    (told,) = await trajectories(tmp_path, repairing([saying("41", thought), saying("42")], name="m-2026-11"))
    assert (told.task, told.prompt, told.grounded, told.problems) == ("sum", "How much is 6 times 7?", True, ())
    assert (told.verdict, told.stop_reason, told.reward, told.first_error) == ("pass", StopReason.VERIFIED, 1.0, 0)
    assert [m.revision for m in told.models] == ["m-2026-11"]
    first, second = told.trials
    assert (first.reward, second.reward, told.oracle) == (0.0, 1.0, False)

    wrong, critic = first.turns
    assert wrong.reasoning == f"<think>{thought}</think>" and wrong.text == saying("41", thought)
    assert (wrong.loss, wrong.visible, critic.part, critic.loss, critic.visible) == (True, True, "critic", False, True)
    (attempt,) = first.attempts
    assert attempt.turn == wrong.id and attempt.changes[0].content == "41\n" and attempt.changes[0].path == ANSWER
    (signal,) = attempt.signals
    assert attempt.rewarded_by == (signal.id,)
    assert (signal.verdict, signal.seal, signal.executed, signal.failed) == ("fail", Seal.VERIFIED, True, (("42", ""),))
    assert second.trigger == signal.id == first.remarks[0].signal
    assert (first.remarks[0].text, first.remarks[0].author) == ("Carry the four.", Author.MODEL)
    assert wrong.at < signal.at < critic.at < first.remarks[0].at < second.turns[0].at

    (right,) = second.turns
    system, user = right.prompt
    assert authors(system) == [("human", "prompt")]
    told_by = authors(user)
    for span in [
        ("human", "task"),
        ("model", "file"),
        ("model", "attempt"),
        ("env", "detail"),
        ("model", "reflection"),
    ]:
        assert span in told_by, span
    assert ("human", "file") in authors(wrong.prompt[1]), "no model has changed it yet"
    reflected = next(s for s in user.spans if s.what == "reflection")
    assert "Carry the four." in user.content[reflected.start : reflected.end]


async def test_groups_samples_and_entropies(tmp_path: Path) -> None:
    answers = [saying("40"), saying("42"), saying("40"), saying("41")]
    async with aclosing(ledger_at(tmp_path)) as store:
        graph = repairing([], backend=Certain(answers), samples=2)
        record = await run(store, graph, question(), question(), question("other", "What is 42?"), trials=1)
        read_back = [t async for t in trajectories_of(store, [record])]
        calls = [r for t in read_back for r in await store.records(t.episode) if isinstance(r, ModelCall)]
    first, again, other = read_back
    assert first.group == again.group != other.group
    assert [a.reward for a in first.attempts] == [0.0, 1.0]
    assert [t.text for a in first.attempts if (t := first.turn(a.turn))] == answers[:2]
    turn = next(first.turns)
    stored = Completion.model_validate_json(calls[0].completion).top_logprobs
    assert stored is not None and turn.top_logprobs == stored[0] and len(turn.entropies or ()) == len(turn.text.split())
    assert turn.entropies == token_entropies(stored[0])
    by_hand = -sum(p * math.log(p) for p in (0.9, 0.05, 0.03, 0.02))
    assert turn.entropy == pytest.approx(by_hand, abs=1e-9), "0.9, 0.05, 0.03 and what is left"


async def test_rewards_rest_on_executed_checks_alone(tmp_path: Path) -> None:
    (opinion,) = await trajectories(
        tmp_path, repairing([saying("42")], check=Check(("42",), origin=Origin.MODEL_TESTS))
    )
    assert (opinion.reward, opinion.stop_reason) == (None, StopReason.INTERNAL_PASS)
    assert opinion.flaws == {Flaw.NO_VERDICT}
    silent = Check(override=lambda _text: no_verdict(NoVerdict.SANDBOX))
    (nothing,) = await trajectories(tmp_path, loop(Guesser([["right"]]), silent))
    assert nothing.flaws == {Flaw.NO_VERDICT} and not list(nothing.turns)


@pytest.fixture
async def recorded(tmp_path: Path) -> RunRecord:
    async with aclosing(ledger_at(tmp_path)) as store:
        return await run(store, repairing([saying("41"), saying("42")]))


async def test_a_changed_signal_is_found_and_no_reward_rests_on_it(tmp_path: Path, recorded: RunRecord) -> None:
    (before,) = await read(tmp_path, recorded)
    bad = next(s for s in before.signals if s.trial == 1)
    to_pass = """UPDATE signals SET body = replace(body, '"verdict":"fail"', '"verdict":"pass"') WHERE id = ?"""
    assert rewritten(tmp_path, to_pass, bad.id) == 1
    (told,) = await read(tmp_path, recorded)
    assert Flaw.BROKEN_SEAL in told.flaws
    changed = next(s for s in told.signals if s.id == bad.id)
    assert (changed.verdict, changed.seal, changed.executed) == (Verdict.PASS, Seal.BROKEN, False)
    assert told.trials[0].reward is None, "no reward rests on it"


LACKS = {
    "the episode has no end": "DELETE FROM episode_ends",
    "which was judged": "DELETE FROM candidates WHERE trial = 1",
    "the body of candidate": "DELETE FROM artifacts WHERE kind = 'candidate'",
    "which a gate admitted": "DELETE FROM signals WHERE trial = 1",
    "the request of model call": "DELETE FROM intents WHERE kind = 'model_call'",
}


async def test_a_ledger_that_lacks_something(tmp_path: Path, recorded: RunRecord) -> None:
    for lacks, cut in LACKS.items():
        folder = tmp_path / lacks.replace(" ", "-")
        folder.mkdir()
        copyfile(tmp_path / "ledger.db", folder / "ledger.db")
        assert rewritten(folder, cut) >= 1
        (told,) = await read(folder, recorded)
        assert Flaw.TRUNCATED in told.flaws
        assert any(lacks in problem.detail for problem in told.problems)


async def test_a_body_that_is_not_the_one_that_was_judged(tmp_path: Path, recorded: RunRecord) -> None:
    bodies = "(SELECT body FROM artifacts WHERE kind = 'candidate' ORDER BY seq DESC LIMIT 1)"
    assert rewritten(tmp_path, f"UPDATE artifacts SET body = {bodies} WHERE kind = 'candidate'") == 2
    (told,) = await read(tmp_path, recorded)
    assert Flaw.BROKEN_SEAL in told.flaws


async def test_a_key_that_is_elsewhere(tmp_path: Path, recorded: RunRecord) -> None:
    async with aclosing(ledger_at(tmp_path)) as store:
        (stranger,) = [t async for t in trajectories_of(store, [recorded], keys=MemoryKeys())]
    assert stranger.flaws == {Flaw.UNVERIFIED} and {s.seal for s in stranger.signals} == {Seal.UNVERIFIED}


async def test_a_model_that_changed_within_the_run(tmp_path: Path) -> None:
    class Upgraded(Certain):
        async def complete(self, request: Request) -> Completion:
            completion = await super().complete(request)
            return completion.model_copy(update={"model": f"rev-{min(len(self.requests), 2)}"})

    backend = Upgraded([saying("41"), "Think.", saying("42")])
    (told,) = await trajectories(tmp_path, repairing([], backend=backend))
    assert told.flaws == {Flaw.MIXED_REVISIONS}
    assert [m.revision for m in told.models] == ["rev-1", "rev-2"]


def test_code_that_is_not_async_goes_through_them_as_often_as_it_likes(tmp_path: Path) -> None:
    async def record() -> RunRecord:
        async with aclosing(ledger_at(tmp_path)) as store:
            return await run(store, repairing([saying("42")] * 2), question(), question("b"))

    told = gone_through(tmp_path, asyncio.run(record()))
    assert [t.task for t in told] == [t.task for t in told] == ["sum", "b"]

    async def inside() -> None:
        with pytest.raises(ConfigError, match="running event loop"):
            next(iter(told))

    asyncio.run(inside())
