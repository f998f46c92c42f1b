"""Several engines or servers of one model as one backend: an episode stays with one, whose prefix cache knows it.

Which one is decided when the episode first asks: the task's own, by rendezvous hashing, so that every episode of a task
and every process of ours finds the same prefixes warm; unless that one has a quarter more in flight than its share
(consistent hashing with bounded loads, arXiv 1608.01350), then the next. One that fails is left alone for a while, and
its episodes go on elsewhere.
"""

from __future__ import annotations

import asyncio
import hashlib
import math
import os
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast
from urllib.parse import parse_qsl, urlencode

from groundwire.core._errors import ConfigError, ModelRetryable, Usage
from groundwire.core._models import Backend, Completion, Load, ReportsLoad, Request, current_asker
from groundwire.core._traits import BackendTraits
from groundwire.models._chat import all_of, with_attempts
from groundwire.models._openai_compatible import SCHEME, GoesOn, OpenAICompatibleBackend
from groundwire.models._retries import Retried

MORE_THAN_ITS_SHARE = 1.25
"""Of what is in flight, a replica takes so many times its share before another one takes a new episode."""
EPISODES_KNOWN = 65_536
REST_S, LONGEST_REST_S = 2.0, 60.0
"""How long a replica that failed is left alone: at first, and at most."""
MOST = 64


class Replica(Protocol):
    """What a replica must be able to do besides completing: to end one answer early, and to be closed."""

    @property
    def model(self) -> str:
        """See `Backend`."""
        ...

    async def complete(self, request: Request) -> Completion:
        """See `Backend`."""
        ...

    async def stream_while(self, request: Request, watch: Callable[[], GoesOn]) -> Completion:
        """See `agents.width.confident_vote.StreamsProbabilities`."""
        ...

    def price(self, request: Request) -> float | None:
        """See `Backend`."""
        ...

    async def aclose(self) -> None:
        """Ends what is ours of it; the next request starts it again."""
        ...


@dataclass
class _Standing:
    """How a replica stands.

    Args:
        in_flight: samples that it was asked for and has not answered.
        is_drained: nothing new goes to it.
        rests_until: by the monotonic clock.
        rest_s: of the last rest; 0: its last answer was well.
    """

    in_flight: int = 0
    is_drained: bool = False
    rests_until: float = 0.0
    rest_s: float = 0.0

    @property
    def is_open(self) -> bool:
        """It may be asked now."""
        return not self.is_drained and time.monotonic() >= self.rests_until

    def failed(self) -> None:
        """It is left alone, for longer each time."""
        self.rest_s = min(2 * self.rest_s or REST_S, LONGEST_REST_S)
        self.rests_until = time.monotonic() + self.rest_s

    def answered(self) -> None:
        """It is well."""
        self.rest_s = self.rests_until = 0.0


class ReplicatedBackend:
    """One model behind several engines or servers; see the module.

    Args:
        replicas: backends of the same model.
        model: what the user calls them together.

    Raises:
        ConfigError: there are none, or more than 64.
    """

    def __init__(self, replicas: Sequence[Replica], model: str) -> None:
        if not 1 <= len(replicas) <= MOST:
            raise ConfigError(f"{model} has {len(replicas)} replicas.", do=f"Name 1 to {MOST}.")
        self.traits = BackendTraits.of(cast("Backend", replicas[0]))
        self._replicas = list(replicas)
        self._model = model
        self._standing = [_Standing() for _ in replicas]
        self._home: OrderedDict[str, int] = OrderedDict()
        """By episode, where it was asked last."""
        if all(isinstance(replica, ReportsLoad) for replica in replicas):
            self.load = self._load  # servers of others don't say how much they can do

    def __repr__(self) -> str:
        return f"ReplicatedBackend({self._model!r}, {len(self._replicas)} replicas)"

    @property
    def model(self) -> str:
        """See `Backend`."""
        return self._model

    @property
    def replicas(self) -> Sequence[Replica]:
        """Its backends, by the numbers that `drain` takes."""
        return tuple(self._replicas)

    @property
    def in_flight(self) -> Sequence[int]:
        """Samples that each replica was asked for and has not answered."""
        return [standing.in_flight for standing in self._standing]

    def check_ready(self) -> None:
        """See `Readiness`. Nothing is sent."""
        for replica in self._replicas:
            check: Any = getattr(replica, "check_ready", None)
            if check is not None:
                check()

    async def complete(self, request: Request) -> Completion:
        """See `Backend`. Where a replica still fails after its own tries, each other one is asked once.

        Raises:
            ModelRejected, ModelReplyInvalid, ConfigError: as the replicas'.
            ModelRetryable: all of them fail.
        """
        return await self._asked(request, lambda replica: replica.complete(request))

    async def stream_while(self, request: Request, watch: Callable[[], GoesOn]) -> Completion:
        """One sample, for as long as it is worth it; see `agents.width.confident_vote.StreamsProbabilities`.

        Raises:
            ModelRejected, ModelRetryable, ModelReplyInvalid, ConfigError: as `complete`.
        """
        return await self._asked(request, lambda replica: replica.stream_while(request, watch))

    async def _asked(self, request: Request, ask: Callable[[Replica], Awaitable[Completion]]) -> Completion:
        tried: set[int] = set()
        wasted: Usage | None = None
        while True:
            index = self._chosen(request, tried)
            standing = self._standing[index]
            standing.in_flight += request.n
            try:
                answer = await ask(self._replicas[index])
            except ModelRetryable as error:
                standing.failed()
                tried.add(index)
                wasted = error.used if wasted is None else wasted + (error.used or Usage(usd=0.0))
                if len(tried) == len(self._replicas):
                    error.used = wasted
                    raise
                continue
            finally:
                standing.in_flight -= request.n
            standing.answered()
            # what others were asked for and did not answer was asked for all the same
            return with_attempts(Retried(answer, answer.attempts + len(tried), wasted)) if tried else answer

    def _chosen(self, request: Request, tried: set[int]) -> int:
        """Where a request goes: its episode's replica, or a fresh one."""
        asker = current_asker.get()
        episode, task = asker or (None, _beginning(request))
        home = self._home.get(episode) if episode is not None else None
        if home is not None and home not in tried and self._standing[home].is_open:
            index = home
        else:
            index = self._placed(task, request.n, tried)
        if episode is not None:
            self._home[episode] = index
            self._home.move_to_end(episode)
            while len(self._home) > EPISODES_KNOWN:
                self._home.popitem(last=False)
        return index

    def _placed(self, key: str, samples: int, tried: set[int]) -> int:
        left = [index for index in range(len(self._replicas)) if index not in tried]
        # where all rest or are drained the least bad one is asked: to wait here would be a retry of our own
        asked = [i for i in left if self._standing[i].is_open]
        asked = asked or [i for i in left if not self._standing[i].is_drained] or left
        ranked = sorted(asked, key=lambda index: hashlib.sha256(f"{index}\0{key}".encode(errors="replace")).digest())
        in_flight = sum(self._standing[index].in_flight for index in asked) + samples
        most = math.ceil(MORE_THAN_ITS_SHARE * in_flight / len(asked))
        fits = (index for index in ranked if self._standing[index].in_flight + samples <= most)
        return next(fits, min(ranked, key=lambda index: self._standing[index].in_flight))

    async def complete_many(self, requests: Sequence[Request]) -> Sequence[Completion]:
        """See `Backend`. All are sent at once; if one fails, the others are cancelled."""
        return await all_of([self.complete(request) for request in requests])

    def price(self, request: Request) -> float | None:
        """The highest of the replicas'; None where one is not known."""
        prices = [replica.price(request) for replica in self._replicas]
        return None if None in prices else max(price for price in prices if price is not None)

    def _load(self) -> Load:
        """See `ReportsLoad`."""
        loads = [
            one.load()
            for one, s in zip(self._replicas, self._standing, strict=True)
            if not s.is_drained and isinstance(one, ReportsLoad)
        ]
        return Load(*(sum(getattr(load, name) for load in loads) for name in ("running", "waiting", "capacity")))

    async def drain(self, index: int) -> None:
        """Lets a replica finish what it was asked, and sends it nothing more; its episodes go on elsewhere.

        Raises:
            ConfigError: there is no such replica, or no other one is left.
        """
        if not 0 <= index < len(self._replicas):
            raise ConfigError(f"{self._model} has no replica {index}.", do=f"Name 0 to {len(self._replicas) - 1}.")
        if all(s.is_drained for i, s in enumerate(self._standing) if i != index):
            raise ConfigError(f"Replica {index} of {self._model} is the last one.", do="Restore another one first.")
        self._standing[index].is_drained = True
        # several event loops may be asking, so no event of one of them would do
        while self._standing[index].in_flight:  # noqa: ASYNC110
            await asyncio.sleep(0.05)

    def restore(self, index: int) -> None:
        """Sends it requests again."""
        self._standing[index] = _Standing(in_flight=self._standing[index].in_flight)

    async def restart(self, index: int) -> None:
        """Drains a replica, ends it where it is ours, and sends it requests again, which start it anew.

        Raises:
            ConfigError: as `drain`.
        """
        await self.drain(index)
        try:
            await self._replicas[index].aclose()
        finally:
            self.restore(index)

    async def aclose(self) -> None:
        """Closes all of them."""
        closed = await asyncio.gather(*(replica.aclose() for replica in self._replicas), return_exceptions=True)
        for error in closed:
            if error is not None:
                raise error


def _beginning(request: Request) -> str:
    """What requests of one conversation share, where nobody says which episode asks."""
    said = [message.content for message in request.messages if message.role == "user"]
    return said[0] if said else ""


# --- from the text that a user gives


def servers(spec: str, **options: Any) -> OpenAICompatibleBackend | ReplicatedBackend:
    """The backend of `URL`, `URL#MODEL`, or `URL,URL,…#MODEL`.

    Raises:
        ConfigError: an address is none, or is named twice.
    """
    addresses, hash_, name = spec.partition("#")
    # a comma within an address is its own
    urls = addresses.replace(",http://", "\nhttp://").replace(",https://", "\nhttps://").split("\n")
    if len(urls) == 1:
        return OpenAICompatibleBackend.from_spec(spec, **options)
    if len(set(urls)) < len(urls):
        raise ConfigError(f"{spec} names one server twice.", do="Name each once.")
    replicas = [OpenAICompatibleBackend.from_spec(f"{url}{hash_}{name}", **options) for url in urls]
    return ReplicatedBackend(replicas, f"{SCHEME}{spec}")


def count_in(spec: str) -> tuple[int, str]:
    """How many replicas `PATH?replicas=N&…` asks for, and the same text without that.

    Raises:
        ConfigError: it is no number from 1 to 64.
    """
    path, _, query = spec.partition("?")
    options = parse_qsl(query, keep_blank_values=True)
    asked = [value for name, value in options if name == "replicas"]
    if not asked:
        return 1, spec
    if len(asked) > 1 or not asked[0].isdecimal() or not 1 <= int(asked[0]) <= MOST:
        raise ConfigError(f"replicas is {', '.join(asked)!r}.", do=f"Write replicas=2, a number from 1 to {MOST}.")
    left = urlencode([(name, value) for name, value in options if name != "replicas"], safe="/:,")
    return int(asked[0]), f"{path}?{left}" if left else path


def devices_of(index: int, each: int) -> str:
    """The GPUs of a replica, as `CUDA_VISIBLE_DEVICES` names them.

    Args:
        index: which replica.
        each: GPUs of one.

    Raises:
        ConfigError: this process sees fewer.
    """
    seen = os.environ.get("CUDA_VISIBLE_DEVICES")
    names = seen.split(",") if seen else [str(number) for number in range((index + 1) * each)]
    if len(names) < (index + 1) * each:
        raise ConfigError(
            f"Replica {index + 1} needs {each} GPUs of its own, and CUDA_VISIBLE_DEVICES shows {len(names)} in all.",
            do="Show more of them, or ask for fewer replicas.",
        )
    return ",".join(names[index * each : (index + 1) * each])
