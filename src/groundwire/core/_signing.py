"""Ed25519 signatures of one run: by the run's own key, or by a worker's that the run's key vouches for.

A seal is one text that says all that is needed to check it with nothing but the run's public key:

    ed25519:SIGNATURE                             by the run's own key
    ed25519:SIGNATURE:WORKER:WARRANT              by a worker's key; the warrant is the run's signature over that key

All parts are lower-case hex, which no rule that masks secrets takes for one. What is signed begins with what it is, so
that a signature of one kind is never good for another.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, Self

from groundwire.core._errors import ConfigError, SealError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey


ED25519 = "ed25519:"
KEY_BYTES = 32
_SIGNATURE_BYTES = 64
_WORKER_BYTES = KEY_BYTES + KEY_BYTES + _SIGNATURE_BYTES
"""A worker's key as it is kept: its secret, the run's public key, the warrant."""


@dataclass(frozen=True)
class PublicKey:
    """What signatures are checked with; it may be shown to anybody.

    Args:
        hex: its 32 bytes, in lower-case hex.
    """

    hex: str

    def __str__(self) -> str:
        return f"{ED25519}{self.hex}"

    @classmethod
    def read(cls, text: str) -> Self:
        """A key from what a person gives: `ed25519:HEX`, the hex alone, or a file that holds either, or PEM.

        Raises:
            ConfigError: it is none of these.
        """
        path = Path(text)
        try:
            said = path.read_text(encoding="ascii") if path.is_file() else text
        except (OSError, ValueError) as error:
            raise ConfigError(f"The public key in {text} can't be read: {error}.", do=_KEY_FORMS) from error
        said = said.strip()
        if "PUBLIC KEY-----" in said:
            return cls(_from_pem(said, text))
        said = said.removeprefix(ED25519)
        if not _is_hex(said, KEY_BYTES):
            raise ConfigError(f"{text!r} is no public key.", do=_KEY_FORMS)
        return cls(said)

    def verifies(self, message: bytes, signature: bytes) -> bool:
        """True if the signature is this key's, over exactly this message."""
        from cryptography.exceptions import InvalidSignature

        try:
            _loaded(self.hex).verify(signature, message)
        except (InvalidSignature, ValueError):
            return False
        return True


_KEY_FORMS = "Give ed25519:HEX, as `groundwire verify RUN` prints it where the run was made, or a file that holds it."


@dataclass(frozen=True)
class Signer:
    """Signs for one run. It can't be pickled or copied, and nothing that shows it shows its secret.

    Args:
        run_id: the run.
        public: of the key that signs.
        run: of the run's own key.
        warrant: what vouches for a worker's key, in hex; empty where the run's own key signs.
    """

    run_id: str
    public: PublicKey
    run: PublicKey
    warrant: str
    _private: Ed25519PrivateKey = field(repr=False, compare=False)

    def __reduce__(self) -> NoReturn:
        raise TypeError("what seals is never copied: its key belongs in no state and in no other process")

    def seal(self, kind: str, body: str) -> str:
        """The seal of a text.

        Args:
            kind: what it is: `signal`, `link`.
            body: the text.
        """
        signature = self.sign(_message(kind, body)).hex()
        return f"{ED25519}{signature}:{self.public.hex}:{self.warrant}" if self.warrant else f"{ED25519}{signature}"

    def sign(self, message: bytes) -> bytes:
        """The bare signature over bytes that say themselves what they are."""
        return self._private.sign(message)


def signer(run_id: str, key: bytes) -> Signer:
    """What signs with a key as it is kept: a run's, or a worker's with its warrant.

    Raises:
        SealError: it is neither.
    """
    if len(key) not in (KEY_BYTES, _WORKER_BYTES):
        raise SealError(
            f"The key of run {run_id} has {len(key)} bytes, which no key of a run or of a worker has.",
            do="Restore its file from a copy; a run whose key is lost can be read, but not resumed.",
        )
    private = _private(key[:KEY_BYTES])
    public = _public_of(private)
    if len(key) == KEY_BYTES:
        return Signer(run_id, public, public, "", private)
    run = PublicKey(key[KEY_BYTES : 2 * KEY_BYTES].hex())
    return Signer(run_id, public, run, key[2 * KEY_BYTES :].hex(), private)


def worker_key(run_id: str, key: bytes) -> bytes:
    """A fresh key for one worker of a run, with the run's word for it; a worker's key stays as it is.

    With it a process can seal for the run without ever having had the run's own key.

    Args:
        run_id: the run.
        key: the run's.
    """
    if len(key) != KEY_BYTES:
        return key
    vouching = signer(run_id, key)
    secret = secrets.token_bytes(KEY_BYTES)
    warrant = vouching.sign(_message("worker", f"{run_id}\n{_public_of(_private(secret)).hex}"))
    return secret + bytes.fromhex(vouching.public.hex) + warrant


def signer_of(seal: str, kind: str, body: str, run_id: str, run: PublicKey) -> PublicKey | None:
    """Whose seal it is: the run's own key, or a worker's that the run's key vouches for; None where it is nobody's."""
    signature, worker, warrant = _parts(seal)
    if not signature:
        return None
    signing = run
    if worker:
        if not _is_vouched_for(run, run_id, worker, warrant):
            return None
        signing = PublicKey(worker)
    return signing if signing.verifies(_message(kind, body), bytes.fromhex(signature)) else None


def _parts(seal: str) -> tuple[str, str, str]:
    """Signature, worker and warrant; all empty where it is no such seal."""
    if not seal.startswith(ED25519):
        return "", "", ""
    parts = seal.removeprefix(ED25519).split(":")
    sizes = (_SIGNATURE_BYTES, KEY_BYTES, _SIGNATURE_BYTES)
    if len(parts) not in (1, 3) or not all(_is_hex(*pair) for pair in zip(parts, sizes, strict=False)):
        return "", "", ""
    return (parts[0], parts[1], parts[2]) if len(parts) == 3 else (parts[0], "", "")


@lru_cache(maxsize=256)
def _is_vouched_for(run: PublicKey, run_id: str, worker: str, warrant: str) -> bool:
    return run.verifies(_message("worker", f"{run_id}\n{worker}"), bytes.fromhex(warrant))


def _message(kind: str, body: str) -> bytes:
    return f"groundwire {kind}\n{body}".encode()


def _is_hex(text: str, size: int) -> bool:
    return len(text) == 2 * size and set(text) <= set("0123456789abcdef")


# cryptography is imported where a key is first used: it takes 15 ms, and most commands seal and verify nothing


def _private(secret: bytes) -> Ed25519PrivateKey:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return Ed25519PrivateKey.from_private_bytes(secret)


def _public_of(private: Ed25519PrivateKey) -> PublicKey:
    return PublicKey(private.public_key().public_bytes_raw().hex())


@lru_cache(maxsize=256)
def _loaded(public: str) -> Ed25519PublicKey:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    return Ed25519PublicKey.from_public_bytes(bytes.fromhex(public))


def _from_pem(pem: str, where: str) -> str:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    try:
        key = load_pem_public_key(pem.encode())
    except ValueError as error:
        raise ConfigError(f"The public key in {where} can't be read.", do=_KEY_FORMS) from error
    if not isinstance(key, Ed25519PublicKey):
        raise ConfigError(f"The public key in {where} is not of Ed25519.", do=_KEY_FORMS)
    return key.public_bytes_raw().hex()
