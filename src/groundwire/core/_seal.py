"""The mint and the seal: the one place where an observation becomes a signal.

The seal protects against model text, mistaken tools and edited rows. It does not protect against hostile Python inside
our own process: that is what the sandbox is for.
"""

from __future__ import annotations

import fcntl
import hashlib
import hmac
import os
import secrets
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn, Protocol

from groundwire.core._errors import SealError, StorageError
from groundwire.core._ids import new_id, now
from groundwire.core._masking import Masker
from groundwire.core._signals import Observation, Signal


class Keys(Protocol):
    """Where the runs' keys are kept: never in the database, a prompt, a log or a state."""

    def create(self, run_id: str) -> bytes:
        """Makes and keeps a fresh key for a run; returns the one there is, if there is one."""
        ...

    def load(self, run_id: str) -> bytes:
        """The run's key.

        Raises:
            SealError: there is none, so the run's signals can't be verified here.
        """
        ...


class MemoryKeys:
    """Keys that live as long as the process."""

    def __init__(self) -> None:
        self._keys: dict[str, bytes] = {}

    def create(self, run_id: str) -> bytes:
        """See `Keys`."""
        return self._keys.setdefault(run_id, secrets.token_bytes(32))

    def load(self, run_id: str) -> bytes:
        """See `Keys`."""
        try:
            return self._keys[run_id]
        except KeyError:
            raise _no_key(run_id) from None


class FileKeys:
    """Keys as files that only their owner can read.

    Args:
        folder: default `$XDG_STATE_HOME/groundwire/keys`.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder or _default_folder()

    def create(self, run_id: str) -> bytes:
        """See `Keys`.

        Raises:
            StorageError: the folder can't be written.
        """
        path = self._folder / run_id
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            return self.load(run_id)
        except OSError as error:
            raise StorageError(
                f"The run's key can't be written to {self._folder}: {error.strerror}.",
                do="Make the folder writable, or set XDG_STATE_HOME to one that is.",
            ) from error
        key = secrets.token_bytes(32)
        with os.fdopen(descriptor, "wb") as file:
            file.write(key)
        return key

    @contextmanager
    def held(self, run_id: str) -> Generator[None]:
        """Marks a run as one that this process is at, until that is left or the process ends, in whatever way.

        The mark is a shared lock of the key's file. Where it can't be had nothing depends on it.
        """
        path = self._folder / run_id
        with _MARKING:
            descriptor, times = _MARKS.get(path, (None, 0))
            _MARKS[path] = (descriptor if times else _shared(path), times + 1)
        try:
            yield
        finally:
            with _MARKING:
                descriptor, times = _MARKS.pop(path)
                if times > 1:
                    _MARKS[path] = (descriptor, times - 1)
                elif descriptor is not None:
                    os.close(descriptor)

    def is_held(self, run_id: str) -> bool:
        """True if a process of this machine is at the run; False too where its mark can't be looked at."""
        path = self._folder / run_id
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:  # a file system without locks
            return False
        finally:
            os.close(descriptor)
        return False

    def load(self, run_id: str) -> bytes:
        """See `Keys`."""
        try:
            key = (self._folder / run_id).read_bytes()
        except OSError:
            raise _no_key(run_id) from None
        if len(key) != 32:
            raise _no_key(run_id)
        return key


_MARKS: dict[Path, tuple[int | None, int]] = {}
"""By key file: this process's lock of it, and how many have asked for that."""
_MARKING = threading.Lock()


def _shared(path: Path) -> int | None:
    """An open file that holds a shared lock; None where it can't be had."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def _default_folder() -> Path:
    from platformdirs import user_state_path  # only durable runs need it

    return user_state_path("groundwire") / "keys"


def _no_key(run_id: str) -> SealError:
    return SealError(
        f"There is no key for run {run_id} here, so its signals can't be verified.",
        do="Verify on the machine and as the user that ran it, or copy the key file from there.",
    )


class _Sealer:
    """Seals under one key, which it keeps only inside the hash: it has no attribute that a dump or a log could show."""

    __slots__ = ("_keyed",)

    def __init__(self, key: bytes) -> None:
        self._keyed = hmac.new(key, digestmod=hashlib.sha256)

    def seal(self, body: str) -> str:
        keyed = self._keyed.copy()
        keyed.update(body.encode())
        return keyed.hexdigest()

    def verify(self, signal: Signal) -> None:
        if not hmac.compare_digest(signal.seal.encode(), self.seal(signal.body()).encode()):
            raise SealError(
                f"The seal of signal {signal.id} does not match its content.",
                do="The record was changed after it was observed; judge the candidate again.",
            )


class Mint:
    """Turns observations into sealed signals for one run. It can't be pickled or copied.

    Args:
        run_id: the run.
        key: the run's key, 32 bytes.
    """

    def __init__(self, run_id: str, key: bytes) -> None:
        self._run_id = run_id
        self._sealer = _Sealer(key)

    def __reduce__(self) -> NoReturn:
        raise TypeError("what seals is never copied: its key belongs in no state and in no other process")

    def signal(
        self, observation: Observation, *, episode_id: str, trial: int, issuer: str, candidate_digest: str
    ) -> Signal:
        """Mints and seals.

        Args:
            observation: what the tool saw.
            episode_id: the episode it belongs to.
            trial: the trial, counted from 0 (the baseline).
            issuer: the tool node's name.
            candidate_digest: digest of the candidate that was judged.
        """
        fields = {name: getattr(observation, name) for name in _FROM_OBSERVATION}
        unsealed = Signal.from_fields(
            fields
            | {
                "id": new_id(),
                "run_id": self._run_id,
                "episode_id": episode_id,
                "trial": trial,
                "issuer": issuer,
                "candidate_digest": candidate_digest,
                "created_at": now(),
            }
        )
        body = unsealed.body()
        # masked before it is sealed, so that what a ledger may keep is what the seal covers
        clean = Masker().json(body)
        if clean != body:
            unsealed = Signal.from_json(clean)
            clean = unsealed.body()
        return unsealed.model_copy(update={"seal": self._sealer.seal(clean)})

    def verify(self, signal: Signal) -> None:
        """Checks that the signal is of this run and exactly as it was minted.

        Raises:
            SealError: it is not.
        """
        if signal.run_id != self._run_id:
            raise SealError(f"Signal {signal.id} belongs to run {signal.run_id}, not to {self._run_id}.")
        self._sealer.verify(signal)


_FROM_OBSERVATION = tuple(name for name in Observation.model_fields if name in Signal.model_fields)


def verify(signal: Signal, key: bytes) -> None:
    """Checks a signal's seal.

    Raises:
        SealError: a byte of it differs from what was minted, or it was minted under another key.
    """
    _Sealer(key).verify(signal)
