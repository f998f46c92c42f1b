"""The mint and the seal: the one place where an observation becomes a signal, and where the runs' keys are.

The seal protects against model text, mistaken tools and edited rows. It does not protect against hostile Python inside
our own process: that is what the sandbox is for. Nor against whoever holds the run's key.

Seals are Ed25519 signatures (`core._signing`). Those of version 0.1 were HMAC-SHA256 under the same 32 bytes;
they verify still, where the key itself is at hand, and runs that it began are gone on with in its way.
"""

from __future__ import annotations

import fcntl
import hashlib
import hmac
import os
import secrets
import stat
import threading
from collections import OrderedDict
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NoReturn, Protocol

from pydantic_core import PydanticSerializationError

from groundwire.core._errors import KeyMissing, SealError, StorageError
from groundwire.core._ids import new_id, now
from groundwire.core._masking import Masker
from groundwire.core._signals import Observation, Signal
from groundwire.core._signing import ED25519, KEY_BYTES, PublicKey, signer, signer_of


class Keys(Protocol):
    """Where the runs' keys are kept: never in the database, a prompt, a log or a state.

    A key is the 32 bytes of a run's own, or a worker's with the run's word for it (`signing.worker_key`).
    """

    def create(self, run_id: str) -> bytes:
        """Makes and keeps a fresh key for a run; returns the one there is, if there is one."""
        ...

    def load(self, run_id: str) -> bytes:
        """The run's key, or the one that this worker of it was given.

        Raises:
            KeyMissing: there is none, so the run's signals can't be verified here.
            SealError: there is one that must not be used: damaged, or open to others.
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

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FileKeys) and self._folder == other._folder

    def __hash__(self) -> int:
        return hash(self._folder)

    def create(self, run_id: str) -> bytes:
        """See `Keys`. Of any number of processes that make one at once, all get the same, and whole.

        Raises:
            StorageError: the folder can't be written.
            SealError: the key that is there must not be used.
        """
        return self._kept(run_id, secrets.token_bytes(KEY_BYTES))

    def _kept(self, run_id: str, key: bytes) -> bytes:
        path = self._folder / run_id
        if path.exists():
            return self.load(run_id)
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            _write_new(path, key)
        except FileExistsError:
            return self.load(run_id)
        except OSError as error:
            raise StorageError(
                f"The run's key can't be written to {self._folder}: {error.strerror}.",
                do="Make the folder writable, or set XDG_STATE_HOME to one that is, on a disk that has hard links.",
            ) from error
        return key

    def lay(self, run_id: str, key: bytes) -> None:
        """Keeps a run's key that another machine has made, unless it is here already.

        Raises:
            StorageError: the folder can't be written.
        """
        self._kept(run_id, key)

    def heads_file(self, run_id: str) -> Path:
        """Where the heads of the run's chains are noted, outside of the ledger (`groundwire.core._chain.Heads`)."""
        return self._folder / f"{run_id}{HEADS_SUFFIX}"

    def noted(self, prefix: str) -> list[str]:
        """Ids of runs that begin with `prefix` and of which heads are noted here."""
        try:
            names = [path.name for path in self._folder.iterdir() if path.name.startswith(prefix)]
        except OSError:
            return []
        return sorted(name.removesuffix(HEADS_SUFFIX) for name in names if name.endswith(HEADS_SUFFIX))

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
        path = self._folder / run_id
        try:
            with path.open("rb") as file:
                mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
                key = file.read()
        except OSError:
            raise _no_key(run_id) from None
        if mode & 0o077:
            raise SealError(
                f"The key of run {run_id} is open to others ({mode:04o}): who has read it can forge the run's seals.",
                do=f"If nobody else uses this machine:  chmod 600 {path}",
            )
        if not key:
            raise SealError(
                f"The key of run {run_id} is empty: version 0.1 was ended while it wrote it, so nothing was ever sealed"
                " with it.",
                do=f"Remove it and start a new run:  rm {path}",
            )
        signer(run_id, key)
        return key


HEADS_SUFFIX = ".heads"


def _write_new(path: Path, content: bytes) -> None:
    """Writes a file that only its owner can read, whole or not at all, on disk when this returns.

    Raises:
        FileExistsError: another process was faster.
        OSError: it can't be written.
    """
    beside = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(file.fileno(), 0o600)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.link(beside, path)
    finally:
        beside.unlink()
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with suppress(OSError):  # a file system that can't
            os.fsync(folder)
    finally:
        os.close(folder)


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


def _no_key(run_id: str) -> KeyMissing:
    return KeyMissing(
        f"There is no key for run {run_id} here, so its signals can't be verified.",
        do="Verify it on the machine that ran it, as the same user, or copy the key file from there.",
    )


class _Shared:
    """Seals as version 0.1 did, under one key, which it keeps only inside the hash."""

    __slots__ = ("_keyed",)

    def __init__(self, key: bytes) -> None:
        self._keyed = hmac.new(key, digestmod=hashlib.sha256)

    def seal(self, _kind: str, body: str) -> str:
        keyed = self._keyed.copy()
        keyed.update(body.encode())
        return keyed.hexdigest()


class Mint:
    """Turns observations into sealed signals for one run. It can't be pickled or copied.

    Args:
        run_id: the run.
        key: the run's key, or a worker's.
        shared: seals as version 0.1 did, for a run that it began.
    """

    def __init__(self, run_id: str, key: bytes, *, shared: bool = False) -> None:
        self._run_id = run_id
        self._signer = signer(run_id, key)
        self._shared = _Shared(key)
        self._sealer = self._shared if shared else self._signer
        self._known: OrderedDict[bytes, None] = OrderedDict()

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
        sealed = unsealed.model_copy(update={"seal": self._sealer.seal("signal", clean)})
        self._know(_fingerprint(sealed))
        return sealed

    def verify(self, signal: Signal) -> None:
        """Checks that the signal is of this run and exactly as it was minted.

        Raises:
            SealError: it is not.
        """
        if signal.run_id != self._run_id:
            raise SealError(f"Signal {signal.id} belongs to run {signal.run_id}, not to {self._run_id}.")
        # a signal is looked at by the gate, the critic and the actor: what was verified before is only compared
        known = _fingerprint(signal)
        if known in self._known:
            return
        _check(signal, signal.body(), self._signer.run, self._shared)
        self._know(known)

    def _know(self, fingerprint: bytes) -> None:
        self._known[fingerprint] = None
        if len(self._known) > MOST_KNOWN:
            self._known.popitem(last=False)


MOST_KNOWN = 4096
"""Signals that a mint remembers to have sealed or verified."""

_FROM_OBSERVATION = tuple(name for name in Observation.model_fields if name in Signal.model_fields)


def verify(signal: Signal, key: bytes | PublicKey) -> None:
    """Checks a signal's seal.

    Args:
        signal: the signal.
        key: the run's key, a worker's, or the run's public key, with which no seal of version 0.1 can be checked.

    Raises:
        SealError: a byte of it differs from what was minted, or it was minted under another key.
    """
    if isinstance(key, PublicKey):
        _check(signal, signal.body(), key, None)
    else:
        _check(signal, signal.body(), signer(signal.run_id, key).run, _Shared(key))


def _check(signal: Signal, body: str, run: PublicKey, shared: _Shared | None) -> None:
    if signal.seal.startswith(ED25519):
        if signer_of(signal.seal, "signal", body, signal.run_id, run) is not None:
            return
    elif shared is None:
        raise SealError(
            f"Signal {signal.id} was sealed as version 0.1 did, which a public key can't verify.",
            do="Verify it where the run's key is.",
        )
    elif hmac.compare_digest(signal.seal.encode(), shared.seal("signal", body).encode()):
        return
    raise SealError(
        f"The seal of signal {signal.id} does not match its content.",
        do="The record was changed after it was observed; judge the candidate again.",
    )


def _fingerprint(signal: Signal) -> bytes:
    """Of all its fields, the seal among them, as they are now; quicker to make than what the seal covers."""
    try:
        said = signal.model_dump_json()
    except PydanticSerializationError:  # a program has printed what is no UTF-8
        said = signal.to_json()
    return hashlib.sha256(said.encode()).digest()
