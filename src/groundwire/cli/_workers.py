"""What a worker of a run is handed, what it then does, and workers as processes of this machine."""

from __future__ import annotations

import asyncio
import json
import os
import pickle
import platform
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace
from typing import IO, Protocol

from groundwire.benchmarks import Item
from groundwire.cli._suite import Suite
from groundwire.core._errors import ConfigError, GroundwireError
from groundwire.core._version import __version__
from groundwire.graphs.run._worker import WorkerPace

PYTHON = ".".join(platform.python_version_tuple()[:2])
STOP_S = 10.0
"""Seconds that a worker has to leave when it is told to."""
SAID_BYTES = 4000
"""Of what a worker has said last."""


@dataclass(frozen=True)
class WorkerJob:
    """What a worker needs to know; it is pickled, and goes to no place but the worker.

    Args:
        suite: what is run; its settings say where the database is.
        main_run: the run that was asked for.
        run_id: the run of the arm: the same, or that of a control.
        arm: the arm's name.
        items: the arm's tasks, in order.
        key: the run's key, for a machine that has it not; None: it is in the user's files.
        pace: how the worker keeps in touch.
        version: of groundwire, where the run is driven.
        python: likewise.
    """

    suite: Suite
    main_run: str
    run_id: str
    arm: str
    items: Sequence[Item]
    key: bytes | None = field(default=None, repr=False)
    pace: WorkerPace = field(default_factory=WorkerPace)
    version: str = __version__
    python: str = PYTHON

    def packed(self) -> bytes:
        """As it is sent.

        Raises:
            ConfigError: a task can't be sent to another process.
        """
        try:
            return pickle.dumps(self)
        except Exception as error:
            for item in self.items:
                try:
                    pickle.dumps(item)
                except Exception as own:
                    raise ConfigError(
                        f"Task {item.task.id} can't be handed to another process: {own}",
                        do="Let it hold plain data, or run it without --workers and --on.",
                    ) from own
            raise ConfigError(
                f"What is run can't be handed to another process: {error}", do="Run it without --workers and --on."
            ) from error

    def check_same(self) -> None:
        """Refuses to work beside another version: what is recorded, and how seeds are drawn, would differ.

        Raises:
            ConfigError: which versions these are, and where.
        """
        for what, here, there in (("groundwire", __version__, self.version), ("Python", PYTHON, self.python)):
            if here != there:
                raise ConfigError(
                    f"{platform.node()} has {what} {here}, and the run is driven by {what} {there}.",
                    do=f"Install {what} {there} on every machine of the cluster.",
                )


async def work(job: WorkerJob, name: str) -> None:
    """Works on a run until nothing is left to take; the last worker of a run whose driver is gone ends it.

    Args:
        job: what is run.
        name: the worker's own.

    Raises:
        ConfigError: this machine can't: other versions, or a graph, model or sandbox that is not here.
        StorageError: the database did not answer for longer than is waited.
    """
    job.check_same()
    # here, since whoever only starts workers needs none of it
    from groundwire.cli._arms import Control, RunArm
    from groundwire.cli._graph_choice import builder_of
    from groundwire.cli._repair import open_store
    from groundwire.cli._run import SuiteRun, queued_episode, suite_sandbox
    from groundwire.cli._run_state import end_of_run
    from groundwire.cli._tally import EndedEpisode
    from groundwire.core._seal import FileKeys
    from groundwire.graphs.run._batch import QueuedEpisode
    from groundwire.graphs.run._result import EpisodeResult
    from groundwire.graphs.run._sandboxes import Sandboxes
    from groundwire.graphs.run._sealing import RunSeals
    from groundwire.graphs.run._worker import Worker
    from groundwire.memory._campaigns import Campaign

    keys = FileKeys()
    if job.key is not None:
        keys.lay(job.run_id, job.key)
    async with aclosing(open_store(job.suite.settings)) as store:
        main = SuiteRun(job.suite, as_json=True).main(builder_of(job.suite.graph), store)
        main.run_id = job.main_run
        arm: RunArm = main
        if job.arm != main.name:
            controls = SuiteRun(job.suite, as_json=True).controls(main)
            control: Control = next(one for one in controls if one.name == job.arm)
            await control.read(job.items)
            arm = control
        arm.run_id = job.run_id

        def episode(position: int) -> QueuedEpisode:
            item = job.items[position]
            return queued_episode(arm, item, job.items, job.suite.seed_of(item), None)

        def ended(position: int, result: EpisodeResult) -> str:
            item = job.items[position]
            shown = {
                "split": item.split,
                "seed": job.suite.seed_of(item),
                **EndedEpisode.of(result, item.task).as_data(),
            }
            return json.dumps(shown)

        sandboxes = Sandboxes(suite_sandbox(job.suite))
        campaign = Campaign(store, job.run_id)
        try:
            await RunSeals.of(store, keys).sealing(store, job.run_id)
            with keys.held(job.run_id):
                worker = Worker(
                    store,
                    campaign,
                    name,
                    episode,
                    ended,
                    sandboxes,
                    at_once=arm.at_once,
                    reuse=job.suite.settings.reuse,
                    pace=job.pace,
                )
                await worker.run()
                if await worker.is_left_to_end_it():
                    await end_of_run(store, job.run_id)
        finally:
            await sandboxes.aclose()


def main() -> None:
    """A worker process: its job comes by standard input, its name is its last argument."""
    job: WorkerJob = pickle.load(sys.stdin.buffer)  # of the process that started this one
    name = sys.argv[-1]

    async def until_told() -> None:
        doing = asyncio.ensure_future(work(job, name))
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, doing.cancel)
        await doing

    try:
        asyncio.run(until_told())
    except asyncio.CancelledError:
        sys.exit(130)
    except GroundwireError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(error.exit_code)


@dataclass(frozen=True)
class WorkerEnd:
    """How a worker ended.

    Args:
        why: for people; empty: it had nothing left to do.
        own_fault: True: it came to an end by an error of its own, which another one would meet too.
        exit_code: of that error.
    """

    why: str = ""
    own_fault: bool = False
    exit_code: int = 7


class Fleet(Protocol):
    """Where workers run."""

    async def start(self, name: str) -> None:
        """Starts one more."""
        ...

    async def gone(self) -> Mapping[str, WorkerEnd]:
        """Those that have ended since this was asked last, and why."""
        ...

    @property
    def alive(self) -> Sequence[str]:
        """Those that were started and have not ended, the oldest first."""
        ...

    async def stop(self) -> None:
        """Ends all of them."""
        ...


class LocalFleet:
    """Workers as processes of this machine, in sessions of their own: what ends this process does not end them.

    Args:
        job: what they are handed.
    """

    def __init__(self, job: WorkerJob) -> None:
        self._packed = job.packed()
        self._processes: dict[str, tuple[subprocess.Popen[bytes], IO[bytes]]] = {}

    async def start(self, name: str) -> None:
        """See `Fleet`."""
        self._processes[name] = await asyncio.to_thread(self._start, name)

    def _start(self, name: str) -> tuple[subprocess.Popen[bytes], IO[bytes]]:
        said = tempfile.TemporaryFile()  # noqa: SIM115  it is read when the process has ended
        program = "from groundwire.cli._workers import main; main()"
        process = subprocess.Popen(
            [sys.executable, "-c", program, "groundwire-worker", name],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=said,
            start_new_session=True,
        )
        assert process.stdin is not None
        with suppress(BrokenPipeError), process.stdin as stdin:
            stdin.write(self._packed)
        return process, said

    async def gone(self) -> Mapping[str, WorkerEnd]:
        """See `Fleet`."""
        ended = {name: found for name, found in self._processes.items() if found[0].poll() is not None}
        for name in ended:
            del self._processes[name]
        return {name: _end_of(*found) for name, found in ended.items()}

    @property
    def alive(self) -> Sequence[str]:
        """See `Fleet`."""
        return list(self._processes)

    async def stop(self) -> None:
        """See `Fleet`."""
        await asyncio.to_thread(self._stop)

    def _stop(self) -> None:
        for process, _ in self._processes.values():
            process.terminate()
        for process, said in self._processes.values():
            try:
                process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            said.close()
        self._processes.clear()


def _end_of(process: subprocess.Popen[bytes], said: IO[bytes]) -> WorkerEnd:
    code = process.returncode
    with said:
        size = said.seek(0, os.SEEK_END)
        said.seek(max(0, size - SAID_BYTES))
        text = said.read().decode("utf-8", "replace").strip()
    if code == 0:
        return WorkerEnd()
    if code < 0:
        return WorkerEnd(f"killed by signal {-code}")
    return WorkerEnd(text or f"it ended with {code}", own_fault=True, exit_code=code)


def with_absolute_paths(suite: Suite) -> Suite:
    """The same for a process that is in another folder."""
    from groundwire.cli._graph_choice import full_name

    return replace(suite, graph=full_name(suite.graph))
