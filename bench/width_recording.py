"""A backend that asks nothing twice: every answer is in the recording's file before anybody uses it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from groundwire.core import (
    Backend,
    Completion,
    Failure,
    ModelReplyInvalid,
    Recorded,
    Recording,
    Request,
    Sample,
    read_recording,
)
from groundwire.models._chat import all_of

__all__ = ["Keeper", "Player"]

DIGITS = 4


class Keeper:
    """A recording that grows: what it lacks is asked of a model, and written down at once.

    A line that was cut off when the process was killed is cut away at the next start; so no answer is paid for twice
    but that one.

    Args:
        backend: the model.
        path: the recording's file, which `replay:PATH` plays; None: kept in memory alone.
        about: how it was made, for people.
    """

    def __init__(self, backend: Backend, path: Path | None = None, about: str = "") -> None:
        self.backend = backend
        self._path = path
        self.asked = 0
        if path is not None and path.is_file() and path.stat().st_size:
            _cut_off_half_a_line(path)
            self.recording = read_recording(path) if _has_calls(path) else _begun(path, about, backend)
        else:
            self.recording = _begun(path, about, backend)

    def player(self) -> Player:
        """Plays from the beginning: arms that ask the same get the same, and share what was paid."""
        return Player(self)

    async def sample(self, request: Request, index: int) -> Sample:
        """The answer to a request of one sample, asked for the `index`-th time."""
        digest = _digest(request)
        known = self.recording.of_request(digest)
        if index < len(known):
            return known[index]
        self.asked += 1
        try:
            completion = await self.backend.complete(request)
        except ModelReplyInvalid as error:
            self._add(Recorded(request=digest, failure=Failure("ModelReplyInvalid", error.what)))
        else:
            completion = _rounded(completion)
            self._add(Recorded(request=digest, completion=completion))
            self._add_plain(request, completion)
        return self.recording.of_request(digest)[-1]

    def _add_plain(self, request: Request, completion: Completion) -> None:
        """An answer with probabilities is the answer to the same question without them, too."""
        if not request.logprobs:
            return
        digest = _digest(request.model_copy(update={"logprobs": False, "top_logprobs": 0}))
        if not self.recording.of_request(digest):
            bare = completion.model_copy(update={"logprobs": None, "top_logprobs": None})
            self._add(Recorded(request=digest, completion=bare))

    def _add(self, recorded: Recorded) -> None:
        alone = Recording([recorded])
        _, line = alone.lines()
        place = len(self.recording.of_request(recorded.request))
        line = line.replace('"sample":0', f'"sample":{place}', 1)
        if self._path is not None:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(f"{line}\n")
        self.recording.add(recorded)


class Player:
    """One arm's view of a `Keeper`: a request made again gets the next sample.

    Args:
        keeper: has the answers, or gets them.
    """

    def __init__(self, keeper: Keeper) -> None:
        self._keeper = keeper
        self._played: dict[str, int] = {}

    @property
    def model(self) -> str:
        """See `Backend`."""
        return self._keeper.backend.model

    async def complete(self, request: Request) -> Completion:
        """See `Backend`. Requests of one sample, which is all that methods going wide make.

        Raises:
            ModelReplyInvalid: also where that is what is recorded.
            ModelRejected, ModelRetryable: they are not recorded, so that the next run asks again.
        """
        digest = _digest(request)
        index = self._played.get(digest, 0)
        self._played[digest] = index + 1
        sample = await self._keeper.sample(request, index)
        if sample.recorded.failure is not None:
            raise sample.recorded.failure.error()
        assert sample.recorded.completion is not None
        return sample.recorded.completion

    async def complete_many(self, requests: Sequence[Request]) -> Sequence[Completion]:
        """See `Backend`."""
        return await all_of([self.complete(request) for request in requests])

    def price(self, request: Request) -> float | None:
        """See `Backend`: of the model, since it may be asked."""
        return self._keeper.backend.price(request)


def _digest(request: Request) -> str:
    return hashlib.sha256(request.canonical().encode()).hexdigest()


def _rounded(completion: Completion) -> Completion:
    """Log probabilities to a ten-thousandth: a file of many samples would be several times as large otherwise."""
    if completion.top_logprobs is None:
        return completion
    top = tuple(tuple(tuple(round(value, DIGITS) for value in at) for at in one) for one in completion.top_logprobs)
    own = completion.logprobs
    rounded = None if own is None else tuple(tuple(round(value, DIGITS) for value in one) for one in own)
    return completion.model_copy(update={"top_logprobs": top, "logprobs": rounded})


def _begun(path: Path | None, about: str, backend: Backend) -> Recording:
    recording = Recording((), source=about, model=backend.model)
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{line}\n" for line in recording.lines()), encoding="utf-8")
    return recording


def _has_calls(path: Path) -> bool:
    with path.open("rb") as file:
        return len(file.readlines(1 << 16)) > 1


def _cut_off_half_a_line(path: Path) -> None:
    content = path.read_bytes()
    if not content.endswith(b"\n"):
        with path.open("r+b") as file:
            file.truncate(content.rfind(b"\n") + 1)
