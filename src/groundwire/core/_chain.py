"""One chain an episode: each write to the ledger ends with a link over its records and over the link before.

A link's body is canonical JSON: the run, the episode, its number, the head that it follows (SHA-256 of the body
before), and of each record its kind, its key and the digest of what the store keeps of it. It is sealed as a signal is.
A run has links of its own under its own id: the first covers the run's record, and says under which public key the run
is sealed; later ones name workers, and the one of its end names the head of every episode.

`Heads` notes each head outside of the ledger, beside the run's key, after the ledger has the link. So the ledger may be
ahead of what is noted, by what a process had written when it was ended, and is never behind it, unless it was cut.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from groundwire.core._errors import StorageError
from groundwire.core._records import Covered, Link, OpenLink
from groundwire.core._signals import canonical
from groundwire.core._signing import PublicKey, Signer, signer_of

FORMAT = 1
"""Of a link's body; raised when a field changes its meaning."""


def head_of(link: Link) -> str:
    """What the next link names: the digest of this one's body."""
    return hashlib.sha256(link.body.encode()).hexdigest()


@dataclass(frozen=True)
class LinkBody:
    """What a link says.

    Args:
        run: the run's id.
        of: whose chain it is in: an episode's id, or the run's own.
        number: counted from 0.
        previous: head of the link before; empty for the first.
        records: what it covers, in the order of writing.
        told: what else it says: `key` (the run's public key), `worker` (one of a worker), `episodes` (number and head
            by id), `dropped` (kinds of records that a retention rule took away).
    """

    run: str
    of: str
    number: int
    previous: str
    records: Sequence[Covered]
    told: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def text(self) -> str:
        """The canonical JSON."""
        records = [list(covered) for covered in self.records]
        known = {"run": self.run, "of": self.of, "number": self.number, "previous": self.previous, "records": records}
        return canonical({**self.told, **known, "format": FORMAT})

    @classmethod
    def read(cls, text: str) -> Self | None:
        """Reads `text` back; None where it is nothing of the kind."""
        try:
            said: dict[str, Any] = json.loads(text)
            if said.pop("format") != FORMAT:
                return None
            records = [Covered(str(kind), str(key), str(digest)) for kind, key, digest in said.pop("records")]
            run, of, number, previous = (said.pop(name) for name in ("run", "of", "number", "previous"))
            return cls(str(run), str(of), int(number), str(previous), records, said)
        except (ValueError, KeyError, TypeError, AttributeError):
            return None


class Heads:
    """The newest head of each chain of one run, in a file outside of the ledger.

    One line a link: whose chain, number, head. The first line says which ledger it is about.

    Args:
        path: the file.
        ledger: where the ledger is, for people.
    """

    def __init__(self, path: Path, ledger: str = "") -> None:
        self._path = path
        self._ledger = ledger
        self._descriptor: int | None = None

    def note(self, of: str, number: int, head: str) -> None:
        """Notes a head; what is noted survives the end of the process, not the end of the machine.

        Raises:
            StorageError: it can't be written.
        """
        try:
            if self._descriptor is None:
                flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
                self._descriptor = os.open(self._path, flags, 0o600)
                if os.fstat(self._descriptor).st_size == 0:
                    os.write(self._descriptor, f"ledger {self._ledger}\n".encode())
            os.write(self._descriptor, f"{of} {number} {head}\n".encode())
        except OSError as error:
            raise StorageError(
                f"The head of the ledger can't be noted in {self._path}: {error.strerror}.",
                do="Make room or the folder writable, then go on with the run: the ledger itself has all of it.",
            ) from error

    def read(self) -> tuple[str, Mapping[str, tuple[int, str]]]:
        """Which ledger it is about, and by chain the number and head that were noted last; nothing where none are."""
        ledger, found = "", dict[str, tuple[int, str]]()
        try:
            lines = self._path.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return ledger, found
        for line in lines:
            if line.startswith("ledger "):
                ledger = line.removeprefix("ledger ")
                continue
            of, _, rest = line.partition(" ")
            number, _, head = rest.partition(" ")
            # a line that a full disk cut off says nothing
            if number.isdecimal() and len(head) == 64 and int(number) >= found.get(of, (0, ""))[0]:
                found[of] = (int(number), head)
        return ledger, found

    def close(self) -> None:
        """Keeps only the newest head of each chain, and closes the file."""
        if self._descriptor is None:
            return
        os.close(self._descriptor)
        self._descriptor = None
        ledger, found = self.read()
        with suppress(OSError):  # then it stays long
            self._rewrite(ledger, found)

    def moved_to(self, ledger: str) -> None:
        """Says from here on that they are about this ledger, whose rows are the same; where none are noted, nothing.

        Raises:
            StorageError: it can't be written.
        """
        _, found = self.read()
        if not found:
            return
        try:
            self._rewrite(ledger, found)
        except OSError as error:
            raise StorageError(
                f"Where the ledger is can't be noted in {self._path}: {error.strerror}.",
                do="Make room or the folder writable, then try again.",
            ) from error

    def _rewrite(self, ledger: str, found: Mapping[str, tuple[int, str]]) -> None:
        """The newest head of each chain alone."""
        beside = self._path.with_name(f".{self._path.name}.{secrets.token_hex(8)}")
        lines = [f"ledger {ledger}", *(f"{of} {number} {head}" for of, (number, head) in found.items())]
        beside.write_text("\n".join([*lines, ""]), encoding="utf-8")
        beside.chmod(0o600)
        beside.replace(self._path)

    def __del__(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)


class RecordChain:
    """The chain of one episode, or of a run, as one process goes on with it. One write at a time.

    Args:
        signer: seals the links.
        of: the episode's id, or the run's own.
        heads: where heads are noted outside; None: nowhere.
        number: of the next link.
        previous: head of the link before.
    """

    def __init__(self, signer: Signer, of: str, heads: Heads | None, *, number: int = 0, previous: str = "") -> None:
        self._signer = signer
        self._of = of
        self._heads = heads
        self._number = number
        self._previous = previous
        self._closed: Link | None = None

    @property
    def head(self) -> str:
        """Of the last link that the ledger has."""
        return self._previous

    def go_on_after(self, links: Sequence[Link]) -> None:
        """Goes on after the last of these links."""
        if links:
            last = max(links, key=lambda link: link.number)
            self._number, self._previous = last.number + 1, head_of(last)

    def open(self, **told: Any) -> OpenLink:
        """The link over whatever is written together with it; see `LinkBody` for what else it can tell."""
        return OpenLink(lambda covered: self._close(covered, told))

    def _close(self, covered: Sequence[Covered], told: Mapping[str, Any]) -> Link:
        run_id = self._signer.run_id
        body = LinkBody(run_id, self._of, self._number, self._previous, covered, told).text()
        seal = self._signer.seal("link", body)
        self._closed = Link(run_id=run_id, episode_id=self._of, number=self._number, body=body, seal=seal)
        return self._closed

    def kept(self) -> None:
        """Called once the ledger has the link that was opened last."""
        if self._closed is None:  # a store that keeps no links
            return
        link, self._closed = self._closed, None
        head = head_of(link)
        if self._heads is not None:
            self._heads.note(link.episode_id, link.number, head)
        self._number, self._previous = link.number + 1, head


class RunChain:
    """The links of a run and of its episodes, as one process writes them.

    Args:
        signer: seals them.
        heads: where heads are noted outside; None: nowhere.
        first: head of the run's first link, where the ledger has it.
    """

    def __init__(self, signer: Signer, heads: Heads | None, first: str = "") -> None:
        self._signer = signer
        self._heads = heads
        self._first = first

    def begin(self) -> RecordChain:
        """For the first link, which covers the run's record; opened with `key`, the run's public key."""
        return RecordChain(self._signer, self._signer.run_id, self._heads)

    def later(self) -> RecordChain:
        """For any later link of the run itself: each follows the first, since several processes may write one."""
        return RecordChain(self._signer, self._signer.run_id, self._heads, number=1, previous=self._first)

    def episode(self, episode_id: str) -> RecordChain:
        """For an episode's links."""
        return RecordChain(self._signer, episode_id, self._heads)

    @staticmethod
    def heads_of(last: Sequence[Link]) -> Mapping[str, Sequence[Any]]:
        """What the link of a run's end says of its episodes.

        Args:
            last: the last link of each.
        """
        return {link.episode_id: [link.number, head_of(link)] for link in last}

    def close(self) -> None:
        """The run is over in this process."""
        if self._heads is not None:
            self._heads.close()


def sealed_by(link: Link, run: PublicKey) -> PublicKey | None:
    """Whose seal a link carries; None where it is not as it was sealed."""
    return signer_of(link.seal, "link", link.body, link.run_id, run)
