"""The viewer's server: pages, and the same as data, on this machine alone.

What is shown was written by models, programs and tests, so nothing of it is trusted: every page is escaped by its
templates, no script but ours may run (a content security policy says so), and what is downloaded is an attachment.
Whoever opens a page has to know the token in the address; requests that name another host, or that come from another
site, are refused."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from groundwire.core._errors import ConfigError, GroundwireError, RecordNotFound
from groundwire.core._records import RunState, run_state
from groundwire.core._seal import FileKeys
from groundwire.core._text import plural
from groundwire.memory._browsing import Page, RunSummary
from groundwire.memory._browsing_sql import OPEN, RunSort
from groundwire.viewer._asked import (
    Columns,
    address_by_page,
    address_of,
    data_of,
    filters_of,
    form_of,
    number_of,
    order_of,
    paged,
)
from groundwire.viewer._comparing import RunComparison, compare_episodes, compare_runs
from groundwire.viewer._diffs import side_by_side
from groundwire.viewer._episode import CallView, EpisodeView, TrialView
from groundwire.viewer._export import export_episode
from groundwire.viewer._guard import LOOPBACK, Guard
from groundwire.viewer._ledgers import Ledgers, as_data
from groundwire.viewer._pages import asset, render
from groundwire.viewer._way import drawing_of

API = 1
"""Version of the interface for programs: it rises when a field changes its meaning or goes."""
CASES, CANDIDATES, RECORDS, PAIRS = 100, 5, 100, 500
"""Rows that are shown at once: cases by trials, candidates of a trial, records, tasks of a comparison."""
CANDIDATES_A_PAGE = 100
MANY = 15
"""Trials from which on each shows but one candidate until the others are asked for."""
LOOK_S = 0.5
"""Seconds between looks at whether anything was written."""
REPORT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; frame-ancestors 'none'"
"""The report's page has its style in itself, and no script may run in it."""


def make_app(ledgers: Ledgers, *, token: str, hosts: Sequence[str] = ()) -> ASGIApp:
    """The application.

    Args:
        ledgers: what it shows.
        token: what an address has to hold once; a cookie stands for it then.
        hosts: names beside this machine's own by which it may be asked.
    """
    pages = _Pages(ledgers)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncGenerator[None]:
        yield
        await ledgers.aclose()

    app = Starlette(routes=pages.routes(), lifespan=lifespan)
    return Guard(app, token=token, hosts={*LOOPBACK, *hosts})


Asked = Callable[[Request], Awaitable[Response]]


class _Pages:
    """What is answered to each address.

    Args:
        ledgers: what is shown.
    """

    def __init__(self, ledgers: Ledgers) -> None:
        self._ledgers = ledgers

    def routes(self) -> list[Route]:
        """All of them."""
        pages: Mapping[str, Asked] = {
            "/": self.runs,
            "/run/{run}": self.run,
            "/run/{run}/check": self.check,
            "/run/{run}/download.json": self.run_file,
            "/episode/{episode}": self.episode,
            "/episode/{episode}/download.json": self.episode_file,
            "/episode/{episode}/export.html": self.episode_export,
            "/episode/{episode}/records": self.records,
            "/episode/{episode}/trial/{trial:int}": self.trial,
            "/episode/{episode}/call/{call}": self.call,
            "/episode/{episode}/candidate/{digest}": self.candidate,
            "/episode/{episode}/candidate/{digest}/download.json": self.candidate_file,
            "/signal/{signal}": self.signal,
            "/signal/{signal}/{name}.txt": self.output,
            "/lessons": self.lessons,
            "/search": self.search,
            "/compare": self.compare,
            "/compare-episodes": self.compare_episodes,
            "/report": self.report,
            "/static/{name}": self.static,
            "/events": self.events,
            "/api/v1/runs": self.api_runs,
            "/api/v1/runs/{run}": self.api_run,
            "/api/v1/runs/{run}/episodes": self.api_episodes,
            "/api/v1/episodes/{episode}": self.api_episode,
            "/api/v1/episodes/{episode}/records": self.api_records,
            "/api/v1/episodes/{episode}/trials/{trial:int}": self.api_trial,
            "/api/v1/episodes/{episode}/calls/{call}": self.api_call,
            "/api/v1/episodes/{episode}/candidates/{digest}": self.api_candidate,
            "/api/v1/signals/{signal}": self.api_signal,
            "/api/v1/lessons": self.api_lessons,
            "/api/v1/lessons/{lesson}": self.api_lesson,
            "/api/v1/search": self.api_search,
            "/api/v1/compare": self.api_compare,
            "/api/v1/compare-episodes": self.api_compare_episodes,
        }
        return [
            *(Route(path, _told(page), methods=["GET"]) for path, page in pages.items()),
            Route("/lesson/{lesson}", _told(self.lesson), methods=["GET"]),
            Route("/lesson/{lesson}", _told(self.decide), methods=["POST"]),
            Route("/run/{run}/notes", _told(self.note), methods=["POST"]),
        ]

    # runs

    async def runs(self, request: Request) -> Response:
        """All runs."""
        text, order = request.query_params.get("q", ""), order_of(request, RunSort)
        page = await self._ledgers.runs(text=text, page=number_of(request), **order)
        newest = await self._ledgers.newest()
        states = {run.id: _state(run) for run in page.rows}
        live = newest if RunState.RUNNING in states.values() else ""
        columns = Columns(request, **order)
        return _page(
            "runs.html",
            data=data_of(request),
            page=page,
            text=text,
            states=states,
            live=live,
            columns=columns,
            address=address_by_page(request),
        )

    async def run(self, request: Request) -> Response:
        """A run and its episodes."""
        run, _ = await self._ledgers.run(request.path_params["run"])
        asked = filters_of(request)
        newest = await self._ledgers.newest()
        page = await self._ledgers.episodes(run.id, **asked, page=number_of(request))
        state = _state(run)
        return _page(
            "run.html",
            data=data_of(request),
            run=run,
            state=state,
            drawing=drawing_of(json.loads(run.config or "{}")),
            page=page,
            asked=asked,
            columns=Columns(request, sort=asked["sort"], descends=asked["descends"]),
            stops=await self._ledgers.stop_reasons(run.id),
            notes=await self._ledgers.notes(run.id),
            may_write=not self._ledgers.read_only,
            live=newest if state is RunState.RUNNING else "",
            scope=run.id,
            address=address_by_page(request),
        )

    async def check(self, request: Request) -> Response:
        """Whether a run's records are still as they were written."""
        run, _ = await self._ledgers.run(request.path_params["run"])
        name = "check_body.html" if "part" in request.query_params else "check.html"
        return _page(name, run=run, check=await self._ledgers.check(run.id))

    async def run_file(self, request: Request) -> Response:
        """What a run's page shows, as a file: all of its episodes."""
        run, _ = await self._ledgers.run(request.path_params["run"])
        outcomes = await self._ledgers.outcomes(run.id)
        told = [dict(zip(("task", "seed", "episode", "verdict"), outcome, strict=True)) for outcome in outcomes]
        return _download({"api": API, "run": as_data(run), "episodes": told}, f"run-{run.id}.json")

    async def note(self, request: Request) -> Response:
        """Keeps a note."""
        run, _ = await self._ledgers.run(request.path_params["run"])
        form = await form_of(request)
        await self._ledgers.note(run.id, form.get("text", ""))
        return RedirectResponse(f"/run/{run.id}#notes", status_code=303)

    # episodes

    async def episode(self, request: Request) -> Response:
        """An episode, trial by trial."""
        newest = await self._ledgers.newest()
        view, way = await self._ledgers.episode_and_way(request.path_params["episode"])
        config = await self._ledgers.config(view.run_id)
        return await _page_apart(
            "episode.html",
            data=data_of(request),
            view=view,
            way=way,
            drawing=drawing_of(config, way),
            budget=_limits(config),
            alone=False,
            pre="",
            shown_cases=number_of(request, "cases", CASES),
            shown_candidates=CANDIDATES if len(view.trials) < MANY else 1,
            live=newest if view.verdict == OPEN else "",
            scope=view.run_id,
        )

    async def episode_file(self, request: Request) -> Response:
        """All records of an episode, as a file."""
        episode = request.path_params["episode"]
        records = await self._ledgers.records(episode)
        return _download({"api": API, "records": [_record(r) for r in records]}, f"episode-{episode}.json")

    async def episode_export(self, request: Request) -> Response:
        """An episode as one page that needs no server."""
        view, way = await self._ledgers.episode_and_way(request.path_params["episode"])
        text = await run_in_threadpool(export_episode, view, way)
        return Response(text, media_type="text/html", headers=_attached(f"episode-{view.id}.html"))

    async def records(self, request: Request) -> Response:
        """An episode's records, one after the other."""
        episode = request.path_params["episode"]
        page = paged(await self._ledgers.records(episode), number_of(request), RECORDS)
        rows = [(type(record).__name__, _record(record)) for record in page.rows]
        shown = Page(rows, page.total, page.number, page.size)
        return _page(
            "records.html", data=data_of(request), episode=episode, page=shown, address=address_by_page(request)
        )

    async def trial(self, request: Request) -> Response:
        """All candidates of a trial."""
        view, trial = await self._trial(request)
        page = paged(trial.candidates, number_of(request), CANDIDATES_A_PAGE)
        address = partial(address_of, f"/episode/{view.id}/trial/{trial.number}", {})
        name = "trial_body.html" if "part" in request.query_params else "trial.html"
        return _page(name, view=view, trial=trial, page=page, address=address, data=data_of(request))

    async def _trial(self, request: Request) -> tuple[EpisodeView, TrialView]:
        view = await self._ledgers.episode(request.path_params["episode"])
        trial = next((t for t in view.trials if t.number == request.path_params["trial"]), None)
        if trial is None:
            raise RecordNotFound("The episode has no such trial.")
        return view, trial

    async def _call(self, request: Request) -> tuple[EpisodeView, CallView, list[CallView]]:
        """A model call, among all of its episode."""
        view = await self._ledgers.episode(request.path_params["episode"])
        every = [call for trial in view.trials for call in trial.calls]
        call = next((one for one in every if one.id == request.path_params["call"]), None)
        if call is None:
            raise RecordNotFound("The episode has no such model call.")
        return view, call, every

    async def call(self, request: Request) -> Response:
        """A model call, and what changed since the one before of its kind."""
        view, call, every = await self._call(request)
        if "part" in request.query_params:
            return _page("call_body.html", view=view, call=call, part=True)
        before = [one for one in every[: every.index(call)] if one.purpose == call.purpose and one.answers]
        earlier = before[-1] if before else None
        prompts = list(side_by_side(_prompt(earlier), _prompt(call))) if earlier else []
        answers = list(side_by_side(_lines(earlier.answers), _lines(call.answers))) if earlier else []
        return _page(
            "call.html",
            view=view,
            call=call,
            trial=next(trial for trial in view.trials if trial.number == call.trial),
            earlier=earlier,
            prompt_rows=prompts,
            answer_rows=answers,
            part=False,
            data=data_of(request),
        )

    async def candidate(self, request: Request) -> Response:
        """What a candidate changes."""
        view = await self._ledgers.episode(request.path_params["episode"])
        digest, against = request.path_params["digest"], request.query_params.get("against", "")
        every = [one for trial in view.trials for one in trial.candidates]
        candidate = next((one for one in every if one.digest == digest), None)
        before = [t.best for t in view.trials if candidate and t.best and 0 < t.number < candidate.trial]
        files = await self._ledgers.candidate(view.id, digest, against=against)
        return _page(
            "candidate.html",
            data=data_of(request),
            view=view,
            candidate=candidate,
            calls=[
                call for trial in view.trials if candidate and trial.number == candidate.trial for call in trial.calls
            ],
            digest=digest,
            against=against,
            earlier=before[-1] if before else None,
            files=files,
        )

    async def candidate_file(self, request: Request) -> Response:
        """The same as a file."""
        files = await self._ledgers.candidate(request.path_params["episode"], request.path_params["digest"])
        return _download({"api": API, "files": as_data(files)}, f"candidate-{request.path_params['digest'][:16]}.json")

    # signals, lessons, search

    async def signal(self, request: Request) -> Response:
        """A signal with its cases and its output."""
        signal = await self._ledgers.signal(request.path_params["signal"])
        wanted = request.query_params.get("case", "")
        cases = [case for case in signal.evidence.cases if wanted.lower() in case.id.lower()]
        cases.sort(key=lambda case: case.result.ok)
        page = paged(cases, number_of(request), CASES)
        return _page(
            "signal.html",
            data=data_of(request),
            signal=signal,
            page=page,
            wanted=wanted,
            address=address_by_page(request),
        )

    async def output(self, request: Request) -> Response:
        """A whole output, as a file."""
        signal = await self._ledgers.signal(request.path_params["signal"])
        name = request.path_params["name"]
        if name not in ("stdout", "stderr"):
            raise RecordNotFound("There is no such output.")
        text = signal.evidence.stdout if name == "stdout" else signal.evidence.stderr
        return Response(
            text.encode(errors="replace"), media_type="text/plain; charset=utf-8", headers=_attached(f"{name}.txt")
        )

    async def lessons(self, request: Request) -> Response:
        """Lessons."""
        text = request.query_params.get("q", "")
        return _page("lessons.html", data=data_of(request), lessons=await self._ledgers.lessons(text=text), text=text)

    async def lesson(self, request: Request) -> Response:
        """A lesson: where it comes from, and what came of it."""
        view, run = await self._ledgers.lesson(request.path_params["lesson"])
        standing = view.info.standing
        helped = "it was never recalled for a trial that has come to something"
        if standing.trials:
            helped = (
                f"of {plural(standing.trials, 'trial')} that had it {standing.passed} passed,"
                f" where {standing.expected:.1f} would have been usual"
            )
        return _page(
            "lesson.html",
            data=data_of(request),
            view=view,
            run=run,
            helped=helped,
            may_write=not self._ledgers.read_only,
        )

    async def decide(self, request: Request) -> Response:
        """Decides about a lesson."""
        form = await form_of(request)
        await self._ledgers.decide(request.path_params["lesson"], form.get("decision", ""))
        forgotten = form.get("decision") == "forgotten"
        return RedirectResponse("/lessons" if forgotten else request.url.path, status_code=303)

    async def search(self, request: Request) -> Response:
        """Places that contain a text."""
        text, run = request.query_params.get("q", ""), request.query_params.get("run", "")
        hits = await self._ledgers.search(text, run_id=run)
        return _page("search.html", data=data_of(request), query=text, scope=run, hits=hits, most=40)

    # comparing

    async def compare(self, request: Request) -> Response:
        """Two runs, task by task."""
        first, second, compared = await self._compared(request)
        pairs = sum(len(some) for name, (_, some) in compared.sets.items() if name != "unmatched")
        said = _chance(len(compared.fixed), len(compared.broken))
        return _page(
            "compare.html",
            data=data_of(request),
            a=first,
            b=second,
            compared=compared,
            pairs=pairs,
            said=said,
            shown=PAIRS,
        )

    async def _compared(self, request: Request) -> tuple[RunSummary, RunSummary, RunComparison]:
        names = request.query_params.get("a", ""), request.query_params.get("b", "")
        if not all(names):
            raise ConfigError("Two runs are compared, and one is missing.", do="Choose one as A and another as B.")
        (first, _), (second, _) = [await self._ledgers.run(name) for name in names]
        outcomes = [await self._ledgers.outcomes(run.id) for run in (first, second)]
        return first, second, compare_runs(*outcomes)

    async def compare_episodes(self, request: Request) -> Response:
        """Two episodes, trial by trial."""
        first, second = [await self._ledgers.episode(request.query_params.get(name, "")) for name in ("a", "b")]
        return _page(
            "compare_episodes.html", data=data_of(request), a=first, b=second, pairs=compare_episodes(first, second)
        )

    async def report(self, request: Request) -> Response:
        """The report of some runs."""
        try:
            from groundwire.evaluation import read_run
            from groundwire.evaluation._verdicts import report_on
            from groundwire.evaluation.page import render_page
        except ImportError as error:
            raise ConfigError(f"A report needs {error.name}.", do='pip install "groundwire[eval]"') from error
        arms: list[Any] = []
        for name in request.query_params.getlist("run"):
            run, browser = await self._ledgers.run(name)
            (record,) = await browser.store.runs(prefix=run.id, limit=1)
            arms.append(await read_run(browser.store, record))
        if not arms:
            raise ConfigError("No run was named.", do="Choose one in the list of runs.")
        text = await run_in_threadpool(lambda: render_page(report_on(arms, control=""), episodes_at="/episode/"))
        return HTMLResponse(text, headers={"content-security-policy": REPORT_POLICY})

    # live, and files of ours

    async def events(self, request: Request) -> Response:
        """Tells whenever something was written to the ledger, by whomever."""
        after = number_of(request, "after", 0)

        async def told() -> AsyncGenerator[str]:
            seen = after
            yield ": groundwire\n\n"
            while not (self._ledgers.is_leaving or await request.is_disconnected()):
                newest = await self._ledgers.newest()
                if newest != seen:
                    seen = newest
                    self._ledgers.forget_views()
                    yield f"event: written\nid: {newest}\ndata: {newest}\n\n"
                await asyncio.sleep(LOOK_S)

        return StreamingResponse(told(), media_type="text/event-stream")

    async def static(self, request: Request) -> Response:
        """A stylesheet or script of ours."""
        name = request.path_params["name"]
        try:
            text = asset(name)
        except KeyError:
            raise RecordNotFound("There is no such file.") from None
        kind = "text/css" if name.endswith(".css") else "text/javascript"
        return Response(text, media_type=kind, headers={"cache-control": "no-cache"})

    # the same for programs

    async def api_runs(self, request: Request) -> Response:
        """Runs: `q`, `sort`, `order`, `page`, `size`."""
        text, size = request.query_params.get("q", ""), number_of(request, "size", 25)
        page = await self._ledgers.runs(text=text, **order_of(request, RunSort), page=number_of(request), size=size)
        return _api(_page_data(page))

    async def api_run(self, request: Request) -> Response:
        """A run, whether it is as it was written, and its notes."""
        run, _ = await self._ledgers.run(request.path_params["run"])
        check = await self._ledgers.check(run.id)
        notes = await self._ledgers.notes(run.id)
        told = {**as_data(run), "state": _state(run), "holds": check.holds, "signals": check.signals}
        return _api({"run": told, "notes": as_data(notes)})

    async def api_episodes(self, request: Request) -> Response:
        """Its episodes: `q`, `verdict`, `stop`, `family`, `sort`, `order`, `page`, `size`."""
        run = request.path_params["run"]
        page = await self._ledgers.episodes(
            run, **filters_of(request), page=number_of(request), size=number_of(request, "size", 50)
        )
        return _api(_page_data(page))

    async def api_episode(self, request: Request) -> Response:
        """An episode as its page shows it."""
        view, way = await self._ledgers.episode_and_way(request.path_params["episode"])
        return _api({"episode": as_data(view), "way": as_data(way)})

    async def api_records(self, request: Request) -> Response:
        """All its records, in the order of writing."""
        records = await self._ledgers.records(request.path_params["episode"])
        return _api({"records": [_record(record) for record in records]})

    async def api_trial(self, request: Request) -> Response:
        """A trial with all its candidates."""
        return _api({"trial": as_data((await self._trial(request))[1])})

    async def api_call(self, request: Request) -> Response:
        """A model call: what the model was shown, and what it answered."""
        return _api({"call": as_data((await self._call(request))[1])})

    async def api_candidate(self, request: Request) -> Response:
        """What a candidate changes: `against`."""
        files = await self._ledgers.candidate(
            request.path_params["episode"],
            request.path_params["digest"],
            against=request.query_params.get("against", ""),
        )
        return _api({"files": as_data(files)})

    async def api_signal(self, request: Request) -> Response:
        """A signal, whole."""
        return _api({"signal": as_data(await self._ledgers.signal(request.path_params["signal"]))})

    async def api_lessons(self, request: Request) -> Response:
        """Lessons: `q`."""
        return _api({"lessons": as_data(await self._ledgers.lessons(text=request.query_params.get("q", "")))})

    async def api_lesson(self, request: Request) -> Response:
        """A lesson with its history."""
        view, run = await self._ledgers.lesson(request.path_params["lesson"])
        return _api({"lesson": as_data(view), "run": run})

    async def api_search(self, request: Request) -> Response:
        """Places: `q`, `run`."""
        hits = await self._ledgers.search(request.query_params.get("q", ""), run_id=request.query_params.get("run", ""))
        return _api({"hits": as_data(hits)})

    async def api_compare(self, request: Request) -> Response:
        """Two runs: `a`, `b`."""
        first, second, compared = await self._compared(request)
        return _api({"a": as_data(first), "b": as_data(second), "compared": as_data(compared)})

    async def api_compare_episodes(self, request: Request) -> Response:
        """Two episodes, trial by trial: `a`, `b`."""
        first, second = [await self._ledgers.episode(request.query_params.get(name, "")) for name in ("a", "b")]
        return _api({"pairs": as_data(compare_episodes(first, second))})


# answers


def _told(page: Asked) -> Asked:
    """The same, with errors of ours told as such."""

    async def answered(request: Request) -> Response:
        try:
            return await page(request)
        except RecordNotFound as error:
            return _failed(request, 404, error.what, error.do)
        except GroundwireError as error:
            return _failed(request, 400, error.what, error.do)
        except ValueError as error:
            return _failed(request, 400, str(error), "")

    return answered


def _failed(request: Request, status: int, what: str, do: str) -> Response:
    if request.url.path.startswith("/api/"):
        return JSONResponse({"api": API, "error": {"what": what, "do": do}}, status_code=status)
    return HTMLResponse(render("error.html", status=status, what=what, do=do), status_code=status)


def _page(name: str, **values: Any) -> Response:
    return HTMLResponse(render(name, **values))


async def _page_apart(name: str, **values: Any) -> Response:
    """The same, made in a thread: it may be a large one."""
    return HTMLResponse(await run_in_threadpool(render, name, **values))


def _api(value: Mapping[str, Any]) -> Response:
    return JSONResponse({"api": API, **value})


def _page_data(page: Page[Any]) -> Mapping[str, Any]:
    return {"rows": as_data(page.rows), "total": page.total, "page": page.number, "pages": page.pages}


def _download(value: Mapping[str, Any], name: str) -> Response:
    text = json.dumps(value, indent=1, ensure_ascii=False).encode(errors="backslashreplace")
    return Response(text, media_type="application/json", headers=_attached(name))


def _attached(name: str) -> dict[str, str]:
    safe = "".join(c if c.isascii() and (c.isalnum() or c in "-_.") else "_" for c in name)
    return {"content-disposition": f'attachment; filename="{safe}"'}


def _record(record: object) -> Mapping[str, Any]:
    body = as_data(record)
    return {"kind": type(record).__name__, **(body if isinstance(body, dict) else {"body": body})}


# what is said


def _limits(config: Mapping[str, Any]) -> Mapping[str, float]:
    """What an episode of the run may use."""
    budget: Mapping[str, float | None] = config.get("budget") or {}
    return {name: most for name, most in budget.items() if most is not None}


def _chance(fixed: int, broken: int) -> str:
    """How likely such a difference is where there is none."""
    try:
        from groundwire.evaluation._comparing import sign_test
    except ImportError:  # the extra `eval` is not installed: the counts stand for themselves
        return ""
    return f" (McNemar's exact test: p = {sign_test(fixed, broken):.3g})" if fixed or broken else ""


def _state(run: RunSummary) -> RunState:
    return run_state(
        run.config,
        is_held=FileKeys().is_held(run.id),
        is_ended=bool(run.ended_at),
        begun=run.episodes,
        unfinished=run.verdicts.get(OPEN, 0),
    )


def _prompt(call: CallView) -> list[str]:
    return _lines([part.text for message in call.messages for part in message.parts])


def _lines(texts: Sequence[str]) -> list[str]:
    return [line for text in texts for line in text.splitlines()]
