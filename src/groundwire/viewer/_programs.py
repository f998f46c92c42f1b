"""The viewer's interface for programs: what its pages show, as data."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import Response

from groundwire.memory._browsing_sql import RunSort
from groundwire.viewer._answers import Asked, data, record_data, rows_of
from groundwire.viewer._asked import call_in, filters_of, number_of, order_of, trial_in, two_runs_in
from groundwire.viewer._comparing import compare_episodes
from groundwire.viewer._ledgers import Ledgers, as_data, state_of


class ForPrograms:
    """What is answered to each address of the interface.

    Args:
        ledgers: what is shown.
    """

    def __init__(self, ledgers: Ledgers) -> None:
        self._ledgers = ledgers

    def addresses(self) -> Mapping[str, Asked]:
        """All of them."""
        return {
            "/api/v1/runs": self.runs,
            "/api/v1/runs/{run}": self.run,
            "/api/v1/runs/{run}/episodes": self.episodes,
            "/api/v1/episodes/{episode}": self.episode,
            "/api/v1/episodes/{episode}/records": self.records,
            "/api/v1/episodes/{episode}/trials/{trial:int}": self.trial,
            "/api/v1/episodes/{episode}/calls/{call}": self.call,
            "/api/v1/episodes/{episode}/candidates/{digest}": self.candidate,
            "/api/v1/signals/{signal}": self.signal,
            "/api/v1/lessons": self.lessons,
            "/api/v1/lessons/{lesson}": self.lesson,
            "/api/v1/search": self.search,
            "/api/v1/compare": self.compare,
            "/api/v1/compare-episodes": self.compare_episodes,
        }

    async def runs(self, request: Request) -> Response:
        """Runs: `q`, `sort`, `order`, `page`, `size`."""
        text, size = request.query_params.get("q", ""), number_of(request, "size", 25)
        page = await self._ledgers.runs(text=text, **order_of(request, RunSort), page=number_of(request), size=size)
        return data(rows_of(page))

    async def run(self, request: Request) -> Response:
        """A run, whether it is as it was written, and its notes."""
        run, _ = await self._ledgers.run(request.path_params["run"])
        check = await self._ledgers.check(run.id)
        notes = await self._ledgers.notes(run.id)
        told = {**as_data(run), "state": state_of(run), "holds": check.holds, "signals": check.signals}
        return data({"run": told, "notes": as_data(notes)})

    async def episodes(self, request: Request) -> Response:
        """Its episodes: `q`, `verdict`, `stop`, `family`, `sort`, `order`, `page`, `size`."""
        run = request.path_params["run"]
        page = await self._ledgers.episodes(
            run, **filters_of(request), page=number_of(request), size=number_of(request, "size", 50)
        )
        return data(rows_of(page))

    async def episode(self, request: Request) -> Response:
        """An episode as its page shows it."""
        view, way = await self._ledgers.episode_and_way(request.path_params["episode"])
        return data({"episode": as_data(view), "way": as_data(way)})

    async def records(self, request: Request) -> Response:
        """All its records, in the order of writing."""
        records = await self._ledgers.records(request.path_params["episode"])
        return data({"records": [record_data(record) for record in records]})

    async def trial(self, request: Request) -> Response:
        """A trial with all its candidates."""
        return data({"trial": as_data((await trial_in(self._ledgers, request))[1])})

    async def call(self, request: Request) -> Response:
        """A model call: what the model was shown, and what it answered."""
        return data({"call": as_data((await call_in(self._ledgers, request))[1])})

    async def candidate(self, request: Request) -> Response:
        """What a candidate changes: `against`."""
        files = await self._ledgers.candidate(
            request.path_params["episode"],
            request.path_params["digest"],
            against=request.query_params.get("against", ""),
        )
        return data({"files": as_data(files)})

    async def signal(self, request: Request) -> Response:
        """A signal, whole."""
        return data({"signal": as_data(await self._ledgers.signal(request.path_params["signal"]))})

    async def lessons(self, request: Request) -> Response:
        """Lessons: `q`, `order`."""
        text, order = request.query_params.get("q", ""), request.query_params.get("order", "")
        return data({"lessons": as_data(await self._ledgers.lessons(text=text, order=order))})

    async def lesson(self, request: Request) -> Response:
        """A lesson with its history."""
        view, run = await self._ledgers.lesson(request.path_params["lesson"])
        return data({"lesson": as_data(view), "run": run})

    async def search(self, request: Request) -> Response:
        """Places: `q`, `run`."""
        hits = await self._ledgers.search(request.query_params.get("q", ""), run_id=request.query_params.get("run", ""))
        return data({"hits": as_data(hits)})

    async def compare(self, request: Request) -> Response:
        """Two runs: `a`, `b`."""
        first, second, compared = await two_runs_in(self._ledgers, request)
        return data({"a": as_data(first), "b": as_data(second), "compared": as_data(compared)})

    async def compare_episodes(self, request: Request) -> Response:
        """Two episodes, trial by trial: `a`, `b`."""
        first, second = [await self._ledgers.episode(request.query_params.get(name, "")) for name in ("a", "b")]
        return data({"pairs": as_data(compare_episodes(first, second))})
