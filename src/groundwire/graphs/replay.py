"""An episode run again from its ledger alone: no model is asked, no program run, no sandbox opened."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from groundwire.contexts import Lesson
from groundwire.errors import ConfigError, RecordNotFound, SandboxUnavailable, SealError
from groundwire.graphs.budget import Budget
from groundwire.graphs.differences import Difference, first_difference
from groundwire.graphs.driving import OnError
from groundwire.graphs.episode import Episode
from groundwire.graphs.metering import Meter
from groundwire.graphs.recorded import Recordings
from groundwire.graphs.rules import Rules
from groundwire.limits import Limits, SandboxInfo
from groundwire.memory import InMemoryStore
from groundwire.mint import Keys, MemoryKeys, Mint, verify
from groundwire.records import CandidateRecord, EpisodeEnd, EpisodeRecord, Intent, Recall, Record, StopReason, Store
from groundwire.sandboxes import Sandbox
from groundwire.seeds import SeedRule
from groundwire.signals import Signal, canonical
from groundwire.tasks import Task
from groundwire.trees import Tree

__all__ = ["Replay", "Replayed", "check_same", "without_traces"]

FROM_OUTSIDE = frozenset(
    {
        StopReason.BUDGET_SECONDS,
        StopReason.BUDGET_RUN,
        StopReason.HIDDEN_LEAK,
        StopReason.STORAGE_ERROR,
        StopReason.INTERNAL_ERROR,
    }
)
"""Ends for reasons that no record of the episode holds: the clock, other episodes' spending, a hidden text, the disk,
an error in a user's own code. A replay may go on behind them."""


@dataclass(frozen=True)
class Replayed:
    """What came of a replay.

    Args:
        episode_id: the episode.
        task_id: its task.
        compared: records that are the same.
        difference: the first difference; None where there is none.
        is_whole: False where the recorded episode was ended by what no record holds; up to there it was compared.
        seals_verified: False where the run's key is not here.
    """

    episode_id: str
    task_id: str
    compared: int
    difference: Difference | None
    is_whole: bool
    seals_verified: bool


class Replay:
    """One recorded episode, ready to be run again. Made by `Replay.read`."""

    def __init__(
        self, known: EpisodeRecord, records: Sequence[Record], recordings: Recordings, *, seals_verified: bool
    ) -> None:
        self._known = known
        self._records = records
        self._recordings = recordings
        self._seals_verified = seals_verified
        self._store = InMemoryStore()

    @classmethod
    async def read(cls, source: Store, known: EpisodeRecord, keys: Keys) -> Replay:
        """Reads an episode from a ledger.

        Args:
            source: the ledger.
            known: the episode's record.
            keys: where the run's key is; without it no seal is verified.

        Raises:
            ConfigError: it has not ended.
            SealError: a signal is not what was minted.
            RecordNotFound: what it asked or was told was dropped since.
        """
        records = await source.records(known.id)
        if not any(isinstance(record, EpisodeEnd) for record in records):
            raise ConfigError(
                f"Episode {known.id} has not ended: it was interrupted, or goes on in another process.",
                do=f"Let it end first:  groundwire resume {known.run_id[:13]}",
            )
        _check_bodies(known, records)
        recordings = Recordings(records, source, await _lessons(source, known, records))
        return cls(known, records, recordings, seals_verified=_verify(known.run_id, records, keys))

    def episode(self, task: Task, budget: Budget, rules: Rules, seed_rule: SeedRule) -> Episode:
        """The episode to be run again, with a ledger of its own. Time is no limit, and nothing outside is reached."""
        run_id = self._known.run_id
        return Episode(
            run_id=run_id,
            id=self._known.id,
            task=task,
            store=self._store,
            mint=Mint(run_id, MemoryKeys().create(run_id)),
            meter=Meter(budget.model_copy(update={"seconds": None})),
            sandbox=_no_sandbox,
            program_sandbox=_no_sandbox,
            seed=self._known.seed,
            seed_rule=seed_rule,
            rules=rules,
            recordings=self._recordings,
        )

    @property
    def on_error(self) -> OnError:
        """What an error of a part comes to: it ends the replay where it may have ended what is replayed."""
        ends = {record.stop_reason for record in self._records if isinstance(record, EpisodeEnd)}
        return "end" if StopReason.INTERNAL_ERROR in ends else "raise"

    async def compared(self) -> Replayed:
        """What the run came to, against what is recorded."""
        end = next(record for record in self._records if isinstance(record, EpisodeEnd))
        is_whole = end.stop_reason not in FROM_OUTSIDE
        replayed = await self._store.records(self._known.id)
        same, difference = first_difference(self._records, replayed, is_whole=is_whole)
        known = self._known
        return Replayed(known.id, known.task_id, same, difference, is_whole, self._seals_verified)


async def check_same(store: Store, run_id: str, mine: Mapping[str, Any]) -> None:
    """Refuses to replay a run with what did not run it.

    Args:
        store: the ledger.
        run_id: the run.
        mine: what the app at hand would write of itself.

    Raises:
        ConfigError: the run's graph, budget or rules were others.
    """
    runs = await store.runs(prefix=run_id, limit=1)
    recorded: dict[str, Any] = json.loads(runs[0].config) if runs else {}
    known: dict[str, Any] = json.loads(canonical(mine))
    for name in ("nodes", "gates", "budget", "rules", "trust"):
        if name in recorded and recorded[name] != known[name]:
            raise ConfigError(
                f"Run {run_id} was not run by this graph: its {name} were others.",
                do="Replay it with the graph, the budget and the rules that it was run with.",
            )


def without_traces(langgraph: Any) -> Any:
    """A compiled graph without its checkpointer and its pauses: a replay leaves nothing behind."""
    return langgraph.copy({"checkpointer": None, "interrupt_before_nodes": [], "interrupt_after_nodes": []})


async def _lessons(source: Store, known: EpisodeRecord, records: Sequence[Record]) -> dict[str, Lesson]:
    wanted = list(dict.fromkeys(r.lesson_id for r in records if isinstance(r, Recall)))
    lessons = {lesson.id: lesson for lesson in await source.lessons(wanted)}
    gone = [lesson_id for lesson_id in wanted if lesson_id not in lessons]
    if gone:
        raise RecordNotFound(
            f"Episode {known.id} was given lesson {gone[0]}, which has been forgotten, so it can't be replayed."
        )
    return lessons


def _check_bodies(known: EpisodeRecord, records: Sequence[Record]) -> None:
    intents = {r.id for r in records if isinstance(r, Intent)}
    calls = [r for r in records if hasattr(r, "intent_id") and not getattr(r, "reused", "")]
    judged = any(isinstance(r, Signal) for r in records)
    # of answers none of which could be used there was nothing to judge
    useless = bool(calls) and not any(isinstance(r, CandidateRecord) for r in records)
    if not (judged or useless) or any(getattr(call, "intent_id", "") not in intents for call in calls):
        raise RecordNotFound(
            f"Episode {known.id} can't be replayed: its ledger no longer holds what was asked or seen.",
            do="A retention rule has dropped it (groundwire memory vacuum).",
        )


def _verify(run_id: str, records: Sequence[Record], keys: Keys) -> bool:
    try:
        key = keys.load(run_id)
    except SealError:
        return False
    for record in records:
        if isinstance(record, Signal):
            verify(record, key)
    return True


class _NoSandbox:
    """Where a program would run; in a replay none does. See `groundwire.sandboxes.Sandbox`."""

    info = SandboxInfo(kind="none", version="", enforcement={})
    python = Path("python")

    async def run(self, command: Sequence[str], tree: Tree, limits: Limits, **_options: Any) -> NoReturn:
        raise SandboxUnavailable("A replay runs nothing: what it asks for is not in the ledger.")

    async def warm(self, tree: Tree, **_options: Any) -> NoReturn:
        raise SandboxUnavailable("A replay runs nothing: what it asks for is not in the ledger.")

    async def aclose(self) -> None:
        """Nothing is open."""


async def _no_sandbox(*, isolated: bool = True) -> Sandbox:
    return _NoSandbox()
