"""Budgets of episodes and runs: what may be used, what was used, and what is held for calls under way.

A call is reserved at the most that it can cost, in its episode's account and in its run's, and settled at what it did
cost. Where one of the accounts has too little left, nothing is held anywhere and nothing is sent.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Literal, Protocol, get_args
from weakref import WeakKeyDictionary

from pydantic import BaseModel, ConfigDict, Field

from groundwire.core._errors import BudgetExceeded, ModelReplyInvalid, Usage
from groundwire.core._frozen import quickly_made
from groundwire.core._models import Completion
from groundwire.core._records import Intent, ModelCall, Record, Store, TrialRecord, episodes_with_records

# Budgets: what an episode may use, and what all episodes of a run may use together.

Kind = Literal["usd", "tokens", "calls", "trials"]
"""What is counted; seconds pass by themselves."""


class Budget(BaseModel):
    """Ceilings for one episode. None: no ceiling."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    trials: int = Field(default=10, ge=1)
    """Trials, the baseline not counted."""
    steps: int = Field(default=50, ge=1)
    """Actor steps within one trial (`advance`)."""
    usd: float | None = Field(default=None, ge=0)
    """US dollars for model calls."""
    tokens: int | None = Field(default=None, ge=0)
    """Prompt and completion tokens together."""
    calls: int | None = Field(default=None, ge=0)
    """Model calls, whatever comes of them; what a backend tries again within one is one call."""
    seconds: float | None = Field(default=None, ge=0)
    """Wall seconds."""

    @property
    def ceilings(self) -> Mapping[Kind, float | None]:
        """What is counted as it is used; the loop knows the number of its own trial."""
        return {"usd": self.usd, "tokens": self.tokens, "calls": self.calls}


class RunBudget(BaseModel):
    """Ceilings for all episodes of one run together. None: no ceiling.

    What an earlier process used in the same run counts, but for the seconds. The workers of a campaign
    (`graphs.run._worker`) reserve in the database, so that it holds for all of them together; other processes that work
    on one run at the same time don't see each other's use.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    trials: int | None = Field(default=None, ge=0)
    """Trials, baselines not counted."""
    usd: float | None = Field(default=None, ge=0)
    """US dollars for model calls."""
    tokens: int | None = Field(default=None, ge=0)
    """Prompt and completion tokens together."""
    calls: int | None = Field(default=None, ge=0)
    """Model calls, whatever comes of them."""
    seconds: float | None = Field(default=None, ge=0)
    """Wall seconds since this process began the run, or went on with it."""

    @property
    def ceilings(self) -> Mapping[Kind, float | None]:
        """What is counted as it is used."""
        return {"usd": self.usd, "tokens": self.tokens, "calls": self.calls, "trials": self.trials}


# One budget's account: what was used of it, and what is held for what is under way.

KINDS: tuple[Kind, ...] = get_args(Kind)
UNITS: Mapping[Kind, str] = {
    "usd": "${:.4f}",
    "tokens": "{:,} tokens",
    "calls": "{} model calls",
    "trials": "{} trials",
}


@quickly_made
@dataclass(frozen=True)
class Amount:
    """An amount of all that is counted."""

    usd: float = 0.0
    """US dollars."""
    tokens: int = 0
    """Prompt and completion tokens together."""
    calls: int = 0
    trials: int = 0

    def __add__(self, other: Amount) -> Amount:
        return Amount(
            self.usd + other.usd, self.tokens + other.tokens, self.calls + other.calls, self.trials + other.trials
        )

    def __neg__(self) -> Amount:
        return Amount(-self.usd, -self.tokens, -self.calls, -self.trials)

    def of(self, kind: Kind) -> float:
        """The amount of one kind."""
        return getattr(self, kind)


NOTHING = Amount()
ONE_CALL = Amount(calls=1)
ONE_TRIAL = Amount(trials=1)


class BudgetAccount:
    """One budget's account. Cost: O(1) for each call.

    Args:
        ceilings: the most of each kind; None: no ceiling.
        owner: whose it is, for messages.
    """

    def __init__(self, ceilings: Mapping[Kind, float | None], owner: str) -> None:
        self.ceilings = ceilings
        self.owner = owner
        self.used = NOTHING
        self._ceilings: list[tuple[Kind, float]] = [
            (kind, ceiling) for kind in KINDS if (ceiling := ceilings.get(kind)) is not None
        ]
        self._held: dict[int, Amount] = {}
        self._together = NOTHING

    def left(self, kind: Kind) -> float | None:
        """What is neither used nor held, or None without a ceiling."""
        ceiling = self.ceilings.get(kind)
        if ceiling is None:
            return None
        return max(0, ceiling - self.used.of(kind) - self._together.of(kind))

    def used_up(self, kind: Kind) -> bool:
        """True if nothing is left of it for another try; who never used any may not need it, and is let go on."""
        ceiling, used = self.ceilings.get(kind), self.used.of(kind)
        return ceiling is not None and used > 0 and used >= ceiling

    def check(self, most: Amount) -> None:
        """Raises BudgetExceeded if it has less left than `most`."""
        for kind, ceiling in self._ceilings:
            wanted, left = most.of(kind), self.left(kind)
            if left is not None and wanted > left:
                said = UNITS[kind].format
                raise BudgetExceeded(
                    kind,
                    f"The next step may use {said(wanted)}; {said(left)} of {self.owner}'s {said(ceiling)} are left.",
                    do=f"Raise --max-{kind}.",
                )

    def hold(self, key: int, most: Amount) -> None:
        """Keeps `most` back until `release`."""
        self._together = self._together + most if self._held else most
        self._held[key] = most

    def release(self, key: int) -> None:
        """Gives back what was held."""
        held = self._held.pop(key)
        # without anything held it is zero to the last bit, however many floats came and went
        self._together = NOTHING if not self._held else self._together + -held

    def book(self, cost: Amount) -> None:
        """Counts what was really used."""
        self.used += cost


# What was used, and what is held for what is under way: concurrent calls can't overspend together.


@dataclass
class Reservation:
    """What one call may cost at most, and then what it did cost."""

    most: Amount
    spent: Amount = ONE_CALL
    """A call whose price nobody tells counts as a call that cost nothing else."""

    def settle(self, used: Completion | Usage) -> None:
        """It was answered, or failed, and this is what it used."""
        self.spent = Amount(used.usd or 0.0, used.prompt_tokens + used.completion_tokens, calls=1)

    def spend_all(self) -> None:
        """It may have been paid for, and nobody can say how much it was."""
        self.spent = self.most


class SharedAccount(Protocol):
    """The account of a run that several processes work on."""

    async def hold(self, episode_id: str, most: Amount) -> None:
        """Keeps `most` back for a step of an episode.

        Raises:
            BudgetExceeded: so much is not left.
        """
        ...

    async def settle(self, episode_id: str, most: Amount, spent: Amount) -> None:
        """Books what a step did use, in place of the most that was held for it."""
        ...


class RunMeter:
    """What all episodes of a run have used.

    Args:
        budget: the ceilings.
        used: what earlier processes used in this run.
        clock: seconds, monotone.
    """

    def __init__(
        self, budget: RunBudget, used: Amount | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.budget = budget
        self.shared: SharedAccount | None = None
        """Where other processes reserve too."""
        self.account = BudgetAccount(budget.ceilings, "the run")
        self.account.book(used or NOTHING)
        self._clock = clock
        self._start = clock()

    def used_up(self, *, trials: bool = True) -> str:
        """The kind of which nothing is left for another try, or "".

        Args:
            trials: False where the try begins no trial.
        """
        if self.seconds_left() == 0:
            return "seconds"
        counted: list[Kind] = [kind for kind in KINDS if trials or kind != "trials"]
        return next((kind for kind in counted if self.account.used_up(kind)), "")

    def seconds_left(self) -> float | None:
        """Wall seconds left, or None without a ceiling."""
        ceiling = self.budget.seconds
        return None if ceiling is None else max(0.0, ceiling - (self._clock() - self._start))


class Meter:
    """What an episode has used; it may use no more than its run has left.

    Args:
        budget: the episode's ceilings.
        run: the run's meter, shared by its episodes.
        clock: seconds, monotone.
        episode_id: whose it is, for an account that processes share.
    """

    def __init__(
        self,
        budget: Budget,
        run: RunMeter | None = None,
        clock: Callable[[], float] = time.monotonic,
        episode_id: str = "",
    ) -> None:
        self.budget = budget
        self._episode_id = episode_id
        self._run = run or RunMeter(RunBudget())
        self._mine = BudgetAccount(budget.ceilings, "the episode")
        self._clock = clock
        self._start = clock()

    @property
    def used(self) -> Amount:
        """What this episode has used."""
        return self._mine.used

    @property
    def seconds(self) -> float:
        """Wall seconds since the episode began (or was resumed)."""
        return self._clock() - self._start

    def seconds_left(self) -> float | None:
        """Wall seconds left to the episode or to its run, whichever is less; None without a ceiling."""
        own = None if self.budget.seconds is None else max(0.0, self.budget.seconds - self.seconds)
        return min((left for left in (own, self._run.seconds_left()) if left is not None), default=None)

    def out_of_time(self) -> BudgetExceeded:
        """What to raise where no time is left."""
        own, of_run = self.budget.seconds, self._run.budget.seconds
        if of_run is not None and (own is None or self._run.seconds_left() == 0):
            return self._of_the_run(f"The run's {of_run:g} s are used up.")
        return BudgetExceeded("seconds", f"The {own or 0.0:g} s are used up.", do="Raise --max-seconds.")

    def used_up(self, *, trial: int, step: int = 0) -> str:
        """The kind of budget that forbids another try after `trial`, or ""; `run`: the run's, of whatever kind."""
        budget = self.budget
        if trial >= budget.trials:
            return "trials"
        if step >= budget.steps:
            return "steps"
        if budget.seconds is not None and self.seconds >= budget.seconds:
            return "seconds"
        mine = next((kind for kind in KINDS if self._mine.used_up(kind)), None)
        if mine is not None:
            return mine
        # a step within a trial begins none
        return "run" if self._run.used_up(trials=trial >= 0) else ""

    def begin_trial(self) -> None:
        """Counts a trial before it begins.

        Raises:
            BudgetExceeded: the run has none left.
        """
        self._check_run(ONE_TRIAL)
        self.book(ONE_TRIAL)

    async def begin_shared_trial(self) -> None:
        """As `begin_trial`, where other processes count their trials too.

        Raises:
            BudgetExceeded: the run has none left.
        """
        await self._hold_shared(ONE_TRIAL)
        if self._run.shared is not None:
            await self._run.shared.settle(self._episode_id, ONE_TRIAL, ONE_TRIAL)
        self.begin_trial()

    @asynccontextmanager
    async def reserve_shared(self, usd: float | None, tokens: int) -> AsyncGenerator[Reservation]:
        """As `reserve`, where other processes spend from the run's budget too.

        Args:
            usd: its price at most; None where it is unknown.
            tokens: prompt and completion tokens at most.

        Raises:
            BudgetExceeded: as `reserve`, or the other processes have left too little.
        """
        shared = self._run.shared
        if shared is None:
            with self.reserve(usd, tokens) as held:
                yield held
            return
        most = Amount(usd or 0.0, tokens, calls=1)
        await self._hold_shared(most)
        spent = NOTHING  # where this process itself refuses
        try:
            with self.reserve(usd, tokens) as held:
                try:
                    yield held
                except asyncio.CancelledError:
                    held.spend_all()
                    raise
                finally:
                    spent = held.spent
        finally:
            # booked at the most until then, whatever comes of it: a cancelled call may have been paid for
            await asyncio.shield(shared.settle(self._episode_id, most, spent))

    async def _hold_shared(self, most: Amount) -> None:
        if self._run.shared is not None:
            try:
                await self._run.shared.hold(self._episode_id, most)
            except BudgetExceeded as exceeded:
                raise self._of_the_run(exceeded.what) from exceeded

    @contextmanager
    def reserve(self, usd: float | None, tokens: int) -> Generator[Reservation]:
        """Holds the most that a call can cost while it runs, and books what its reservation says when it has run.

        A call that is cancelled may have been paid for, and is booked at the most.

        Args:
            usd: its price at most; None where it is unknown.
            tokens: prompt and completion tokens at most.

        Raises:
            BudgetExceeded: it could cost more than is left, or its price is unknown and money is limited.
        """
        if self.seconds_left() == 0:
            raise self.out_of_time()
        if usd is None and (self.budget.usd is not None or self._run.budget.usd is not None):
            raise BudgetExceeded(
                "usd",
                "The price of this model is unknown, so the money limit can't be kept.",
                do="Give its price (usd_per_token), or limit tokens instead of money.",
            )
        held = Reservation(Amount(usd or 0.0, tokens, calls=1))
        self._mine.check(held.most)
        self._check_run(held.most)
        accounts = (self._mine, self._run.account)
        for account in accounts:
            account.hold(id(held), held.most)
        try:
            yield held
        except asyncio.CancelledError:
            held.spend_all()
            raise
        finally:
            for account in accounts:
                account.release(id(held))
            self.book(held.spent)

    def book(self, cost: Amount) -> None:
        """Counts what was used now."""
        self._mine.book(cost)
        self._run.account.book(cost)

    def book_earlier(self, cost: Amount) -> None:
        """Counts what an earlier process used in this episode; the run's meter knows of it already."""
        self._mine.book(cost)

    def _check_run(self, most: Amount) -> None:
        try:
            self._run.account.check(most)
        except BudgetExceeded as exceeded:
            raise self._of_the_run(exceeded.what) from exceeded

    def _of_the_run(self, what: str) -> BudgetExceeded:
        return BudgetExceeded("run", what, do="Raise the run's budget and go on with it.")


# What the ledger says of spending: by episode, and of all episodes of a run together.


def spent_on(records: Sequence[Record]) -> Amount:
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
        sum((_most(intents[key]) for key in cut_off), Amount(trials=len(trials))),
    )


def _cost(call: ModelCall, intent: Intent | None) -> Amount:
    tokens = call.prompt_tokens + call.completion_tokens
    if intent is not None and not tokens and call.error.startswith(f"{ModelReplyInvalid.__name__}:"):
        return _most(intent)
    return Amount(call.usd or 0.0, tokens, calls=1)


def _most(intent: Intent) -> Amount:
    return Amount(intent.usd or 0.0, intent.tokens, calls=1)


class RunMeters:
    """The meters of the runs that this process works on in one ledger, which tells what earlier processes have used."""

    def __init__(self) -> None:
        self._meters: dict[str, RunMeter] = {}

    def begin(self, run_id: str, budget: RunBudget | None) -> None:
        """Opens a new run's meter."""
        if budget is not None:
            self._meters[run_id] = RunMeter(budget)

    def share(self, run_id: str, meter: RunMeter) -> None:
        """Takes this meter for the run, in which other processes spend as well."""
        self._meters[run_id] = meter

    def end(self, run_id: str) -> None:
        """Drops the meter of a run that is over."""
        self._meters.pop(run_id, None)

    async def of(self, run_id: str, budget: RunBudget | None, store: Store) -> RunMeter | None:
        """The meter that all episodes of a run share, whatever app runs them.

        Args:
            run_id: the run.
            budget: its ceilings; None: nothing but what is shared limits its episodes together, and nothing is read.
            store: the ledger.
        """
        if budget is None:
            return self._meters.get(run_id)
        if run_id not in self._meters:
            used = [spent_on(records) async for _, records in episodes_with_records(store, run_id)]
            # another episode of the run may have been quicker to read
            self._meters.setdefault(run_id, RunMeter(budget, sum(used, NOTHING)))
        return self._meters[run_id]


_METERS: WeakKeyDictionary[Store, RunMeters] = WeakKeyDictionary()


def run_meters(store: Store) -> RunMeters:
    """The meters of a ledger's runs, shared by all apps that write to it through this store."""
    return _METERS.setdefault(store, RunMeters())
