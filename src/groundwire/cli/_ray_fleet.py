"""Workers as actors of a Ray cluster: the one place that knows Ray."""

from __future__ import annotations

import asyncio
import contextlib
import io
import pickle
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Self, TypeVar

from groundwire.cli._workers import WorkerEnd, WorkerJob, work
from groundwire.core._errors import ConfigError, GroundwireError
from groundwire.core._text import plain

T = TypeVar("T")

CONNECT_S = 5.0
"""Seconds for a cluster's port to answer at all."""
JOIN_S = 60.0
"""Seconds for a cluster to take this process in."""
A_MACHINE = 2
"""Workers on a machine, unless somebody says otherwise."""
NAMESPACE = "groundwire"
INSTALL = 'Install it on every machine of the cluster:  pip install "groundwire[ray]"'
INSTALL_CLIENT = 'Install it here and on the cluster\'s first machine:  pip install "ray[client]"'
_VERSIONS_DIFFER = ("ersion mismatch", "versions differ")
"""How Ray's versions begin to say so."""


class RayWorker:
    """A worker as an actor: one process, many episodes in flight."""

    async def work(self, packed: bytes, name: str) -> tuple[str, int]:
        """Works until nothing is left.

        Returns:
            Why this machine can't, for people, and the error's exit code; empty and 0 where it could.
        """
        try:
            await work(pickle.loads(packed), name)
        except GroundwireError as error:
            return str(error), error.exit_code
        return "", 0


class RayFleet:
    """Workers on a cluster. They outlive the process that started them, and end by themselves.

    Args:
        ray: the module, joined to the cluster.
        job: what workers are handed.
        machines: of the cluster.
    """

    def __init__(self, ray: Any, job: WorkerJob, machines: int) -> None:
        self._ray = ray
        self._at = _place_of(job.suite.on)
        self.room = A_MACHINE * machines
        """Workers, unless somebody says how many."""
        self._packed = ray.put(job.packed())
        self._run_id = job.run_id
        self._actors: dict[str, tuple[Any, Any]] = {}
        """By name: the actor, and what it is to come to."""

    @classmethod
    async def joined(cls, job: WorkerJob, key: bytes) -> Self:
        """Joins the cluster that the job's run names.

        Args:
            job: what workers are handed.
            key: the run's, which no other machine has.

        Raises:
            ConfigError: as `join`.
        """
        ray, machines = await join(job.suite.on)
        return await asyncio.to_thread(cls, ray, replace(job, key=key), machines)

    async def start(self, name: str) -> None:
        """See `Fleet`."""
        self._actors[name] = await self._asked(partial(self._start, name))

    def _start(self, name: str) -> tuple[Any, Any]:
        made = self._ray.remote(RayWorker).options(
            name=f"{self._run_id}/{name}",
            namespace=NAMESPACE,
            lifetime="detached",
            num_cpus=1,
            max_restarts=0,
            scheduling_strategy="SPREAD",
        )
        actor = made.remote()
        return actor, actor.work.remote(self._packed, name)

    async def gone(self) -> Mapping[str, WorkerEnd]:
        """See `Fleet`."""
        return await self._asked(self._gone)

    async def _asked(self, work: Callable[[], T]) -> T:
        """What the cluster says.

        Raises:
            ConfigError: it says nothing any more.
        """
        try:
            return await asyncio.to_thread(work)
        except Exception as error:  # of which class hangs on how it was joined
            raise ConfigError(
                f"The Ray cluster {self._at} no longer answers: {plain(str(error), limit=300)}",
                do=f"What was written is kept. Once it runs again:  groundwire resume {self._run_id}",
            ) from error

    def _gone(self) -> Mapping[str, WorkerEnd]:
        if not self._actors:
            return {}
        names = {done: name for name, (_, done) in self._actors.items()}
        ended, _ = self._ray.wait(list(names), num_returns=len(names), timeout=0)
        found: dict[str, WorkerEnd] = {}
        for done in ended:
            name = names[done]
            found[name] = self._end_of(done)
            actor, _ = self._actors.pop(name)
            with contextlib.suppress(Exception):  # it is dead already
                self._ray.kill(actor)
        return found

    def _end_of(self, done: Any) -> WorkerEnd:
        try:
            why, exit_code = self._ray.get(done)
        except self._ray.exceptions.RayActorError as error:
            said = plain(str(error), limit=1000)
            # an actor that could not be made at all, as where groundwire is not installed
            is_own = "ModuleNotFoundError" in str(error) or "creation task" in str(error)
            return WorkerEnd(f"{said}\n{INSTALL}" if is_own else said, own_fault=is_own, exit_code=2)
        except Exception as error:
            return WorkerEnd(plain(str(error), limit=1000), own_fault=True)
        return WorkerEnd(why, own_fault=bool(why), exit_code=exit_code)

    @property
    def alive(self) -> Sequence[str]:
        """See `Fleet`."""
        return list(self._actors)

    async def stop(self) -> None:
        """See `Fleet`."""
        await asyncio.to_thread(self._stop)

    def _stop(self) -> None:
        for actor, _ in self._actors.values():
            with contextlib.suppress(Exception):  # it is dead already
                self._ray.kill(actor)
        self._actors.clear()
        with contextlib.suppress(Exception):  # so is the cluster
            self._ray.shutdown()


async def join(on: str) -> tuple[Any, int]:
    """Makes this process one of a cluster; once it is, nothing is done.

    Args:
        on: the cluster, as `check_form` has it.

    Returns:
        Ray, and how many machines there are.

    Raises:
        ConfigError: Ray is not installed, no cluster answers there, or it has other versions.
    """
    try:
        ray: Any = import_module("ray")
    except ImportError as error:
        raise ConfigError("Ray is not installed, so there is no cluster to run on.", do=INSTALL) from error
    if on != "ray":
        await asyncio.to_thread(_check_answers, on)
        if find_spec("grpc") is None:
            raise ConfigError(
                "A cluster is joined from outside of it with Ray's client, which is not installed.", do=INSTALL_CLIENT
            )
    asked = {"address": "auto" if on == "ray" else on, "namespace": NAMESPACE, "log_to_driver": False}

    def joined() -> int:
        ray.init(**asked, logging_level="ERROR", ignore_reinit_error=True)
        return sum(1 for node in ray.nodes() if node["Alive"])

    # what it prints is for its developers; here and not in the thread, which is left behind where a cluster hangs, and
    # would keep all that is said afterwards
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        return ray, await _in_time(joined, on)


def check_form(on: str) -> None:
    """Refuses what names no cluster.

    Raises:
        ConfigError: it is none.
    """
    if on and on != "ray":
        _address(on)


def _address(on: str) -> tuple[str, int]:
    kind, _, rest = on.partition("://")
    host, _, port = rest.rpartition(":")
    if kind != "ray" or not host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise ConfigError(
            f"--on {plain(on, limit=80)} names no cluster.",
            do="Write ray, for the cluster that this machine is part of, or ray://HOST:PORT.",
        )
    return host.strip("[]"), int(port)


def _check_answers(on: str) -> None:
    try:
        socket.create_connection(_address(on), CONNECT_S).close()
    except OSError as error:
        raise _no_cluster(on, error.strerror or str(error)) from error


async def _in_time(join: Callable[[], T], on: str) -> T:
    loop = asyncio.get_running_loop()
    joined: asyncio.Future[T] = loop.create_future()

    def told(result: T | None, error: Exception | None) -> None:
        if joined.done():
            return
        if error is not None:
            joined.set_exception(error)
        else:
            joined.set_result(result)  # pyright: ignore[reportArgumentType]  one of the two is there

    def run() -> None:
        try:
            result = join()
        except Exception as error:
            loop.call_soon_threadsafe(told, None, error)
        else:
            loop.call_soon_threadsafe(told, result, None)

    threading.Thread(target=run, daemon=True, name="groundwire-ray").start()
    try:
        return await asyncio.wait_for(joined, JOIN_S)
    except TimeoutError as error:
        raise _no_cluster(on, f"it did not answer for {JOIN_S:g} s") from error
    except GroundwireError:
        raise
    except Exception as error:
        if any(words in str(error) for words in _VERSIONS_DIFFER):
            raise ConfigError(
                f"This process and the cluster have different versions: {plain(str(error), limit=400)}",
                do="Install the same Python and Ray on every machine of the cluster, and here.",
            ) from error
        raise _no_cluster(on, plain(str(error), limit=300).partition(". ")[0].rstrip(".")) from error


def _no_cluster(on: str, why: str) -> ConfigError:
    do = "Start one (ray start --head)"
    if on != "ray":
        do = (
            'Start one that is open to others (pip install "ray[client]"; ray start --head); where it asks for a token,'
            " set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN here"
        )
    return ConfigError(
        f"No Ray cluster answers {_place_of(on)}: {why}.",
        do=f"{do}, or name the address of another:  --on ray://HOST:10001",
    )


def _place_of(on: str) -> str:
    return "on this machine" if on == "ray" else f"at {on}"
