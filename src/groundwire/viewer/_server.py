"""The viewer's server: pages, and the same as data, on this machine alone.

What is shown was written by models, programs and tests, so nothing of it is trusted: every page is escaped by its
templates, no script but ours may run (a content security policy says so), and what is downloaded is an attachment.
Whoever opens a page has to know the token in the address; requests that name another host, or that come from another
site, are refused."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from groundwire.core._errors import ConfigError, RecordNotFound
from groundwire.core._records import RunState
from groundwire.core._text import plural
from groundwire.memory._browsing import HITS, Page
from groundwire.memory._browsing_sql import OPEN, RunSort
from groundwire.viewer._answers import API, Asked, answered, attached, download, html, html_apart, record_data
from groundwire.viewer._asked import (
    Columns,
    address_by_page,
    address_of,
    among_others,
    call_in,
    data_of,
    filters_of,
    form_of,
    number_of,
    order_of,
    paged,
    place_in_list,
    trial_in,
    two_runs_in,
)
from groundwire.viewer._comparing import compare_episodes
from groundwire.viewer._diffs import side_by_side
from groundwire.viewer._export import export_episode
from groundwire.viewer._guard import LOOPBACK, Guard
from groundwire.viewer._ledgers import LESSON_ORDERS, Ledgers, as_data, config_in, state_of
from groundwire.viewer._model_calls import CallView
from groundwire.viewer._pages import asset
from groundwire.viewer._programs import ForPrograms
from groundwire.viewer._way import drawing_of

CASES, CANDIDATES, RECORDS, PAIRS, LESSONS = 100, 5, 100, 500, 50
"""Rows that are shown at once: cases by trials, candidates of a trial, records, tasks of a comparison, lessons."""
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
            "/episode/{episode}/candidate/{digest}/download.patch": self.candidate_patch,
            "/signal/{signal}": self.signal,
            "/signal/{signal}/{name}.txt": self.output,
            "/lessons": self.lessons,
            "/search": self.search,
            "/compare": self.compare,
            "/compare-episodes": self.compare_episodes,
            "/report": self.report,
            "/static/{name}": self.static,
            "/events": self.events,
            **ForPrograms(self._ledgers).addresses(),
        }
        return [
            *(Route(path, answered(asked), methods=["GET"]) for path, asked in pages.items()),
            Route("/lesson/{lesson}", answered(self.lesson), methods=["GET"]),
            Route("/lesson/{lesson}", answered(self.decide), methods=["POST"]),
            Route("/run/{run}/notes", answered(self.note), methods=["POST"]),
        ]

    # runs

    async def runs(self, request: Request) -> Response:
        """All runs."""
        text, order = request.query_params.get("q", ""), order_of(request, RunSort)
        page = await self._ledgers.runs(text=text, page=number_of(request), **order)
        newest = await self._ledgers.newest()
        states = {run.id: state_of(run) for run in page.rows}
        live = newest if RunState.RUNNING in states.values() else ""
        columns = Columns(request, **order)
        return html(
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
        state = state_of(run)
        return html(
            "run.html",
            data=data_of(request),
            run=run,
            state=state,
            drawing=drawing_of(config_in(run.config)),
            page=page,
            asked=asked,
            columns=Columns(request, sort=asked["sort"], descends=asked["descends"]),
            stops=await self._ledgers.stop_reasons(run.id),
            notes=await self._ledgers.notes(run.id),
            may_write=not self._ledgers.read_only,
            live=newest if state is RunState.RUNNING else "",
            scope=run.id,
            place=place_in_list(request),
            address=address_by_page(request),
        )

    async def check(self, request: Request) -> Response:
        """Whether a run's records are still as they were written."""
        run, _ = await self._ledgers.run(request.path_params["run"])
        name = "check_body.html" if "part" in request.query_params else "check.html"
        return html(name, run=run, check=await self._ledgers.check(run.id))

    async def run_file(self, request: Request) -> Response:
        """What a run's page shows, as a file: all of its episodes."""
        run, _ = await self._ledgers.run(request.path_params["run"])
        outcomes = await self._ledgers.outcomes(run.id)
        told = [dict(zip(("task", "seed", "episode", "verdict"), outcome, strict=True)) for outcome in outcomes]
        return download({"api": API, "run": as_data(run), "episodes": told}, f"run-{run.id}.json")

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
        return await html_apart(
            "episode.html",
            data=data_of(request),
            view=view,
            way=way,
            place=place_in_list(request),
            among=await among_others(self._ledgers, request, view),
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
        return download({"api": API, "records": [record_data(r) for r in records]}, f"episode-{episode}.json")

    async def episode_export(self, request: Request) -> Response:
        """An episode as one page that needs no server."""
        view, way = await self._ledgers.episode_and_way(request.path_params["episode"])
        text = await run_in_threadpool(export_episode, view, way)
        return Response(text, media_type="text/html", headers=attached(f"episode-{view.id}.html"))

    async def records(self, request: Request) -> Response:
        """An episode's records, one after the other."""
        episode = request.path_params["episode"]
        page = paged(await self._ledgers.records(episode), number_of(request), RECORDS)
        rows = [(type(record).__name__, record_data(record)) for record in page.rows]
        shown = Page(rows, page.total, page.number, page.size)
        return html(
            "records.html", data=data_of(request), episode=episode, page=shown, address=address_by_page(request)
        )

    async def trial(self, request: Request) -> Response:
        """All candidates of a trial."""
        view, trial = await trial_in(self._ledgers, request)
        page = paged(trial.candidates, number_of(request), CANDIDATES_A_PAGE)
        address = partial(address_of, f"/episode/{view.id}/trial/{trial.number}", {})
        name = "trial_body.html" if "part" in request.query_params else "trial.html"
        return html(name, view=view, trial=trial, page=page, address=address, data=data_of(request))

    async def call(self, request: Request) -> Response:
        """A model call, and what changed since the one before of its kind."""
        view, call, every = await call_in(self._ledgers, request)
        if "part" in request.query_params:
            return html("call_body.html", view=view, call=call, part=True)
        before = [one for one in every[: every.index(call)] if one.purpose == call.purpose and one.answers]
        earlier = before[-1] if before else None
        prompts = list(side_by_side(_prompt(earlier), _prompt(call))) if earlier else []
        answers = list(side_by_side(_lines(earlier.answers), _lines(call.answers))) if earlier else []
        return html(
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
        return html(
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
        return download({"api": API, "files": as_data(files)}, f"candidate-{request.path_params['digest'][:16]}.json")

    async def candidate_patch(self, request: Request) -> Response:
        """The same as a patch of the base tree."""
        digest = request.path_params["digest"]
        patch = await self._ledgers.patch(request.path_params["episode"], digest)
        return Response(patch, media_type="text/plain", headers=attached(f"candidate-{digest[:16]}.patch"))

    # signals, lessons, search

    async def signal(self, request: Request) -> Response:
        """A signal with its cases and its output."""
        signal = await self._ledgers.signal(request.path_params["signal"])
        wanted = request.query_params.get("case", "")
        cases = [case for case in signal.evidence.cases if wanted.lower() in case.id.lower()]
        cases.sort(key=lambda case: case.result.ok)
        page = paged(cases, number_of(request), CASES)
        return html(
            "signal.html",
            data=data_of(request),
            signal=signal,
            task=(await self._ledgers.names_of(signal.episode_id))[1],
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
            text.encode(errors="replace"), media_type="text/plain; charset=utf-8", headers=attached(f"{name}.txt")
        )

    async def lessons(self, request: Request) -> Response:
        """Lessons."""
        text, order = request.query_params.get("q", ""), request.query_params.get("order", "")
        page = paged(await self._ledgers.lessons(text=text, order=order), number_of(request), LESSONS)
        return html(
            "lessons.html",
            data=data_of(request),
            page=page,
            text=text,
            order=order or LESSON_ORDERS[0],
            orders=LESSON_ORDERS,
            address=address_by_page(request),
        )

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
        return html(
            "lesson.html",
            data=data_of(request),
            view=view,
            run=run,
            tasks={one.episode_id: (await self._ledgers.names_of(one.episode_id))[1] for one in view.recalled},
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
        return html("search.html", data=data_of(request), query=text, scope=run, hits=hits, most=HITS)

    # comparing

    async def compare(self, request: Request) -> Response:
        """Two runs, task by task."""
        first, second, compared = await two_runs_in(self._ledgers, request)
        pairs = sum(len(some) for name, (_, some) in compared.sets.items() if name != "unmatched")
        said = _chance(len(compared.fixed), len(compared.broken))
        return html(
            "compare.html",
            data=data_of(request),
            a=first,
            b=second,
            compared=compared,
            pairs=pairs,
            said=said,
            shown=PAIRS,
        )

    async def compare_episodes(self, request: Request) -> Response:
        """Two episodes, trial by trial."""
        first, second = [await self._ledgers.episode(request.query_params.get(name, "")) for name in ("a", "b")]
        return html(
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
        text = await run_in_threadpool(
            lambda: render_page(report_on(arms, control=""), episodes_at="/episode/", back_to="/")
        )
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


def _prompt(call: CallView) -> list[str]:
    return _lines([part.text for message in call.messages for part in message.parts])


def _lines(texts: Sequence[str]) -> list[str]:
    return [line for text in texts for line in text.splitlines()]
