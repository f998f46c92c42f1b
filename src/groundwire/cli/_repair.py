"""`groundwire repair` and `groundwire resume`."""

from __future__ import annotations

import asyncio
import json
import shlex
import sys
from collections.abc import Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from platformdirs import user_data_path
from rich.console import Console
from rich.text import Text

from groundwire.cli._checks import loading
from groundwire.cli._live import LiveView
from groundwire.cli._run_state import end_of_run
from groundwire.cli._text import NOT_ISOLATED, Screen
from groundwire.core._chain import Heads
from groundwire.core._errors import ConfigError, GroundwireError, RecordNotFound
from groundwire.core._models import Embedder
from groundwire.core._paths import write_private
from groundwire.core._records import RunRecord, StopReason, Store
from groundwire.core._seal import FileKeys
from groundwire.core._settings import Settings
from groundwire.core._tasks import Task
from groundwire.core._text import plain
from groundwire.core._worktree import apply_changes
from groundwire.memory import SqlStore

if TYPE_CHECKING:
    from groundwire.graphs import EpisodeResult, FeedbackApp

Done = TypeVar("Done")


@dataclass(frozen=True)
class Job:
    """One repair: what was asked for, and where its result goes."""

    folder: Path
    settings: Settings
    apply: bool = False
    patch_file: Path | None = None
    as_json: bool = False
    run_id: str | None = None
    episode_id: str | None = None
    more_time: bool = False
    quiet: bool = False


def run_repair(
    path: Path, settings: Settings, *, apply: bool, patch_file: Path | None, as_json: bool, quiet: bool = False
) -> int:
    """Repairs one project.

    Returns:
        The exit code.
    """
    return _blocking(Job(path.resolve(), settings, apply, patch_file, as_json, quiet=quiet))


def resume_repair(prefix: str, flags: Mapping[str, Any], *, as_json: bool) -> int:
    """Goes on with a repair that the ledger knows.

    Returns:
        The exit code.
    """

    async def find() -> Job:
        async with aclosing(open_store(Settings.resolve(flags))) as store:
            run = await unique_run(store, prefix)
            asked = json.loads(run.config).get("cli")
            episodes = await store.episodes(run.id)
            if not asked or len(episodes) > 1:
                raise ConfigError(
                    f"Run {run.id} is not a single repair, so it can't be resumed.", do="Start a new run."
                )
            settings = Settings.resolve({**asked["settings"], **{k: v for k, v in flags.items() if v is not None}})
            patch_file = Path(asked["patch_file"]) if asked["patch_file"] else None
            # a run that was interrupted before its episode had begun begins it now
            begun = episodes[0].id if episodes else None
            more_time = flags.get("max_seconds") is not None
            return Job(Path(asked["folder"]), settings, asked["apply"], patch_file, as_json, run.id, begun, more_time)

    return _blocking(asyncio.run(find()))


def _outside(settings: Settings) -> str:
    from groundwire.cli._parts import why_as_you

    return why_as_you(settings) if settings.actor_command else ""


def build(settings: Settings, task: Task, store: Store) -> FeedbackApp:
    """The `code_repair` graph that `settings` describe."""
    # here, since most that import this module only open the ledger
    with loading():
        from groundwire.cli._parts import GraphParts
        from groundwire.graphs.library._code_repair import code_repair

    parts = GraphParts.of(settings)
    graph = code_repair(
        parts.actor, parts.critic, parts.judge(task), parts.hidden(task), width=parts.width, own_tests=parts.own_tests
    )
    return graph.compile(store=store, budget=parts.budget, sandbox=parts.sandbox, rules=parts.rules)


def open_store(settings: Settings, *, embedder: Embedder | None = None) -> SqlStore:
    """Ledger and memory."""
    return SqlStore(settings.db, namespace=settings.namespace, embedder=embedder)


async def unique_run(store: Store, prefix: str) -> RunRecord:
    """The run whose id begins with `prefix`.

    Raises:
        RecordNotFound: none, or more than one.
    """
    runs = await store.runs(prefix=prefix, limit=2)
    if len(runs) != 1:
        found = "no run" if not runs else "more than one run"
        archive = _archive_of(prefix) if not runs else ""
        raise RecordNotFound(
            f"There is {found} whose id begins with {prefix!r}.",
            do=f"It was archived:  --db {archive}" if archive else "List them:  groundwire show",
        )
    return runs[0]


def _archive_of(prefix: str) -> str:
    """Where a run was archived, as the heads tell that are noted outside of the ledger; empty where they don't."""
    keys = FileKeys()
    noted = keys.noted(prefix) if prefix else []
    ledger = Heads(keys.heads_file(noted[0])).read()[0] if len(noted) == 1 else ""
    return shlex.quote(ledger) if ledger.startswith("archive:") else ""


def _blocking(job: Job) -> int:
    console = Screen(stderr=job.as_json, highlight=False)
    view = LiveView(console)
    try:
        return asyncio.run(_repair(job, console, view))
    except KeyboardInterrupt:
        view.close()
        console.print(Text("interrupted; everything so far is in the ledger", style="yellow"))
        if view.run_id:
            console.print(Text(f"continue with:  groundwire resume {view.run_id}", style="yellow"))
        return 130
    finally:
        view.close()


async def _repair(job: Job, console: Console, view: LiveView) -> int:
    settings = job.settings
    task = Task.from_folder(
        job.folder,
        test=settings.test,
        hidden=settings.hidden,
        hidden_dir=settings.hidden_dir,
        python=settings.python,
    )
    if settings.case_seconds is not None:
        task = replace(task, limits=task.limits.model_copy(update={"case_s": settings.case_seconds}))
    embedder = installed_embedder() if settings.embeddings else None
    async with aclosing(open_store(settings, embedder=embedder)) as store:
        app = build(settings, task, store)
        if not job.run_id and settings.model:
            from groundwire.cli._parts import backend_of, check_ready

            check_ready(settings, backend_of(settings))
        run_id = view.run_id = job.run_id or await app.start_run({"cli": _asked(job)})
        quiet = job.as_json or job.quiet
        if not quiet:
            head = f"run {run_id}   {plain(task.id)}   {' '.join(task.command)}"
            console.print(Text(head, style="dim"), soft_wrap=True)
        if not job.as_json:
            if settings.sandbox == "subprocess":
                console.print(Text(NOT_ISOLATED, style="yellow"), soft_wrap=True)
            if outside := _outside(settings):
                said = f"actor: {plain(outside)} lies outside the sandbox, so the program runs as you and can read what"
                console.print(Text(f"{said} you can; --actor-sandbox keeps it in", style="yellow"), soft_wrap=True)
        result = await app.arun(
            task,
            run_id=run_id,
            episode_id=job.episode_id,
            seed=settings.seed,
            reuse=settings.reuse,
            more_time=job.more_time,
            observers=() if quiet else (view,),
            report=None if quiet else view.report,
            on_text=view.on_text if console.is_terminal and not quiet else None,
        )
        if result.stop_reason is not StopReason.INTERRUPTED:
            await end_of_run(store, run_id)
        from groundwire.cli._outcome import as_data, print_outcome

        strength = None
        if result.stop_reason is StopReason.VERIFIED and result.best is not None:
            from groundwire.cli._judging import strength_after

            strength = await strength_after(settings, task, result.best.candidate, store, result.episode_id)
        view.close()
        # what can't be done with the result takes nothing away from it: it is shown first
        problems: list[GroundwireError] = []
        patch_file = _tried(partial(_write_patch, job, result), problems)
        apart = _tried(partial(_write_unconfirmed, result), problems)
        applied = bool(_tried(partial(_apply, job, task, result), problems))
        if job.as_json:
            data = as_data(result, task, patch_file, applied, store.url, apart, strength)
            json.dump({**data, "problems": [str(problem) for problem in problems]}, sys.stdout, indent=2)
            sys.stdout.write("\n")
        else:
            print_outcome(console, result, task, patch_file, applied, apart, strength)
    if problems and not job.as_json:  # the object that was printed holds them, and there is only one
        raise problems[0]
    return problems[0].exit_code if problems else result.exit_code


def _tried(act: Callable[[], Done], problems: list[GroundwireError]) -> Done | None:
    try:
        return act()
    except GroundwireError as problem:
        problems.append(problem)
        return None


def _apply(job: Job, task: Task, result: EpisodeResult) -> bool:
    if not job.apply or result.stop_reason is not StopReason.VERIFIED or result.best is None:
        return False
    verified = result.best.candidate
    apply_changes(job.folder, task.tree, verified.changes, verified.modes)
    return True


def installed_embedder() -> Embedder:
    """The small model of the extra `embeddings`."""
    from groundwire.models._minilm import MiniLM

    return MiniLM()


def _asked(job: Job) -> dict[str, Any]:
    settings = job.settings.model_dump(mode="json", exclude={"db"})
    patch_file = str(job.patch_file.resolve()) if job.patch_file else None
    return {"folder": str(job.folder), "settings": settings, "apply": job.apply, "patch_file": patch_file}


def _write_patch(job: Job, result: EpisodeResult) -> Path | None:
    if not result.patch_bytes:
        return None
    if job.patch_file is None:
        return _write(_folder_of(result) / "fix.patch", result.patch_bytes, result)
    return _write(job.patch_file, result.patch_bytes, result, private=False)


def _write_unconfirmed(result: EpisodeResult) -> Path | None:
    """Never where a verified patch was asked for."""
    if result.unconfirmed is None:
        return None
    return _write(_folder_of(result) / "unconfirmed.patch", result.unconfirmed_patch, result)


def _folder_of(result: EpisodeResult) -> Path:
    return user_data_path("groundwire") / "runs" / result.run_id


def _write(path: Path, patch: bytes, result: EpisodeResult, *, private: bool = True) -> Path:
    try:
        if private:
            write_private(path, patch, below=user_data_path("groundwire"))
        else:  # its mode is the user's to choose, by the umask
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(patch)
    except OSError as error:
        raise ConfigError(
            f"The patch can't be written to {path}: {error.strerror}.",
            do=f"It is in the ledger. Free some space, then:  groundwire resume {result.run_id[:13]}",
        ) from error
    return path
