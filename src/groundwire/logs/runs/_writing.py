"""Writes a logged run into a ledger, as its own graph would have."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field

from groundwire.core._chain import Heads, RunChain
from groundwire.core._environments import shown_in
from groundwire.core._models import Completion, Message, Request
from groundwire.core._records import (
    Admission,
    Artifact,
    CandidateRecord,
    EpisodeEnd,
    EpisodeRecord,
    Intent,
    ModelCall,
    Recall,
    Record,
    ReflectionRecord,
    RunEnd,
    RunRecord,
    StopReason,
    Store,
    TrialEnd,
    TrialRecord,
)
from groundwire.core._seal import Mint
from groundwire.core._signals import Origin, Signal, Verdict, canonical
from groundwire.core._signatures import failure_frames, failure_signature
from groundwire.core._signing import signer
from groundwire.logs.runs._logged import LoggedEpisode, LoggedRun, LoggedTrial

BY = "the log's critic"
WHY = "as logged"
NOTHING_SHOWN = "(nothing was shown)"
"""Where a log holds no observation after a step; a message has a text."""


@dataclass
class WrittenRun:
    """What was written.

    Args:
        run: the run.
        episodes: how many.
        solved: episodes that were solved by the end of trial 1, 2, …
    """

    run: RunRecord
    episodes: int = 0
    solved: list[int] = field(default_factory=list[int])


async def write_run(
    store: Store,
    logged: LoggedRun,
    *,
    key: bytes,
    run_id: str,
    heads: Heads | None = None,
    version: str = "",
    trials: int = 0,
    control_of: str = "",
) -> WrittenRun:
    """Writes it, an episode at a time. Every signal says where it was taken from; nothing is run and nothing is asked.

    Prompts are not in these logs: a model call's request holds the task's text and the reflections that were given.
    Its tokens and its price are unknown.

    Args:
        store: where to.
        logged: the run.
        key: the run's key (`groundwire.core._seal`).
        run_id: the id that the key was made for.
        heads: where the heads of its chains are noted outside of the ledger; None: nowhere.
        version: groundwire's.
        trials: only so many of each episode; 0: all.
        control_of: the run that it is the control arm of.

    Raises:
        RecordingError: a row of the log lacks what it needs; nothing is written.
        StorageError: not written.
    """
    # read once before anything is written: a log that is damaged at its end leaves nothing behind
    episodes = sum(1 for episode in logged.read() if episode.trials)
    source = {"log": logged.log, "name": logged.name, "files": dict(logged.files)}
    config = {
        "imported": {**source, "episodes": episodes, "trials": trials or None, **_allowed(logged, trials)},
        "model": logged.model,
        **({"control_of": control_of} if control_of else {}),
    }
    written = WrittenRun(RunRecord(id=run_id, graph=f"log:{logged.name}", config=canonical(config), version=version))
    seals = signer(run_id, key)
    first = RunChain(seals, heads).begin()
    await store.append(written.run, first.open(key=seals.public.hex))
    first.kept()
    mint, chains = Mint(run_id, key), RunChain(seals, heads, first.head)
    for whole in logged.read():
        episode = whole.first(trials) if trials else whole
        if not episode.trials:
            continue
        writer = _Writer(episode, run_id, mint, logged.model)
        chain = chains.episode(writer.episode.id)
        await store.append(*writer.records(), chain.open())
        chain.kept()
        written.episodes += 1
        _count(written.solved, episode)
    last = chains.later()
    await store.append(RunEnd(run_id=run_id), last.open(episodes=chains.heads_of(await store.last_links(run_id))))
    last.kept()
    chains.close()
    return written


def _allowed(logged: LoggedRun, trials: int) -> dict[str, int]:
    known = [count for count in (logged.allowed_trials, trials) if count]
    return {"allowed_trials": min(known)} if logged.allowed_trials else {}


def _count(solved: list[int], episode: LoggedEpisode) -> None:
    last = episode.trials[-1]
    while len(solved) < last.number:
        solved.append(solved[-1] if solved else 0)
    if _won(episode):
        for trial in range(last.number - 1, len(solved)):
            solved[trial] += 1


def _won(episode: LoggedEpisode) -> bool:
    """By hidden tests, where the log has their word."""
    judged = episode.trials[-1].judged
    hidden = [seen for _, seen in judged if seen.origin is Origin.HIDDEN_TESTS]
    return bool(judged) and (hidden or [judged[-1][1]])[-1].verdict is Verdict.PASS


class _Writer:
    """One episode's records."""

    def __init__(self, logged: LoggedEpisode, run_id: str, mint: Mint, model: str) -> None:
        task = logged.task
        self._logged = logged
        self._mint = mint
        self._model = model
        self._reflections: dict[str, str] = {}
        self.episode = EpisodeRecord(
            run_id=run_id, task_id=task.id, family=task.family, task=task.describe(), base_digest=task.tree.digest
        )

    def records(self) -> Iterator[Record]:
        """All of them, in the order in which a graph writes them."""
        yield self.episode
        for trial in self._logged.trials:
            yield from self._trial(trial, is_last=trial is self._logged.trials[-1])
        won = _won(self._logged)
        last = self._logged.trials[-1]
        unknown = not won and bool(last.judged) and last.judged[-1][1].verdict is Verdict.NONE
        ended = StopReason.NO_VERDICT if unknown else StopReason.BUDGET_TRIALS
        reason = StopReason.VERIFIED if won else StopReason.HIDDEN_FAILED if last.verdict is Verdict.PASS else ended
        best = last.judged[-1][0].digest if won else ""
        verdict = Verdict.PASS if won else Verdict.NONE if unknown else Verdict.FAIL
        yield EpisodeEnd(episode_id=self.episode.id, verdict=verdict, stop_reason=reason, best_candidate=best)

    def _trial(self, trial: LoggedTrial, *, is_last: bool) -> Iterator[Record]:
        id = self.episode.id
        lessons = tuple(self._reflections[text] for text in trial.given if text in self._reflections)
        yield TrialRecord(episode_id=id, trial=trial.number, lessons=lessons)
        for rank, lesson in enumerate(lessons, start=1):
            yield Recall(episode_id=id, trial=trial.number, lesson_id=lesson, rank=rank, why=WHY)
        signal: Signal | None = None
        for place, (candidate, observation) in enumerate(trial.judged):
            if place < len(trial.answers):
                yield from self._call(trial, place)
            yield Artifact(digest=candidate.digest, kind="candidate", body=candidate.to_bytes())
            yield CandidateRecord(
                episode_id=id, trial=trial.number, digest=candidate.digest, actor="log", artifact=candidate.digest
            )
            said = self._mint.signal(
                observation, episode_id=id, trial=trial.number, issuer="log", candidate_digest=candidate.digest
            )
            yield said
            signal = said if said.origin is not Origin.HIDDEN_TESTS else signal
        if signal is not None:
            if not is_last:  # the logged agent tried again because of it
                yield Admission(
                    episode_id=id,
                    trial=trial.number,
                    signal_id=signal.id,
                    candidate_digest=signal.candidate_digest,
                    edge="refine",
                    admitted=True,
                )
            yield from (self._reflection(trial.number, signal, text) for text in trial.reflections)
        yield TrialEnd(episode_id=id, trial=trial.number, verdict=trial.verdict, signal_id=signal.id if signal else "")

    def _reflection(self, trial: int, signal: Signal, text: str) -> ReflectionRecord:
        record = ReflectionRecord(
            episode_id=self.episode.id,
            trial=trial,
            signal_id=signal.id,
            candidate_digest=signal.candidate_digest,
            task_id=self.episode.task_id,
            family=self.episode.family,
            text=text,
            by=BY,
            model=self._model,
            signature=failure_signature(signal.evidence),
            frames=failure_frames(signal.evidence),
        )
        self._reflections[text] = record.id
        return record

    def _call(self, trial: LoggedTrial, place: int) -> Iterator[Record]:
        """What the model was asked, as far as it is known, and what it wrote."""
        asked = "\n\n".join([self._logged.task.prompt, *trial.given])
        earlier = [
            message
            for text, (_, seen) in zip(trial.answers[:place], trial.judged, strict=False)
            for message in (
                Message(role="assistant", content=text),
                Message(role="user", content=shown_in(seen.evidence.stdout) or NOTHING_SHOWN),
            )
        ]
        request = Request(messages=(Message(role="user", content=asked), *earlier), purpose="propose")
        body = request.canonical()
        digest = hashlib.sha256(body.encode()).hexdigest()
        intent = Intent(
            episode_id=self.episode.id, trial=trial.number, kind="model_call", digest=digest, body=body, usd=None
        )
        yield intent
        answer = Completion(texts=(trial.answers[place],), model=self._model)
        yield ModelCall(
            intent_id=intent.id,
            episode_id=self.episode.id,
            trial=trial.number,
            model=self._model,
            purpose="propose",
            request_digest=digest,
            completion=answer.model_dump_json(),
        )
