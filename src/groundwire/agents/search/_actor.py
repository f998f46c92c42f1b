"""The search actor: classical program repair for Python, without a model.

Faults are located from what failing and passing tests ran, edits of the syntax tree are ranked by blame, by how often
their kind repairs, and by what paid before; the loop judges them. After GenProg (Le Goues et al., IEEE TSE 38(1), 2012)
in its outline, and after Long and Rinard, "Automatic patch generation by learning correct code" (POPL 2016), in that
the order of the candidates decides how good the first one that passes is.
"""

from __future__ import annotations

import asyncio
import threading
import warnings
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeVar

from groundwire.agents.search._localise import dstar, ochiai
from groundwire.core._candidates import Candidate
from groundwire.core._contexts import ActorContext, Judged
from groundwire.core._ids import seed_in
from groundwire.core._signals import Origin, Signal, Verdict
from groundwire.core._traits import ActorTraits, Needs

if TYPE_CHECKING:
    from groundwire.agents.search._plan import SearchPlan


Result = TypeVar("Result")
MAX_PLANS = 8
_ONE_AT_A_TIME = threading.Lock()


class SearchActor:
    """Proposes edits of the syntax tree, best first. Needs no model, no database and no sandbox.

    It keeps nothing that it could not make again from the context: what is in `context.tried` is never proposed twice,
    also by another actor in another process. The same context and seed give the same candidates in the same order.

    Args:
        seed: orders edits of equal rank, together with the context's seed.
        formula: of the fault localisation, `ochiai` or `dstar`.
    """

    traits = ActorTraits(needs=Needs(coverage=True, edit_statistics=True), patient=True, revision=6)
    """It goes through a plan of its own and says when nothing is left: a failure that stays is no standstill."""

    def __init__(self, seed: int = 0, *, formula: Literal["ochiai", "dstar"] = "ochiai") -> None:
        self._seed = seed
        self._formula = {"ochiai": ochiai, "dstar": dstar}[formula]
        self._plans: OrderedDict[tuple[str, ...], SearchPlan] = OrderedDict()

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        """See `groundwire.core._contexts.Actor`. Calls no model."""
        # ranking a large project takes seconds: other episodes go on meanwhile
        return await _aside(partial(self._propose, context, n))

    def _propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        # an edit such as `1 is x` makes the compiler warn, which is no news; filters belong to the whole process
        with _ONE_AT_A_TIME, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            plan = self._plan(context)
            plan.learn(j for j in (*context.judged, context.best, context.failing) if j and _is_usable(j.signal))
            return plan.propose(context.tried, n)

    def _plan(self, context: ActorContext) -> SearchPlan:
        # 0 leaves edits of equal rank in their place in the text
        seed = seed_in(context, "search", call=self._seed, of_episode=True) if self._seed or context.seed else 0
        baseline = _baseline(context)
        place = (context.task.tree.digest, context.task.id, str(seed))
        plan = self._plans.get(place)
        if plan is None:
            # the syntax trees' library: a baseline that passes, or proposes nothing, needs none of it
            from groundwire.agents.search._plan import SearchPlan

            plan = self._plans[place] = SearchPlan(context, baseline, self._formula, seed)
            if len(self._plans) > MAX_PLANS:
                self._plans.popitem(last=False)
        self._plans.move_to_end(place)
        return plan


async def _aside(work: Callable[[], Result]) -> Result:
    """Runs work in a thread that nobody waits for once the time is up, as the interpreter does for those of its pools.

    What the thread would have said is then lost.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Result] = loop.create_future()

    def tell(act: Callable[[], None]) -> None:
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(lambda: None if done.done() else act())

    def run() -> None:
        try:
            result = work()
        except BaseException as error:
            raised = error
            tell(lambda: done.set_exception(raised))
        else:
            tell(lambda: done.set_result(result))

    threading.Thread(target=run, name="search", daemon=True).start()
    return await done


def _is_usable(signal: Signal) -> bool:
    return signal.origin is not Origin.HIDDEN_TESTS and not signal.oracle


def _baseline(context: ActorContext) -> Signal | None:
    """The signal on the base tree; where that is not at hand any more, the failure that comes nearest to it."""
    known: list[Judged] = [j for j in (*context.judged, context.best, context.failing) if j and _is_usable(j.signal)]
    failed = [j for j in known if j.signal.verdict is Verdict.FAIL]
    base = next((j for j in failed if j.candidate.is_base), None)
    nearest = base or min(failed, key=lambda j: len(j.signal.evidence.failed()), default=None)
    return nearest.signal if nearest else None
