"""Writes what a reward judged into a ledger: an episode for each task of a batch, as any run has them."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from groundwire.core._candidates import Candidate
from groundwire.core._chain import RecordChain, RunChain
from groundwire.core._models import Completion, Message, Request
from groundwire.core._records import (
    Artifact,
    CandidateRecord,
    EpisodeEnd,
    EpisodeRecord,
    Intent,
    ModelCall,
    Record,
    RunEnd,
    RunRecord,
    StopReason,
    Store,
    TrialEnd,
    TrialRecord,
)
from groundwire.core._seal import FileKeys, Keys, MemoryKeys, Mint
from groundwire.core._signals import Observation, Origin, Signal, Verdict, canonical
from groundwire.core._signing import signer
from groundwire.core._tasks import Task
from groundwire.core._version import __version__

TRIAL = 1
ACTOR = "policy"
GRAPH = "reward"


@dataclass(frozen=True)
class WrittenCompletion:
    """A completion as the ledger keeps it.

    Args:
        prompt: what it answers; empty: the task's own prompt stands there.
        text: what the policy wrote.
        candidate: what is judged.
    """

    prompt: str
    text: str
    candidate: Candidate


@dataclass
class OpenEpisode:
    """An episode that has been begun.

    Args:
        record: its record.
        chain: of its links.
    """

    record: EpisodeRecord
    chain: RecordChain


class RewardLedger:
    """One run of a ledger, begun with the first batch.

    Args:
        store: the ledger.
        model: what the policy is called, which the completions are said to be of.
        config: what was asked for, kept in the run's record.
        keys: where the run's key is; None: in the user's files, or in memory where the ledger is.
    """

    def __init__(
        self, store: Store, *, model: str = "policy", config: Mapping[str, Any] | None = None, keys: Keys | None = None
    ) -> None:
        self._store = store
        self._model = model
        self._config = dict(config or {})
        self._keys: Keys = keys or (FileKeys() if store.durable else MemoryKeys())
        self._beginning = asyncio.Lock()
        self._run: RunRecord | None = None
        self._mint: Mint | None = None
        self._chains: RunChain | None = None

    @property
    def run_id(self) -> str:
        """The run; empty before anything was judged."""
        return self._run.id if self._run else ""

    async def _begin(self) -> tuple[RunRecord, RunChain]:
        async with self._beginning:
            if self._run is None or self._chains is None:
                config = {"model": self._model, "reward": self._config}
                run = RunRecord(graph=GRAPH, config=canonical(config), version=__version__)
                key = self._keys.create(run.id)
                seals = signer(run.id, key)
                first = RunChain(seals, None).begin()
                await self._store.append(run, first.open(key=seals.public.hex))
                first.kept()
                self._mint, self._chains = Mint(run.id, key), RunChain(seals, None, first.head)
                self._run = run
            return self._run, self._chains

    async def begin(self, task: Task, completions: Sequence[WrittenCompletion]) -> OpenEpisode:
        """Writes what the policy wrote, before any of it is judged.

        Raises:
            StorageError: it can't be written.
        """
        run, chains = await self._begin()
        record = EpisodeRecord(
            run_id=run.id, task_id=task.id, family=task.family, task=task.describe(), base_digest=task.tree.digest
        )
        episode = OpenEpisode(record, chains.episode(record.id))
        known: set[str] = set()
        written: list[Record] = [record, TrialRecord(episode_id=record.id, trial=TRIAL)]
        for one in completions:
            written += self._call(record.id, task, one)
            if one.candidate.digest not in known:
                known.add(one.candidate.digest)
                written += _candidate(record.id, one.candidate)
        await self._append(episode, written)
        return episode

    async def end(
        self, episode: OpenEpisode, seen: Mapping[str, Mapping[str, Observation]]
    ) -> Mapping[str, Sequence[Signal]]:
        """Mints what was observed, and writes it with the episode's end.

        Args:
            episode: begun before.
            seen: by candidate and by who observed it, in the order of judging.

        Returns:
            The signals of each candidate.

        Raises:
            StorageError: it can't be written.
        """
        assert self._mint is not None, "an episode was begun"
        id = episode.record.id
        signals = {
            digest: [
                self._mint.signal(one, episode_id=id, trial=TRIAL, issuer=issuer, candidate_digest=digest)
                for issuer, one in observations.items()
            ]
            for digest, observations in seen.items()
        }
        passed = [digest for digest, minted in signals.items() if _came(minted) is Verdict.PASS]
        steering = [one for minted in signals.values() for one in minted if one.origin is not Origin.HIDDEN_TESTS]
        best = [one for one in steering if one.candidate_digest in passed] or steering
        failed = any(_came(minted) is Verdict.FAIL for minted in signals.values())
        verdict = Verdict.PASS if passed else Verdict.FAIL if failed else Verdict.NONE
        reason = StopReason.VERIFIED if passed else StopReason.BUDGET_TRIALS if failed else StopReason.NO_VERDICT
        seen_best = best[0] if best else None
        end = EpisodeEnd(episode_id=id, verdict=verdict, stop_reason=reason, best_candidate=passed[0] if passed else "")
        trial = TrialEnd(
            episode_id=id,
            trial=TRIAL,
            verdict=seen_best.verdict if seen_best else Verdict.NONE,
            signal_id=seen_best.id if seen_best else "",
        )
        await self._append(episode, [*(one for minted in signals.values() for one in minted), trial, end])
        return signals

    async def _append(self, episode: OpenEpisode, records: Sequence[Record]) -> None:
        await self._store.append(*records, episode.chain.open())
        episode.chain.kept()

    def _call(self, episode_id: str, task: Task, one: WrittenCompletion) -> Iterator[Record]:
        """What the policy was asked, as far as it is known, and what it wrote. Its tokens and its price are not."""
        request = Request(
            messages=(Message(role="user", content=one.prompt or task.prompt or task.id),), purpose="propose"
        )
        body = request.canonical()
        digest = hashlib.sha256(body.encode("utf-8", "surrogatepass")).hexdigest()
        intent = Intent(episode_id=episode_id, trial=TRIAL, kind="model_call", digest=digest, body=body, usd=None)
        yield intent
        yield ModelCall(
            intent_id=intent.id,
            episode_id=episode_id,
            trial=TRIAL,
            model=self._model,
            purpose="propose",
            request_digest=digest,
            completion=Completion(texts=(one.text,), model=self._model).model_dump_json(),
        )

    async def aclose(self) -> None:
        """Writes the run's end, where it has begun. The store stays open.

        Raises:
            StorageError: it can't be written.
        """
        if self._run is None or self._chains is None:
            return
        run, self._run = self._run, None
        heads = self._chains.heads_of(await self._store.last_links(run.id))
        await self._store.append(RunEnd(run_id=run.id), self._chains.later().open(episodes=heads))
        self._chains.close()


def _candidate(episode_id: str, candidate: Candidate) -> Iterator[Record]:
    yield Artifact(digest=candidate.digest, kind="candidate", body=candidate.to_bytes())
    yield CandidateRecord(
        episode_id=episode_id, trial=TRIAL, digest=candidate.digest, actor=ACTOR, artifact=candidate.digest
    )


def _came(signals: Sequence[Signal]) -> Verdict:
    """What all that was observed of a candidate comes to: hidden tests, where they judged, and no other, else all."""
    verdicts = [one.verdict for one in signals]
    if Verdict.FAIL in verdicts:
        return Verdict.FAIL
    return signals[-1].verdict
