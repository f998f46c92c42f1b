"""What the ledger says of spending: by episode, and of all episodes of a run together."""

from __future__ import annotations

from collections.abc import Sequence
from weakref import WeakKeyDictionary

from groundwire.errors import ModelReplyInvalid
from groundwire.graphs.accounts import Cost
from groundwire.graphs.budget import RunBudget
from groundwire.graphs.metering import RunMeter
from groundwire.records import Intent, ModelCall, Record, Store, TrialRecord

__all__ = ["RunMeters", "run_meters", "spent_on"]


def spent_on(records: Sequence[Record]) -> Cost:
    """What an episode has used, by its records.

    A call that was cut off, or whose answer could not be read, may have been paid for, and counts with the most that it
    can have cost where nobody said what it used; an answer that was taken from the ledger cost nothing.
    """
    intents = {r.id: r for r in records if isinstance(r, Intent) and r.kind == "model_call"}
    calls = [r for r in records if isinstance(r, ModelCall) and not r.reused]
    cut_off = intents.keys() - {call.intent_id for call in calls}
    trials = {r.trial for r in records if isinstance(r, TrialRecord)}
    return sum(
        (_cost(call, intents.get(call.intent_id)) for call in calls),
        sum((_most(intents[key]) for key in cut_off), Cost(trials=len(trials))),
    )


def _cost(call: ModelCall, intent: Intent | None) -> Cost:
    tokens = call.prompt_tokens + call.completion_tokens
    if intent is not None and not tokens and call.error.startswith(f"{ModelReplyInvalid.__name__}:"):
        return _most(intent)
    return Cost(call.usd or 0.0, tokens, calls=1)


def _most(intent: Intent) -> Cost:
    return Cost(intent.usd or 0.0, intent.tokens, calls=1)


class RunMeters:
    """The meters of the runs that this process works on in one ledger, which tells what earlier processes have used."""

    def __init__(self) -> None:
        self._meters: dict[str, RunMeter] = {}

    def begin(self, run_id: str, budget: RunBudget | None) -> None:
        """Opens a new run's meter."""
        if budget is not None:
            self._meters[run_id] = RunMeter(budget)

    def end(self, run_id: str) -> None:
        """Drops the meter of a run that is over."""
        self._meters.pop(run_id, None)

    async def of(self, run_id: str, budget: RunBudget | None, store: Store) -> RunMeter | None:
        """The meter that all episodes of a run share, whatever app runs them.

        Args:
            run_id: the run.
            budget: its ceilings; None: nothing limits its episodes together, and nothing is read.
            store: the ledger.
        """
        if budget is None:
            return None
        if run_id not in self._meters:
            episodes = await store.episodes(run_id)
            used = [spent_on(await store.records(episode.id)) for episode in episodes]
            # another episode of the run may have been quicker to read
            self._meters.setdefault(run_id, RunMeter(budget, sum(used, Cost())))
        return self._meters[run_id]


_METERS: WeakKeyDictionary[Store, RunMeters] = WeakKeyDictionary()


def run_meters(store: Store) -> RunMeters:
    """The meters of a ledger's runs, shared by all apps that write to it through this store."""
    return _METERS.setdefault(store, RunMeters())
