"""What a run came to as a signed statement, for whoever has neither its ledger nor its machine.

An in-toto Statement v1 in a DSSE envelope (https://github.com/in-toto/attestation, https://github.com/secure-systems-lab/dsse),
signed with the run's Ed25519 key: any tool that knows these forms checks it.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from groundwire.core._errors import ConfigError, SealError
from groundwire.core._signals import canonical
from groundwire.core._signing import ED25519, PublicKey, Signer

PAYLOAD = "application/vnd.in-toto+json"
STATEMENT = "https://in-toto.io/Statement/v1"
PREDICATE = "urn:groundwire:verdict:v1"


@dataclass(frozen=True)
class Subject:
    """Something that a statement is about, by what it holds.

    Args:
        name: what it is called.
        sha256: its digest, in hex.
    """

    name: str
    sha256: str


@dataclass(frozen=True)
class Statement:
    """What is said of some subjects.

    Args:
        subjects: what it is about.
        predicate: what is said; plain data.
        key: whose signature it carries, or is to.
    """

    subjects: Sequence[Subject]
    predicate: Mapping[str, Any]
    key: PublicKey

    def signed(self, signer: Signer) -> str:
        """The envelope, as JSON.

        Raises:
            SealError: only a worker's key is here, and a statement is the run's.
        """
        if signer.warrant:
            raise SealError(
                f"Only a worker's key of run {signer.run_id} is here, and a statement is signed with the run's own.",
                do="Make the statement where the run was begun.",
            )
        body = {
            "_type": STATEMENT,
            "subject": [{"name": one.name, "digest": {"sha256": one.sha256}} for one in self.subjects],
            "predicateType": PREDICATE,
            "predicate": dict(self.predicate),
        }
        payload = canonical(body).encode()
        signature = {"keyid": str(signer.public), "sig": _encoded(signer.sign(_to_sign(payload)))}
        envelope = {"payloadType": PAYLOAD, "payload": _encoded(payload), "signatures": [signature]}
        return json.dumps(envelope, indent=2) + "\n"

    @classmethod
    def read(cls, text: str, public: PublicKey | None = None) -> Self:
        """Reads an envelope, and checks its signature.

        Args:
            text: the envelope.
            public: the key that must have signed it; None: the one that it names itself.

        Raises:
            ConfigError: it is no such envelope, or says nothing of groundwire's.
            SealError: its signature does not match what it says.
        """
        try:
            envelope: dict[str, Any] = json.loads(text)
            payload = base64.b64decode(envelope["payload"], validate=True)
            signatures: list[tuple[str, bytes]] = [
                (str(one["keyid"]), base64.b64decode(one["sig"], validate=True)) for one in envelope["signatures"]
            ]
            said: dict[str, Any] = json.loads(payload)
            subjects = [Subject(str(one["name"]), str(one["digest"]["sha256"])) for one in said["subject"]]
            kinds = (envelope["payloadType"], said["_type"], said["predicateType"])
            predicate: dict[str, Any] = said["predicate"]
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ConfigError("This is no signed statement.", do="Name a file that --statement wrote.") from error
        if kinds != (PAYLOAD, STATEMENT, PREDICATE):
            raise ConfigError(
                f"This is a statement of another kind: {', '.join(map(str, kinds))}.",
                do="Name a file that --statement wrote.",
            )
        named = [key for name, _ in signatures if (key := _key(name)) is not None]
        for key in [public] if public is not None else named:
            if any(key.verifies(_to_sign(payload), signature) for _, signature in signatures):
                return cls(subjects, predicate, key)
        by = f"by {public}" if public is not None else "as it stands"
        raise SealError(f"The statement was not signed {by}.", do="It was changed, or another key signed it.")


def _to_sign(payload: bytes) -> bytes:
    """DSSE's pre-authentication encoding."""
    return b"DSSEv1 %d %s %d %s" % (len(PAYLOAD), PAYLOAD.encode(), len(payload), payload)


def _encoded(content: bytes) -> str:
    return base64.b64encode(content).decode()


def _key(name: str) -> PublicKey | None:
    said = name.removeprefix(ED25519)
    return PublicKey(said) if len(said) == 64 else None
