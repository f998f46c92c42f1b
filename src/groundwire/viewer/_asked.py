"""What is asked of the viewer's server: pages of lists, their order, filters, forms, addresses of the same, and what an
address names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import quote, urlencode

from starlette.datastructures import QueryParams
from starlette.requests import Request

from groundwire.core._errors import ConfigError, RecordNotFound
from groundwire.memory._browsing import Page, RunSummary
from groundwire.memory._browsing_sql import RunSort, Sort
from groundwire.viewer._comparing import RunComparison, compare_runs
from groundwire.viewer._episode import EpisodeView
from groundwire.viewer._ledgers import Ledgers
from groundwire.viewer._model_calls import CallView
from groundwire.viewer._pages import parameters
from groundwire.viewer._trials import TrialView


def number_of(request: Request, name: str = "page", default: int = 1) -> int:
    try:
        return max(0, min(int(request.query_params.get(name, default)), 10**15))
    except ValueError:
        return default


def order_of(request: Request, columns: type[Sort] | type[RunSort]) -> dict[str, Any]:
    """What a table is sorted by: `sort`, and `order` where it is not as people mostly want it."""
    asked = request.query_params
    try:
        sort = columns(asked.get("sort") or columns.NEWEST)
    except ValueError:
        raise ConfigError(
            f"Nothing is sorted by {asked.get('sort')!r} here.", do=f"Sort by {', '.join(columns)}."
        ) from None
    order = asked.get("order", "")
    if order not in ("", "asc", "desc"):
        raise ConfigError(f"There is no order {order!r}.", do="Ask for order=asc or order=desc.")
    return {"sort": sort, "descends": sort.descends if not order else order == "desc"}


class Columns:
    """Heads of a table's columns: what each is sorted by now, and where a click leads.

    Args:
        request: what was asked.
        sort: what the table is sorted by.
        descends: True if the greatest stands first.
    """

    def __init__(self, request: Request, *, sort: Sort | RunSort, descends: bool) -> None:
        self._path = request.url.path
        self._given = {k: v for k, v in request.query_params.items() if k not in ("page", "part", "sort", "order")}
        self._columns = type(sort)
        # one column, two names
        self._sort = self._columns.NEWEST if sort == "oldest" else sort
        self._descends = descends

    def state(self, name: str) -> str:
        """`ascending`, `descending` or `none`, as `aria-sort` has them."""
        if self._sort != name:
            return "none"
        return "descending" if self._descends else "ascending"

    def address(self, name: str) -> str:
        """Sorted by that column; where it is already, the other way round."""
        usual = self._columns(name).descends
        descends = not self._descends if self._sort == name else usual
        order = {} if descends == usual else {"order": "desc" if descends else "asc"}
        return f"{self._path}?{urlencode({**parameters(**self._given), 'sort': name, **order})}"

    @property
    def asked(self) -> Mapping[str, str]:
        """What a form that filters the table hands on, so that its order stays."""
        if self._sort.descends != self._descends:
            return {"sort": self._sort.value, "order": "desc" if self._descends else "asc"}
        return {} if self._sort == "newest" else {"sort": self._sort.value}


def filters_of(request: Request) -> dict[str, Any]:
    asked = request.query_params
    return {
        **order_of(request, Sort),
        "text": asked.get("q", ""),
        "verdict": asked.get("verdict", ""),
        "stop": asked.get("stop", ""),
        "family": asked.get("family", ""),
    }


async def form_of(request: Request) -> Mapping[str, str]:
    """The fields of a form: urlencoded, and short."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > 64_000:
            raise ValueError("That is too long.")
    return dict(QueryParams(body.decode(errors="replace")))


_SEVERAL = {"run": "runs", "episode": "episodes", "trial": "trials", "call": "calls", "candidate": "candidates",
            "signal": "signals", "lesson": "lessons"}  # fmt: skip


def data_of(request: Request) -> str:
    """Where the data behind a page is."""
    parts = request.url.path.strip("/").split("/")
    kinds = [_SEVERAL.get(part, part) if number % 2 == 0 else part for number, part in enumerate(parts)]
    query = f"?{request.url.query}" if request.url.query else ""
    return f"/api/v1/{'/'.join(kinds) if parts != [''] else 'runs'}{query}"


def address_by_page(request: Request) -> Callable[[int], str]:
    given = {key: value for key, value in request.query_params.items() if key not in ("page", "part")}
    return partial(address_of, request.url.path, given)


def address_of(path: str, given: Mapping[str, str], page: int) -> str:
    return f"{path}?{urlencode({**parameters(**given), 'page': page})}"


def paged(rows: Sequence[Any], number: int, size: int) -> Page[Any]:
    number = max(1, number)
    return Page(rows[(number - 1) * size : number * size], len(rows), number, size)


# what an address names


async def trial_in(ledgers: Ledgers, request: Request) -> tuple[EpisodeView, TrialView]:
    """A trial and its episode."""
    view = await ledgers.episode(request.path_params["episode"])
    trial = next((t for t in view.trials if t.number == request.path_params["trial"]), None)
    if trial is None:
        raise RecordNotFound("The episode has no such trial.")
    return view, trial


_LIST = ("q", "verdict", "stop", "family", "sort", "order", "page")
"""What says which list of episodes somebody comes from, and where in it they are."""


@dataclass(frozen=True)
class Among:
    """Where an episode stands in the list that somebody is going through.

    Args:
        number: its place, counted from 1.
        total: episodes of the list.
        is_filtered: True if the run has others, which a filter leaves out.
        before: address of the episode before; empty where it is the first.
        after: address of the one after; empty where it is the last.
    """

    number: int
    total: int
    is_filtered: bool
    before: str
    after: str


def place_in_list(request: Request, page: int = 0) -> str:
    """The part of an address that says where in a list of episodes somebody is; empty at the beginning of the usual
    one."""
    given = {name: request.query_params.get(name, "") for name in _LIST}
    number = page or number_of(request)
    query = urlencode(parameters(**{**given, "page": number if number > 1 else 0}))
    return f"?{query}" if query else ""


async def among_others(ledgers: Ledgers, request: Request, view: EpisodeView) -> Among | None:
    """The episodes before and after one, in the list that its address names; None where it is not on that page of it
    (any more), or there is no such list."""
    number = max(1, number_of(request))
    try:
        filters = filters_of(request)
        page = await ledgers.episodes(view.run_id, **filters, page=number)
    except ConfigError:
        return None
    at = next((at for at, row in enumerate(page.rows) if row.id == view.id), -1)
    if at < 0:
        return None

    async def beside(step: int) -> str:
        there, index, rows = number, at + step, page.rows
        if not 0 <= index < len(rows):  # on the page before or after: its last or its first
            there, index = number + step, min(step, 0)
            rows = (await ledgers.episodes(view.run_id, **filters, page=there)).rows if 0 < there <= page.pages else ()
        return f"/episode/{quote(rows[index].id, safe='')}{place_in_list(request, there)}" if rows else ""

    is_filtered = any(filters[name] for name in ("text", "verdict", "stop", "family"))
    place = (number - 1) * page.size + at + 1
    return Among(place, page.total, is_filtered, before=await beside(-1), after=await beside(1))


async def call_in(ledgers: Ledgers, request: Request) -> tuple[EpisodeView, CallView, list[CallView]]:
    """A model call, among all of its episode."""
    view = await ledgers.episode(request.path_params["episode"])
    every = [call for trial in view.trials for call in trial.calls]
    call = next((one for one in every if one.id == request.path_params["call"]), None)
    if call is None:
        raise RecordNotFound("The episode has no such model call.")
    return view, call, every


async def two_runs_in(ledgers: Ledgers, request: Request) -> tuple[RunSummary, RunSummary, RunComparison]:
    """Two runs and what is different between them."""
    names = request.query_params.get("a", ""), request.query_params.get("b", "")
    if not all(names):
        raise ConfigError("Two runs are compared, and one is missing.", do="Choose one as A and another as B.")
    (first, _), (second, _) = [await ledgers.run(name) for name in names]
    outcomes = [await ledgers.outcomes(run.id) for run in (first, second)]
    return first, second, compare_runs(*outcomes)
