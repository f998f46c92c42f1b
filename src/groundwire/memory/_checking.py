"""Whether a run's records are those that were written: held against the links over them, record by record.

Read are the rows themselves, in whatever namespace, so that one which can't be read back is still named. What is found
is said; nothing is raised for it, and nothing is mended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple, cast

from pydantic import ValidationError
from sqlalchemy import Connection

from groundwire.core._candidates import Candidate, Tree
from groundwire.core._chain import Heads, LinkBody, head_of, sealed_by
from groundwire.core._errors import GroundwireError, KeyMissing, SealError, StorageError
from groundwire.core._records import (
    MOST_AT_ONCE,
    Artifact,
    CandidateRecord,
    Covered,
    EpisodeEnd,
    EpisodeRecord,
    Link,
    ReflectionRecord,
    RunRecord,
    StopReason,
    batch_size,
)
from groundwire.core._seal import FileKeys, Keys, verify
from groundwire.core._signals import Isolation, Origin, Signal, Verdict
from groundwire.core._signing import ED25519, PublicKey, signer
from groundwire.memory._bodies import whole
from groundwire.memory._kept_rows import (
    ARTIFACT,
    ARTIFACTS,
    EPISODE_IDS,
    FORGOTTEN,
    LINKS_WITH,
    OWN_RECORD,
    RUN_ENDS,
    KeptRow,
    link_of,
    links_of,
    links_of_each,
    rows_of,
    rows_of_each,
)
from groundwire.memory._mapping import covered
from groundwire.memory._sql_store import SqlStore
from groundwire.memory._statements import body_in, one_of
from groundwire.memory._text import unescape

BORNE_BY = frozenset(Origin) - {Origin.RULE, Origin.MODEL_TESTS}
"""Origins of signals that may bear out the end of an episode that passed."""
PAGE = 500
"""Ids of episodes that are asked for at once."""
SOLVED = frozenset({StopReason.VERIFIED, StopReason.ALREADY_PASSING})


class Discrepancy(NamedTuple):
    """Something that is not as it was written."""

    of: str
    """The episode, or the run."""
    what: str


class Witness(NamedTuple):
    """A signal that bears out the end of an episode, without its evidence."""

    id: str
    origin: Origin
    verdict: Verdict
    issuer: str
    command: Sequence[str]
    isolation: Isolation
    sandbox: str | None
    """The kind that it was run in."""
    taken_from: str
    cases: int
    """How many the evidence tells of."""
    detail: str

    @classmethod
    def of(cls, signal: Signal) -> Witness:
        """What is said of a signal."""
        sandbox = signal.sandbox.kind if signal.sandbox else None
        same = (signal.id, signal.origin, signal.verdict, signal.issuer, signal.command, signal.isolation)
        return cls(*same, sandbox, signal.taken_from, len(signal.evidence.cases), signal.evidence.detail)


@dataclass
class EpisodeCheck:
    """What an episode came to, as far as its records are as they were written.

    Args:
        id: the episode.
        task_id: its task.
        end: how it ended; None where it has not, or where that can't be read.
        head: of its chain; empty where it has none.
        links: how many links its chain has.
        passes: the signals that bear out its end.
    """

    id: str
    task_id: str = ""
    end: EpisodeEnd | None = None
    head: str = ""
    links: int = 0
    passes: list[Witness] = field(default_factory=list[Witness])


@dataclass
class RunCheck:
    """What a look at a whole run came to.

    Args:
        run_id: the run.
        graph: its graph's name.
        findings: what is not as it was written.
        notes: what whoever reads it should know beside that.
        signals: how many signals are as they were sealed.
        broken: ids of those that are not.
        unknown: how many can't be verified, since the key is not here.
        records: how many records the links cover, and are there.
        key: the public key that the run is sealed under, as the ledger says; None for a run of version 0.1.
        is_authentic: True if that key, or the shared one of version 0.1, is known from outside the ledger; False if
            the one that is known is another; None if none is known, so that the ledger's own word was taken.
        has_heads: True if heads that were noted outside were compared.
        looked_at: how many episodes.
        episodes: one by one, where they are kept.
    """

    run_id: str
    graph: str = ""
    findings: list[Discrepancy] = field(default_factory=list[Discrepancy])
    notes: list[str] = field(default_factory=list[str])
    signals: int = 0
    broken: list[str] = field(default_factory=list[str])
    unknown: int = 0
    records: int = 0
    key: PublicKey | None = None
    is_authentic: bool | None = None
    has_heads: bool = False
    looked_at: int = 0
    episodes: list[EpisodeCheck] = field(default_factory=list[EpisodeCheck])

    @property
    def holds(self) -> bool:
        """True if nothing was found."""
        return not self.findings


async def check_run(
    store: SqlStore,
    run_id: str,
    *,
    keys: Keys | None = None,
    public: PublicKey | None = None,
    thorough: bool = True,
    keeps_episodes: bool = True,
    only: str = "",
    progress: Callable[[int], None] = lambda _episodes: None,
) -> RunCheck:
    """Holds a run's records against the links over them, and both against what is known outside of the ledger.

    Args:
        store: the ledger; its namespace has no part in it.
        run_id: the run.
        keys: where the run's key and the heads that were noted outside may be.
        public: the run's public key, from elsewhere.
        thorough: False: of each chain only the last seal is verified, which vouches for all below it.
        keeps_episodes: False: `RunCheck.episodes` stays empty, so that memory does not grow with them.
        only: id of the one episode that is looked at, beside the run's own records; empty: all of them.
        progress: told after every few episodes how many have been looked at.

    Raises:
        StorageError: the ledger can't be read.
        SealError: the run's key is there, and must not be used.
    """
    known = _Known.of(run_id, keys, public)
    run = await store.run_read(lambda session: _Run(session, run_id, known, thorough=thorough))
    kept: list[EpisodeCheck] = []
    page = [only] if only else await store.run_read(run.next_episodes)
    size = 1
    while page:
        few, page = page[:size], page[size:]
        looked_at, rows = await store.run_read(lambda session, ids=few: run.look_at(session, ids))
        size = batch_size(len(few), rows)
        if keeps_episodes:
            kept += looked_at
        progress(run.looked_at)
        if not page and not only:
            page = await store.run_read(run.next_episodes)
    return run.told(kept)


@dataclass(frozen=True)
class _Known:
    """What is known of a run outside of its ledger.

    Args:
        public: its public key.
        secret: its key itself, for seals of version 0.1.
        heads: number and head by chain.
    """

    public: PublicKey | None
    secret: bytes | None
    heads: Mapping[str, tuple[int, str]]

    @classmethod
    def of(cls, run_id: str, keys: Keys | None, public: PublicKey | None) -> _Known:
        secret: bytes | None = None
        if keys is not None:
            try:
                secret = keys.load(run_id)
            except KeyMissing:
                secret = None
        heads: Mapping[str, tuple[int, str]] = {}
        if isinstance(keys, FileKeys):
            heads = Heads(keys.heads_file(run_id)).read()[1]
        if public is None and secret is not None:
            public = signer(run_id, secret).run
        return cls(public, secret, heads)


class _Place(NamedTuple):
    """Where a record has to lie: behind the link before, ahead of the link that covers it."""

    number: int
    after: int
    before: int
    digest: str


class _Run:
    """One look at a run: its own records first, then each episode's."""

    def __init__(self, session: Connection, run_id: str, known: _Known, *, thorough: bool) -> None:
        self._run_id = run_id
        self._known = known
        self._thorough = thorough
        self._check = RunCheck(run_id, has_heads=bool(known.heads))
        links = links_of(session, run_id, run_id)
        first = next((body for _, link in links if (body := LinkBody.read(link.body)) and not body.number), None)
        self._is_chained = bool(links) or bool(known.heads)
        self._check.key = _key_in(first) or (known.public if self._is_chained else None)
        self._check.is_authentic = self._authentic()
        rows = [*rows_of(session, OWN_RECORD, id=run_id), *rows_of(session, RUN_ENDS, id=run_id)]
        self._namespace = next((row.namespace for row in rows if row.codec.type is RunRecord), None)
        if self._namespace is None:
            self._find(run_id, "The run's own record is gone.")
        else:
            self._check.graph = str(next(row for row in rows if row.codec.type is RunRecord).values[1])
        bodies: list[LinkBody] = []
        if self._is_chained:
            if first is None:
                self._find(run_id, "The run's first link is gone, which says under which key it is sealed.")
            bodies = self._check_chain(session, run_id, links, rows, is_run=True)
        self._workers = {str(body.told["worker"]) for body in bodies if "worker" in body.told}
        self._ended: dict[str, tuple[int, str]] = {
            str(of): (int(number), str(head))
            for body in bodies
            for of, (number, head) in cast("Mapping[str, Any]", body.told.get("episodes", {})).items()
        }
        self._after = ""
        self._owed = dict.fromkeys([*self._ended, *(of for of in known.heads if of != run_id)])
        """Episodes that must be there, and have not been looked at."""
        self._solved = False

    def next_episodes(self, session: Connection) -> Sequence[str]:
        """Ids of the next few to be looked at: those that are there, then those that must be; empty: no more."""
        there = [unescape(row[0]) for row in EPISODE_IDS.rows(session, id=self._run_id, after=self._after, most=PAGE)]
        if there:
            self._after = there[-1]
            for episode_id in there:
                self._owed.pop(episode_id, None)
            return there
        gone = list(islice(self._owed, PAGE))
        for episode_id in gone:
            del self._owed[episode_id]
        return gone

    @property
    def looked_at(self) -> int:
        """How many episodes so far."""
        return self._check.looked_at

    def told(self, episodes: list[EpisodeCheck]) -> RunCheck:
        """What it came to.

        Args:
            episodes: those that are kept.
        """
        check = self._check
        check.episodes = episodes
        if (
            self._solved
            and not check.signals
            and not check.unknown
            and not any("dropped" in note for note in check.notes)
        ):
            self._find(self._run_id, "The run says verified, and 0 of its signals verify.")
        return check

    def look_at(self, session: Connection, ids: Sequence[str]) -> tuple[list[EpisodeCheck], int]:
        """Looks at a few episodes; also, how many rows they have."""
        links, rows = links_of_each(session, self._run_id, ids), rows_of_each(session, ids)
        checks = [self._look_at_one(session, of, links[of], rows[of]) for of in ids]
        return checks, sum(map(len, rows.values()))

    def _look_at_one(
        self, session: Connection, episode_id: str, links: Sequence[tuple[int, Link]], rows: Sequence[KeptRow]
    ) -> EpisodeCheck:
        self._check.looked_at += 1
        check = EpisodeCheck(episode_id, links=len(links))
        if not links and not rows:
            self._find(episode_id, "The whole episode is gone.")
            return check
        dropped: set[str] = set()
        if self._is_chained:
            bodies = self._check_chain(session, episode_id, links, rows, is_run=False)
            dropped = _dropped(bodies)
            check.head = head_of(links[-1][1]) if links else ""
            self._check_bodies(session, episode_id, bodies, dropped)
        else:
            self._check_columns(rows)
            self._check_addresses(session, episode_id, rows)
        self._check_namespaces(episode_id, rows)
        self._check_meaning(check, rows, dropped)
        self._solved |= check.end is not None and check.end.verdict is Verdict.PASS
        return check

    def _find(self, of: str, what: str) -> None:
        self._check.findings.append(Discrepancy(of, what))

    def _authentic(self) -> bool | None:
        check, known = self._check, self._known
        if not self._is_chained:
            return True if known.secret is not None else None
        if known.public is None or check.key is None:
            return None
        if known.public == check.key:
            return True
        self._find(self._run_id, f"The ledger names another key ({check.key}) than the run was sealed with.")
        return False

    # --- links

    def _check_chain(
        self, session: Connection, of: str, links: Sequence[tuple[int, Link]], rows: Sequence[KeptRow], *, is_run: bool
    ) -> list[LinkBody]:
        """Each link follows another, and each record lies where a link says, as it says; gives the links' bodies."""
        places: dict[tuple[str, str], _Place] = {}
        unkeyed: dict[tuple[str, str], list[_Place]] = {}
        seqs: dict[str, tuple[int, int]] = {}
        bodies: list[LinkBody] = []
        # the seal of a link that no other one follows vouches for all that it follows
        followed = {body.previous for _, link in links if (body := LinkBody.read(link.body)) is not None}
        for seq, link in links:
            body = self._read(of, link, needs_seal=self._thorough or head_of(link) not in followed)
            if body is None:
                continue
            bodies.append(body)
            before = seqs.get(body.previous)
            follows = before is not None and before[0] == (0 if is_run else link.number - 1)
            if link.number and not follows:
                self._find(of, f"Link {link.number} does not follow the link before: one was taken away or replaced.")
            seqs[head_of(link)] = (link.number, seq)
            after = before[1] if before and link.number else 0
            for record in body.records:
                place = _Place(link.number, after, seq, record.digest)
                if record.key:
                    # what is said again changes nothing, so the first one counts
                    places.setdefault((record.kind, record.key), place)
                else:
                    unkeyed.setdefault((record.kind, record.digest), []).append(place)
        self._check_heads(of, seqs)
        self._check_rows(session, of, rows, places, unkeyed, _dropped(bodies))
        return bodies

    def _read(self, of: str, link: Link, *, needs_seal: bool) -> LinkBody | None:
        body = LinkBody.read(link.body)
        if body is None or (body.run, body.of, body.number) != (link.run_id, link.episode_id, link.number):
            self._find(of, f"Link {link.number} is not as it was sealed.")
            return None
        if needs_seal:
            key = self._check.key
            by = sealed_by(link, key) if key is not None else None
            if by is None:
                self._find(of, f"Link {link.number} is not as it was sealed.")
                return None
            if by != key and of != self._run_id and by.hex not in self._workers:
                self._find(of, f"Link {link.number} is sealed by a worker that no link of the run names.")
        return body

    def _check_heads(self, of: str, seqs: Mapping[str, tuple[int, int]]) -> None:
        outside, at_end = self._known.heads.get(of), self._ended.get(of) if of != self._run_id else None
        for known, by in ((outside, "noted outside of it"), (at_end, "sealed at the run's end")):
            if known is not None and seqs.get(known[1], (-1, 0))[0] != known[0]:
                self._find(
                    of,
                    f"The ledger lacks link {known[0]}, whose head was {by}: its end was cut off, or an older copy or"
                    " another database was put in its place.",
                )

    def _check_rows(
        self,
        session: Connection,
        of: str,
        rows: Sequence[KeptRow],
        places: dict[tuple[str, str], _Place],
        unkeyed: dict[tuple[str, str], list[_Place]],
        dropped: set[str],
    ) -> None:
        left = {known: place for known, place in places.items() if known[0] != Artifact.__name__}
        for row in rows:
            kind, key, digest = row.covered
            place: _Place | None
            if key:
                place = left.pop((kind, key), None)
            else:
                same = unkeyed.get((kind, digest), [])
                place = same.pop(0) if same else None
            name = _name(kind, key)
            if place is None:
                self._find(of, f"{name} is covered by no link: it was added or changed after the run.")
            elif place.digest != digest:
                self._find(of, f"{name} was changed after it was written (link {place.number}).")
            elif not place.after < row.seq < place.before:
                self._find(of, f"{name} is not at the place at which it was written (link {place.number}).")
            else:
                self._check.records += 1
        gone = [(kind, key, place) for (kind, key), place in left.items()]
        gone += [(kind, "", place) for (kind, _), many in unkeyed.items() for place in many]
        forgotten = 0
        for kind, key, place in gone:
            if kind == ReflectionRecord.__name__ and FORGOTTEN.rows(session, id=key):
                forgotten += 1
            elif kind not in dropped:
                self._find(of, f"{_name(kind, key)} was taken away, or changed (link {place.number}).")
        if forgotten:
            self._check.notes.append(f"{forgotten} reflections of episode {of} were forgotten on a person's word")
        if dropped:
            self._check.notes.append(f"of episode {of} were dropped by a retention rule: {', '.join(sorted(dropped))}")

    def _check_bodies(
        self, session: Connection, episode_id: str, bodies: Iterable[LinkBody], dropped: set[str]
    ) -> None:
        """Artifacts, which episodes share: one that another episode wrote first need not be the same byte for byte."""
        wanted: dict[str, str] = {}
        for body in bodies:
            for record in body.records:
                if record.kind == Artifact.__name__:
                    wanted.setdefault(record.key, record.digest)
        found = self._artifacts(session, list(wanted))
        for key, digest in wanted.items():
            there = found.get(key)
            if there is None:
                if Artifact.__name__ not in dropped:
                    self._find(episode_id, f"{_name('Artifact', key)} was taken away.")
            elif there.digest != digest and not self._is_of_another(session, there):
                self._find(episode_id, f"{_name('Artifact', key)} was changed after it was written.")
            else:
                self._check.records += 1

    def _artifacts(self, session: Connection, keys: Sequence[str]) -> Mapping[str, Covered]:
        """What a link would say of each artifact that is there."""
        asked = (keys[begin : begin + MOST_AT_ONCE] for begin in range(0, len(keys), MOST_AT_ONCE))
        rows = (row for few in asked for row in rows_of(session, ARTIFACTS, **one_of([*map(unescape, few)])))
        return {row.covered.key: row.covered for row in rows}

    def _is_of_another(self, session: Connection, artifact: Covered) -> bool:
        """True if some other link covers it as it is, in this run or in one that is sealed under a key of its own."""
        for row in LINKS_WITH.rows(session, digest=f"%{artifact.digest}%"):
            link = link_of(row)
            body = LinkBody.read(link.body)
            if body is None or artifact not in body.records:
                continue
            first = next((one for _, one in links_of(session, link.run_id, link.run_id) if one.number == 0), None)
            said = LinkBody.read(first.body) if first else None
            key = (
                self._check.key if link.run_id == self._run_id else PublicKey(str(said.told.get("key")) if said else "")
            )
            if key is not None and sealed_by(link, key) is not None:
                return True
        return False

    # --- what a ledger of version 0.1 can be held to: what is known by what it holds

    def _check_columns(self, rows: Sequence[KeptRow]) -> None:
        for row in rows:
            if row.codec.type is not Signal:
                continue
            try:
                encoded = row.codec.encode(row.codec.decode(row.values))
            except StorageError as damaged:
                self._find(str(row.values[2]), damaged.what)
                continue
            if covered(row.codec, encoded) != row.covered:
                self._find(str(row.values[2]), f"The columns of signal {row.values[0]} are not what it says.")

    def _check_addresses(self, session: Connection, episode_id: str, rows: Sequence[KeptRow]) -> None:
        for row in rows:
            if row.codec.type is CandidateRecord:
                candidate = row.values[row.codec.columns.index("digest")]
                for body in rows_of(session, ARTIFACT, id=str(row.values[row.codec.columns.index("artifact")])):
                    if _digest_of(body.values[2], Candidate, session) != candidate:
                        self._find(
                            episode_id, f"The body of candidate {candidate[:12]}… is not the one that was judged."
                        )
            elif row.codec.type is EpisodeRecord:
                base = row.values[row.codec.columns.index("base_digest")]
                for body in rows_of(session, ARTIFACT, id=f"tree-{base}"):
                    if _digest_of(body.values[2], Tree, session) != base:
                        self._find(episode_id, "The files that it began from are not those that it names.")

    # --- what the records say

    def _check_namespaces(self, episode_id: str, rows: Sequence[KeptRow]) -> None:
        other = [row for row in rows if row.namespace is not None and row.namespace != self._namespace]
        if other and self._namespace is not None:
            kinds = ", ".join(sorted({row.covered.kind for row in other}))
            self._find(episode_id, f"{kinds}: in another namespace than the run.")

    def _check_meaning(self, check: EpisodeCheck, rows: Sequence[KeptRow], dropped: set[str]) -> None:
        """Verifies the signals, and whether they bear out the end."""
        signals: list[Signal] = []
        ends: list[EpisodeEnd] = []
        base = ""
        for row in rows:
            if row.codec.type not in (Signal, EpisodeEnd, EpisodeRecord):
                continue
            try:
                record = row.codec.decode(row.values)
            except (StorageError, ValidationError):
                self._find(check.id, f"{_name(*row.covered[:2])} can't be read back.")
                continue
            if isinstance(record, EpisodeEnd):
                ends.append(record)
            elif isinstance(record, EpisodeRecord):
                check.task_id, base = record.task_id, Candidate(record.base_digest, {}).digest
            elif isinstance(record, Signal) and self._is_sealed(check.id, record):
                signals.append(record)
        if not ends:
            return
        end = check.end = ends[-1]
        if (end.verdict is Verdict.PASS) != (end.stop_reason in SOLVED):
            self._find(check.id, f"It ended with {end.verdict} and {end.stop_reason}, which do not go together.")
        if end.verdict is not Verdict.PASS or Signal.__name__ in dropped:
            return
        passed = end.best_candidate or base
        check.passes = [
            Witness.of(signal)
            for signal in signals
            if signal.verdict is Verdict.PASS and signal.candidate_digest == passed and signal.origin in BORNE_BY
        ]
        if not check.passes:
            self._find(check.id, f"It says {end.stop_reason}, and no signal that verifies bears that out.")

    def _is_sealed(self, episode_id: str, signal: Signal) -> bool:
        check, known = self._check, self._known
        if (signal.run_id, signal.episode_id) != (self._run_id, episode_id):
            check.broken.append(signal.id)
            self._find(episode_id, f"Signal {signal.id} belongs to another episode.")
            return False
        is_new = signal.seal.startswith(ED25519)
        if is_new and not self._is_chained:
            self._find(episode_id, f"Signal {signal.id} was sealed in a chain, and the run has none any more.")
        key: PublicKey | bytes | None = check.key if is_new and check.key else known.secret
        if self._is_chained and not self._thorough:
            check.signals += 1  # the chain has vouched for it, or has said that it does not
            return True
        if key is None:
            check.unknown += 1
            return True
        try:
            verify(signal, key)
        except SealError as error:
            check.broken.append(signal.id)
            self._find(episode_id, error.what)
            return False
        check.signals += 1
        return True


def _dropped(bodies: Iterable[LinkBody]) -> set[str]:
    return {str(kind) for body in bodies for kind in cast("Sequence[object]", body.told.get("dropped", ()))}


def _name(kind: str, key: str) -> str:
    return f"{kind} {key[:60]}".strip()


def _digest_of(body: bytes, kind: type[Candidate] | type[Tree], session: Connection) -> str:
    try:
        return kind.from_bytes(whole(bytes(body), lambda key: body_in(session, key))).digest
    except GroundwireError:
        return ""


def _key_in(*bodies: LinkBody | None) -> PublicKey | None:
    """The key that the first link of a run names."""
    said = next((str(body.told.get("key", "")) for body in bodies if body is not None and body.number == 0), "")
    return PublicKey(said) if len(said) == 64 and set(said) <= set("0123456789abcdef") else None
