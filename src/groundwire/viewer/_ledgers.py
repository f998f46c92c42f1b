"""What the viewer reads: runs, episodes, lessons and notes, of the ledger with memory and of the arms without it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass, replace
from typing import Any, cast

from groundwire.core._candidates import Candidate, Tree, make_patch
from groundwire.core._errors import ConfigError, GroundwireError, RecordNotFound
from groundwire.core._ids import new_id, now
from groundwire.core._records import (
    Artifact,
    CandidateRecord,
    EpisodeRecord,
    Mark,
    Record,
    RunState,
    TrialRecord,
    run_state,
    tree_key,
)
from groundwire.core._seal import FileKeys
from groundwire.core._signals import Signal
from groundwire.memory import Lessons, SqlStore
from groundwire.memory._browsing import EpisodeSummary, Hit, LedgerBrowser, Page, RunSummary
from groundwire.memory._browsing_sql import OPEN
from groundwire.memory._checking import RunCheck, check_run
from groundwire.memory._lessons import LessonInfo, LessonView
from groundwire.viewer._diffs import FileDiff, file_diffs
from groundwire.viewer._episode import EpisodeView, candidates_to_read, view_of
from groundwire.viewer._way import Way, way_of

KEPT = 64
"""Episodes that have ended, as they are shown, kept in memory."""
MOST_LESSONS = 1_000
LESSON_ORDERS = ("useful", "harmful", "newest")
NOTE = "note-"
NOTE_CHARS = 4_000
READ_ONLY = "This viewer was started with --read-only."


@dataclass(frozen=True)
class Note:
    """What a person wrote about a run.

    Args:
        text: as written; hostile.
        created_at: when.
    """

    text: str
    created_at: str


def config_in(text: str) -> Mapping[str, Any]:
    """A run's configuration; nothing where the text was changed into something else."""
    try:
        config = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {}
    return cast("Mapping[str, Any]", config) if isinstance(config, dict) else {}


class Ledgers:
    """One database, seen through the namespaces that it is asked for.

    Args:
        stores: a ledger a namespace; the first is where new notes go.
        read_only: refuse to write notes and to decide about lessons.
    """

    def __init__(self, stores: Sequence[SqlStore], *, read_only: bool = False) -> None:
        self._browsers = [LedgerBrowser(store) for store in stores]
        self.read_only = read_only
        self.is_leaving = False
        """True once the server ends: whoever follows a page is let go."""
        self._views: dict[str, tuple[EpisodeView, Way]] = {}

    async def runs(self, *, size: int = 25, **asked: Any) -> Page[RunSummary]:
        """A page of the runs of all namespaces; see `LedgerBrowser.runs`."""
        namespaces = [browser.store.namespace for browser in self._browsers]
        return await self._browsers[0].runs(size=size, namespaces=namespaces, **asked)

    async def run(self, run_id: str) -> tuple[RunSummary, LedgerBrowser]:
        """A run by its id or a unique beginning of it, and where it is.

        Raises:
            RecordNotFound: there is none, or several begin so.
        """
        whole, browser = await self._found(run_id)
        summary = await browser.run(whole)
        assert summary is not None  # a ledger only grows
        return summary, browser

    async def _found(self, run_id: str) -> tuple[str, LedgerBrowser]:
        """The id of the run that begins so, and where it is; nothing is summed up for that."""
        begun = (
            [(r.id, b) for b in self._browsers for r in await b.store.runs(prefix=run_id, limit=2)] if run_id else []
        )
        exact = [found for found in begun if found[0] == run_id]
        if len(exact or begun) == 1:
            return (exact or begun)[0]
        why = "several runs begin so" if begun else "there is none"
        raise RecordNotFound(f"No run {run_id!r}: {why}.", do="Choose one in the list of runs.")

    async def config(self, run_id: str) -> Mapping[str, Any]:
        """What was asked for in a run; nothing where it is not known."""
        for browser in self._browsers:
            for run in await browser.store.runs(prefix=run_id, limit=1):
                return config_in(run.config)
        return {}

    async def check(self, run_id: str) -> RunCheck:
        """Whether a run's records are still as they were written."""
        whole, browser = await self._found(run_id)
        return await check_run(browser.store, whole, keys=FileKeys(), thorough=False, keeps_episodes=False)

    async def episodes(self, run_id: str, **asked: Any) -> Page[EpisodeSummary]:
        """A page of a run's episodes; see `LedgerBrowser.episodes`."""
        whole, browser = await self._found(run_id)
        return await browser.episodes(run_id=whole, **asked)

    async def stop_reasons(self, run_id: str) -> Mapping[str, int]:
        """Why a run's episodes ended."""
        whole, browser = await self._found(run_id)
        return await browser.stop_reasons(whole)

    async def outcomes(self, run_id: str) -> Sequence[tuple[str, int, str, str]]:
        """(task, seed, episode, verdict) of a run's episodes."""
        whole, browser = await self._found(run_id)
        return await browser.outcomes(whole)

    async def _records(self, episode_id: str) -> tuple[Sequence[Record], LedgerBrowser]:
        for browser in self._browsers:
            if records := await browser.store.records(episode_id):
                return records, browser
        raise RecordNotFound(f"There is no episode {episode_id!r}.", do="Choose one in a run's list of episodes.")

    async def records(self, episode_id: str) -> Sequence[Record]:
        """All records of an episode, in the order of writing.

        Raises:
            RecordNotFound: there is no such episode.
        """
        return (await self._records(episode_id))[0]

    async def episode(self, episode_id: str) -> EpisodeView:
        """An episode.

        Raises:
            RecordNotFound: there is no such episode.
        """
        return (await self.episode_and_way(episode_id))[0]

    async def episode_and_way(self, episode_id: str) -> tuple[EpisodeView, Way]:
        """An episode, and the way that it took through its graph.

        Raises:
            RecordNotFound: there is no such episode.
        """
        if episode_id in self._views:
            return self._views[episode_id]
        records, browser = await self._records(episode_id)
        given = list(dict.fromkeys(name for r in records if isinstance(r, TrialRecord) for name in r.lessons))
        lessons = {lesson.id: lesson.text for lesson in await browser.store.lessons(given)}
        bodies: dict[str, Candidate] = {}
        for digest, artifact in candidates_to_read(records).items():
            try:
                bodies[digest] = Candidate.from_bytes(await browser.store.artifact(artifact))
            except GroundwireError:  # dropped by a retention rule: the rest is shown all the same
                continue
        # in a thread: a large episode is thousands of signals, and other pages are asked for meanwhile
        view = await asyncio.to_thread(view_of, records, lessons=lessons, bodies=bodies)
        critics = [name for name, kind in (await self.config(view.run_id)).get("nodes", {}).items() if kind == "critic"]
        way = way_of(records, critic=critics[0]) if len(critics) == 1 else way_of(records)
        if view.verdict != "open":  # what has ended does not change, but for a resumed one, which is open again first
            if len(self._views) >= KEPT:
                self._views.pop(next(iter(self._views)))
            self._views[episode_id] = view, way
        return view, way

    def forget_views(self) -> None:
        """Reads every episode anew from now on: something was written."""
        self._views.clear()

    async def candidate(self, episode_id: str, digest: str, *, against: str = "") -> Sequence[FileDiff]:
        """What a candidate changes, file by file.

        Args:
            episode_id: the episode.
            digest: of the candidate.
            against: digest of another one of the episode to compare with; empty: the base tree.

        Raises:
            RecordNotFound: there is none, or its body is gone.
        """
        records, browser = await self._records(episode_id)
        episode = next(r for r in records if isinstance(r, EpisodeRecord))
        base = await _tree(browser.store, episode.base_digest)
        changed = await _body(records, browser.store, digest)
        before = base if not against else base.with_changes((await _body(records, browser.store, against)).changes)
        return file_diffs(before, base.with_changes(changed.changes))

    async def patch(self, episode_id: str, digest: str) -> bytes:
        """What a candidate changes in the base tree, as `git apply` takes it.

        Raises:
            RecordNotFound: there is none, or its body is gone.
        """
        records, browser = await self._records(episode_id)
        episode = next(r for r in records if isinstance(r, EpisodeRecord))
        candidate = await _body(records, browser.store, digest)
        return make_patch(await _tree(browser.store, episode.base_digest), candidate.changes, candidate.modes)

    async def signal(self, signal_id: str) -> Signal:
        """A signal.

        Raises:
            RecordNotFound: there is none of that id.
        """
        for browser in self._browsers[:-1]:
            try:
                return await browser.store.signal(signal_id)
            except RecordNotFound:
                continue
        return await self._browsers[-1].store.signal(signal_id)

    async def lessons(self, *, text: str = "", order: str = "") -> Sequence[LessonInfo]:
        """Lessons: those that a text finds, else those that were measured and then the newest.

        Args:
            text: what they contain.
            order: `useful` or `harmful` (of those that were measured), or `newest`; empty: `useful`.

        Raises:
            ConfigError: there is no such order.
        """
        if order not in ("", *LESSON_ORDERS):
            raise ConfigError(f"There is no order {order!r}.", do=f"Ask for {', '.join(LESSON_ORDERS)}.")
        book = Lessons(self._browsers[0].store)
        if text:
            return await book.search(text, limit=100)
        if order == "newest":
            return await book.list(limit=MOST_LESSONS)
        measured = await book.measured(limit=MOST_LESSONS)
        if order == "harmful":
            return measured[::-1]
        known = {info.reflection.id: info for info in measured}
        newest = {info.reflection.id: info for info in await book.list(limit=MOST_LESSONS)}
        return list((known | newest).values())

    async def names_of(self, episode_id: str) -> tuple[str, str]:
        """The run and the task of an episode; empty where there is no such episode."""
        found = [await browser.names_of(episode_id) for browser in self._browsers]
        return next((names for names in found if names[0]), ("", ""))

    async def lesson(self, lesson_id: str) -> tuple[LessonView, str]:
        """A lesson with its history, and the run that it comes from.

        Raises:
            RecordNotFound: there is none of that id.
        """
        for browser in self._browsers:
            try:
                view = await Lessons(browser.store).show(lesson_id, recalls=100)
            except RecordNotFound:
                continue
            return view, (await browser.names_of(view.info.reflection.episode_id))[0]
        raise RecordNotFound(f"There is no lesson {lesson_id!r}.", do="It may have been forgotten.")

    async def decide(self, lesson_id: str, decision: str) -> None:
        """Quarantines, releases or forgets a lesson.

        Raises:
            RecordNotFound: there is none of that id.
            ValueError: nothing is to be decided so, or nothing may be written.
        """
        if self.read_only:
            raise ValueError(READ_ONLY)
        mark = Mark(decision)
        for browser in self._browsers:
            book = Lessons(browser.store)
            try:
                await book.show(lesson_id, recalls=1)
            except RecordNotFound:
                continue
            if mark is Mark.FORGOTTEN:
                await book.forget([lesson_id], reason="in the viewer", by="person")
            else:
                await book.mark([lesson_id], mark, reason="in the viewer", by="person")
            self.forget_views()
            return
        raise RecordNotFound(f"There is no lesson {lesson_id!r}.", do="It may have been forgotten.")

    async def search(self, text: str, *, run_id: str = "") -> Sequence[Hit]:
        """Places that contain a text; see `LedgerBrowser.search`."""
        if run_id:
            whole, browser = await self._found(run_id)
            return await browser.search(text, run_id=whole)
        return [hit for browser in self._browsers for hit in await browser.search(text)]

    async def notes(self, run_id: str) -> Sequence[Note]:
        """What people wrote about a run, oldest first."""
        whole, browser = await self._found(run_id)
        bodies = [json.loads(body) for body in await browser.artifacts(f"{NOTE}{whole}-")]
        return [Note(str(body.get("text", "")), str(body.get("created_at", ""))) for body in bodies]

    async def note(self, run_id: str, text: str) -> None:
        """Keeps a note on a run, for good: the ledger only grows.

        Raises:
            ValueError: it is empty or longer than 4,000 characters, or nothing may be written.
        """
        if self.read_only:
            raise ValueError(READ_ONLY)
        if not text.strip() or len(text) > NOTE_CHARS:
            raise ValueError(f"A note has 1 to {NOTE_CHARS:,} characters.")
        whole, browser = await self._found(run_id)
        body = json.dumps({"text": text, "created_at": now()}).encode()
        await browser.store.append(Artifact(digest=f"{NOTE}{whole}-{new_id()}", kind="note", body=body))

    async def newest(self) -> int:
        """The number of the last record; it grows with everything that anybody writes."""
        return await self._browsers[0].newest()

    async def aclose(self) -> None:
        """Closes the database."""
        for browser in self._browsers:
            await browser.store.aclose()


async def _tree(store: SqlStore, digest: str) -> Tree:
    try:
        return Tree.from_bytes(await store.artifact(tree_key(digest)))
    except GroundwireError:  # imported logs have none: all that a candidate holds is new then
        return Tree()


async def _body(records: Sequence[Record], store: SqlStore, digest: str) -> Candidate:
    record = next((r for r in records if isinstance(r, CandidateRecord) and r.digest == digest), None)
    if record is None:
        if all(r.candidate_digest != digest for r in records if isinstance(r, Signal)):
            raise RecordNotFound(f"The episode has no candidate {digest!r}.", do="Choose one in the episode.")
        return Candidate(base_digest=digest, changes={})  # the base tree, as it was judged
    return Candidate.from_bytes(await store.artifact(record.artifact or digest))


def as_data(value: Any) -> Any:
    """Dataclasses, signals and what holds them, as JSON has them."""
    if isinstance(value, Signal):
        return value.model_dump(mode="json")
    if is_dataclass(value) and not isinstance(value, type):
        return {name: as_data(part) for name, part in asdict(replace(value)).items()}
    if isinstance(value, Mapping):
        return {str(key): as_data(part) for key, part in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [as_data(part) for part in cast("Sequence[Any]", value)]
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)


def state_of(run: RunSummary) -> RunState:
    """Whether it is finished, interrupted or still running."""
    return run_state(
        run.config,
        is_held=FileKeys().is_held(run.id),
        is_ended=bool(run.ended_at),
        begun=run.episodes,
        unfinished=run.verdicts.get(OPEN, 0),
    )
