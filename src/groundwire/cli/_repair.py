"""`groundwire repair` and `groundwire resume`."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from platformdirs import user_data_path
from rich.console import Console
from rich.text import Text

from groundwire.cli._checks import loading
from groundwire.cli._live import LiveView
from groundwire.cli._run_state import end_of_run
from groundwire.core._errors import ConfigError, RecordNotFound
from groundwire.core._models import Embedder
from groundwire.core._records import RunRecord, StopReason, Store
from groundwire.core._settings import Settings
from groundwire.core._tasks import Task
from groundwire.core._worktree import apply_changes
from groundwire.memory import SqlStore

if TYPE_CHECKING:
    from groundwire.graphs import EpisodeResult, FeedbackApp


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


def run_repair(path: Path, settings: Settings, *, apply: bool, patch_file: Path | None, as_json: bool) -> int:
    """Repairs one project.

    Returns:
        The exit code.
    """
    return _blocking(Job(path.resolve(), settings, apply, patch_file, as_json))


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
                raise ConfigError(f"Run {run.id} is not one repair, so it can't be resumed.", do="Start a new run.")
            settings = Settings.resolve({**asked["settings"], **{k: v for k, v in flags.items() if v is not None}})
            patch_file = Path(asked["patch_file"]) if asked["patch_file"] else None
            # a run that was interrupted before its episode had begun begins it now
            begun = episodes[0].id if episodes else None
            return Job(Path(asked["folder"]), settings, asked["apply"], patch_file, as_json, run.id, begun)

    return _blocking(asyncio.run(find()))


def build(settings: Settings, task: Task, store: Store) -> FeedbackApp:
    """The `code_repair` graph that `settings` describe."""
    # here, since most that import this module only open the ledger
    with loading():
        from groundwire.cli._parts import Kit
        from groundwire.graphs.library._code_repair import code_repair
        from groundwire.tools import HiddenTests

    kit = Kit.of(settings)
    graph = code_repair(kit.actor, kit.critic, kit.judge(task), HiddenTests(), width=kit.width, own_tests=kit.own_tests)
    return graph.compile(store=store, budget=kit.budget, sandbox=kit.sandbox, rules=kit.rules)


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
        raise RecordNotFound(f"There is {found} whose id begins with {prefix!r}.", do="List them:  groundwire show")
    return runs[0]


def _blocking(job: Job) -> int:
    console = Console(stderr=job.as_json, highlight=False)
    view = LiveView(console)
    try:
        return asyncio.run(_repair(job, console, view))
    except KeyboardInterrupt:
        view.close()
        console.print(Text("interrupted; the ledger holds all so far", style="yellow"))
        if view.run_id:
            console.print(Text(f"go on with:  groundwire resume {view.run_id}", style="yellow"))
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
    embedder = _embedder() if settings.embeddings else None
    async with aclosing(open_store(settings, embedder=embedder)) as store:
        app = build(settings, task, store)
        run_id = view.run_id = job.run_id or await app.start_run({"cli": _asked(job)})
        if not job.as_json:
            console.print(Text(f"run {run_id}   {task.id}   {' '.join(task.command)}", style="dim"), soft_wrap=True)
        quiet = job.as_json
        result = await app.arun(
            task,
            run_id=run_id,
            episode_id=job.episode_id,
            seed=settings.seed,
            reuse=settings.reuse,
            observers=() if quiet else (view,),
            report=None if quiet else view.report,
            on_text=view.on_text if console.is_terminal and not quiet else None,
        )
        if result.stop_reason is not StopReason.INTERRUPTED:
            await end_of_run(store, run_id)
        from groundwire.cli._outcome import as_data, print_outcome

        view.close()
        patch_file = _write_patch(job, result)
        applied = job.apply and result.stop_reason is StopReason.VERIFIED and result.best is not None
        if applied and result.best is not None:
            verified = result.best.candidate
            apply_changes(job.folder, task.tree, verified.changes, verified.modes)
        if job.as_json:
            json.dump(as_data(result, task, patch_file, applied, store.url), sys.stdout, indent=2)
            sys.stdout.write("\n")
        else:
            print_outcome(console, result, task, patch_file, applied)
    return result.exit_code


def _embedder() -> Embedder:
    from groundwire.models._minilm import MiniLM

    return MiniLM()


def _asked(job: Job) -> dict[str, Any]:
    settings = job.settings.model_dump(mode="json", exclude={"db"})
    patch_file = str(job.patch_file.resolve()) if job.patch_file else None
    return {"folder": str(job.folder), "settings": settings, "apply": job.apply, "patch_file": patch_file}


def _write_patch(job: Job, result: EpisodeResult) -> Path | None:
    if not result.patch:
        return None
    path = job.patch_file or user_data_path("groundwire") / "runs" / result.run_id / "fix.patch"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(result.patch.encode())
    except OSError as error:
        raise ConfigError(
            f"The patch can't be written to {path}: {error.strerror}.",
            do=f"It is in the ledger; make room, then:  groundwire resume {result.run_id[:13]}",
        ) from error
    return path
