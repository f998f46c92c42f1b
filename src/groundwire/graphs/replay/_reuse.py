"""The ledger as a cache: when what is recorded may stand for asking a model, or for judging, once more.

Never, unless a policy is named. What is taken costs nothing, each recorded one stands for one of this episode, and the
ledger says what was taken and from where.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from groundwire.core._errors import SealError
from groundwire.core._models import Completion
from groundwire.core._records import ModelCall, Record, Store
from groundwire.core._sandboxes import SandboxInfo
from groundwire.core._seal import Keys, verify
from groundwire.core._signals import NoVerdict, Signal, Verdict
from groundwire.core._tasks import Task
from groundwire.graphs.run._runs import config_of

Reuse = Literal["never", "calls", "all"]
"""What of the ledger may stand for new work: nothing, answers of models, or verdicts as well."""


@dataclass(frozen=True)
class Judging:
    """What a verdict rests on beside the candidate.

    Args:
        issuer: the tool node.
        identity: the tool (`groundwire.core._contexts.RepeatableTool`).
        command: what it runs.
        task: for its limits and its interpreter.
        sandbox: what it runs in.
    """

    issuer: str
    identity: str
    command: tuple[str, ...]
    task: Task
    sandbox: SandboxInfo


class Cache:
    """What one episode may take from the ledger. Only of the store's own namespace.

    Args:
        store: the ledger.
        policy: what is allowed.
        keys: of all runs: no verdict is taken whose seal can't be verified.
        episode_id: the episode that takes it.
    """

    def __init__(self, store: Store, policy: Reuse, keys: Keys, episode_id: str) -> None:
        self._store = store
        self._keys = keys
        self._episode_id = episode_id
        self.takes_verdicts = policy == "all"
        self._taken: set[str] = set()
        self._known: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {}

    def note(self, record: Record) -> None:
        """Takes note of what an earlier process of the episode had taken."""
        if isinstance(record, ModelCall):
            self._taken.add(record.reused)
        elif isinstance(record, Signal):
            self._taken.add(record.taken_from)

    async def answer(self, model: str, request_digest: str) -> ModelCall | None:
        """The next recorded answer of that very model to that very request; None: the model has to be asked."""
        recorded = await self._store.answers(request_digest)
        for call in recorded:
            if call.episode_id != self._episode_id and call.intent_id not in self._taken and _asked(call) == model:
                self._taken.add(call.intent_id)
                return call
        return None

    async def verdict(self, candidate_digest: str, judging: Judging) -> Signal | None:
        """The next recorded verdict on that very candidate by the same means; None: it has to be judged.

        Refused is what was not whole, what was taken itself, and all of them where they are not of one mind.
        """
        signals = [
            signal
            for signal in await self._store.judgements(candidate_digest)
            if signal.episode_id != self._episode_id and await self._is_alike(signal, judging)
        ]
        if _is_doubtful(signals):
            return None
        for signal in signals:
            is_whole = signal.verdict is not Verdict.NONE and not signal.partial and not signal.taken_from
            if is_whole and signal.id not in self._taken and self._is_sealed(signal):
                self._taken.add(signal.id)
                return signal
        return None

    async def _is_alike(self, signal: Signal, judging: Judging) -> bool:
        if signal.issuer != judging.issuer or signal.command != judging.command:
            return False
        if signal.sandbox is None or _kind(signal.sandbox) != _kind(judging.sandbox):
            return False
        run, task = await self._told(signal)
        mine = json.loads(judging.task.describe())
        same_means = all(task.get(name) == mine[name] for name in ("limits", "python"))
        return same_means and run.get("tools", {}).get(signal.issuer) == judging.identity

    async def _told(self, signal: Signal) -> tuple[dict[str, Any], dict[str, Any]]:
        """What the ledger says of the signal's run and of its episode's task."""
        if signal.episode_id not in self._known:
            tasks = {e.id: json.loads(e.task) for e in await self._store.episodes(signal.run_id)}
            config = await config_of(self._store, signal.run_id)
            self._known[signal.episode_id] = (config, tasks.get(signal.episode_id, {}))
        return self._known[signal.episode_id]

    def _is_sealed(self, signal: Signal) -> bool:
        try:
            verify(signal, self._keys.load(signal.run_id))
        except SealError:
            return False
        return True


def _kind(sandbox: SandboxInfo) -> tuple[str, str, bool]:
    return sandbox.kind, sandbox.image_digest, sandbox.isolated


def _asked(call: ModelCall) -> str:
    return Completion.model_validate_json(call.completion).asked or call.model


def _is_doubtful(signals: Sequence[Signal]) -> bool:
    """True where the same candidate did not always come to the same."""
    flaky = any(s.evidence.flaky or s.reason is NoVerdict.FLAKY for s in signals)
    return flaky or len({s.verdict for s in signals} - {Verdict.NONE}) > 1
