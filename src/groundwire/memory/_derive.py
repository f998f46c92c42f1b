"""Keeps what memory concludes (`derived_tables`) in step with the ledger, in the transaction that writes to it.

Everything here follows from the ledger's rows in their order, so `rebuild` can make it all again.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from sqlalchemy import Connection

from groundwire.core._records import LessonMark, Mark, Record, ReflectionRecord, TrialEnd
from groundwire.core._signals import Origin, Verdict
from groundwire.memory._mapping import CODECS, names_of, strings_out
from groundwire.memory._policy import GIVEN_SCAN, SAME_TASK_SCAN, Known, Scope, State, backs, fingerprint, place_of
from groundwire.memory._sql import Sql
from groundwire.memory._text import unescape
from groundwire.memory._usefulness import FEWEST_TRIALS, PassRate, Standing, expected_rate

_KNOWN = Sql("SELECT 1 FROM lessons WHERE id = :id")
_SIGNAL = Sql("SELECT verdict, origin FROM signals WHERE id = :id")
_GIVEN = Sql(
    'SELECT l.id, l.root, r."text" FROM recalls c JOIN lessons l ON l.id = c.lesson_id'
    " JOIN reflections r ON r.seq = l.number"
    " WHERE c.episode_id = :episode_id AND c.seq < :seq AND l.namespace = :namespace ORDER BY c.seq DESC LIMIT :limit"
)
_OF_TASK = Sql(
    'SELECT l.id, l.root, r."text" FROM lessons l JOIN reflections r ON r.seq = l.number'
    " WHERE l.namespace = :namespace AND l.task_id = :task_id AND l.state = 'active' ORDER BY l.fresh DESC LIMIT :limit"
)
_TWIN = Sql(
    "SELECT id, root, state FROM lessons"
    " WHERE namespace = :namespace AND family = :family AND fingerprint = :fingerprint"
    " AND (family <> '' OR task_id = :task_id) AND id = root ORDER BY number LIMIT 1"
)
_LEARN = Sql(
    "INSERT INTO lessons (number, id, namespace, task_id, family, signature, state, root, fingerprint, fresh, trials,"
    " passed, expected) VALUES (:seq, :id, :namespace, :task_id, :family, :signature, :state, :root, :fingerprint,"
    " :seq, 0, 0, 0)"
)
_REFRESH = Sql("UPDATE lessons SET fresh = :seq WHERE id = :id")


def learn(session: Connection, namespace: str, reflections: Iterable[tuple[int, ReflectionRecord]]) -> None:
    """Makes lessons of reflections that were just written, under their numbers; known ones change nothing."""
    for seq, reflection in reflections:
        if not _KNOWN.rows(session, id=reflection.id):
            _learn(session, namespace, seq, reflection)


def _learn(session: Connection, namespace: str, seq: int, reflection: ReflectionRecord) -> None:
    mark = fingerprint(reflection.text)
    state, root = State.UNBACKED, reflection.id
    signal = _SIGNAL.rows(session, id=reflection.signal_id)
    if signal and backs(Verdict(signal[0][0]), Origin(signal[0][1])):
        given = _GIVEN.rows(session, episode_id=reflection.episode_id, seq=seq, namespace=namespace, limit=GIVEN_SCAN)
        own = _OF_TASK.rows(session, namespace=namespace, task_id=reflection.task_id, limit=SAME_TASK_SCAN)
        twin = _TWIN.rows(
            session, namespace=namespace, family=reflection.family, task_id=reflection.task_id, fingerprint=mark
        )
        state, root = place_of(
            reflection,
            given=_known(given),
            own=_known(own),
            twin=(unescape(twin[0][1]), State(twin[0][2])) if twin else None,
        )
        if state is State.REPEAT:
            _REFRESH.change(session, seq=seq, id=root)
    _LEARN.change(
        session,
        seq=seq,
        id=reflection.id,
        namespace=namespace,
        task_id=reflection.task_id,
        family=reflection.family,
        signature=reflection.signature,
        state=state.value,
        root=root,
        fingerprint=mark,
    )


def _known(rows: Sequence[Sequence[str]]) -> list[Known]:
    return [Known(unescape(row[0]), unescape(row[1]), unescape(row[2])) for row in rows]


_EPISODE = Sql("SELECT task_id, family, namespace FROM episodes WHERE id = :id")
_ROOTS = Sql(
    "SELECT DISTINCT l.root FROM recalls c JOIN lessons l ON l.id = c.lesson_id"
    " WHERE c.episode_id = :episode_id AND c.trial = :trial AND l.namespace = :namespace ORDER BY l.root"
)
_RATES = Sql(
    "SELECT scope, key, trials, passed FROM rates WHERE namespace = :namespace AND"
    " (scope = :task AND key = :task_id OR scope = :family AND key = :family_name OR scope = :all AND key = '')"
)
_COUNT = Sql(
    "INSERT INTO rates (namespace, scope, key, trials, passed) VALUES (:namespace, :scope, :key, 1, :passed)"
    " ON CONFLICT (namespace, scope, key) DO UPDATE SET trials = rates.trials + 1,"
    " passed = rates.passed + excluded.passed"
)
_CREDIT = Sql(
    "UPDATE lessons SET trials = trials + 1, passed = passed + :passed, expected = expected + :expected,"
    " fresh = CASE WHEN :passed = 1 THEN :seq ELSE fresh END WHERE id = :id"
)
_STANDING = Sql("SELECT trials, passed, expected, state FROM lessons WHERE id = :id")


def settle(session: Connection, ends: Iterable[tuple[int, TrialEnd]]) -> list[LessonMark]:
    """Links the outcomes of trials that were just written to what they were given and to the edits that they tried.

    Returns:
        Marks for lessons that now surely lower success, to be written and decided.
    """
    marks: list[LessonMark] = []
    for seq, end in ends:
        episode = _EPISODE.rows(session, id=end.episode_id)
        if episode and end.verdict is not Verdict.NONE:
            task_id, family, namespace = (unescape(value) for value in episode[0])
            marks += _settle(session, seq, end, namespace, task_id, family)
    return marks


def _settle(
    session: Connection, seq: int, end: TrialEnd, namespace: str, task_id: str, family: str
) -> list[LessonMark]:
    circles = [(Scope.TASK, task_id), (Scope.FAMILY, family), (Scope.ALL, "")]
    asked = {"task": Scope.TASK.value, "family": Scope.FAMILY.value, "all": Scope.ALL.value}
    found = _RATES.rows(session, namespace=namespace, task_id=task_id, family_name=family, **asked)
    rates = {(scope, unescape(key)): PassRate(*counts) for scope, key, *counts in found}
    expected = expected_rate(*(rates.get((scope.value, key), PassRate()) for scope, key in circles))
    passed = int(end.verdict is Verdict.PASS)
    marks: list[LessonMark] = []
    for (root,) in _ROOTS.rows(session, episode_id=end.episode_id, trial=end.trial, namespace=namespace):
        lesson_id = unescape(root)
        _CREDIT.change(session, id=lesson_id, passed=passed, expected=expected, seq=seq)
        marks += _judged(session, lesson_id)
    counts = [{"namespace": namespace, "scope": scope.value, "key": key, "passed": passed} for scope, key in circles]
    _COUNT.change_each(session, counts)
    _count_edits(session, end, namespace, family)
    # here, since no trial has ended when a process begins, and reading needs none of it
    from groundwire.memory._experience_rows import count_experience

    count_experience(session, seq, end, namespace=namespace, task_id=task_id, family=family)
    return marks


def _judged(session: Connection, lesson_id: str) -> list[LessonMark]:
    for trials, passed, expected, state in _STANDING.rows(session, id=lesson_id):
        if trials >= FEWEST_TRIALS and state == State.ACTIVE:
            standing = Standing(trials, passed, expected)
            if standing.lowers_success:
                return [LessonMark(lesson_id=lesson_id, mark=Mark.QUARANTINED, reason=str(standing), by="rule")]
    return []


_EDITS = Sql(
    "SELECT c.edits, max(CASE WHEN s.verdict = 'pass' THEN 1 ELSE 0 END) FROM signals s JOIN candidates c"
    " ON c.episode_id = s.episode_id AND c.digest = s.candidate_digest"
    " WHERE s.episode_id = :episode_id AND s.trial = :trial AND s.verdict IN ('pass', 'fail')"
    " AND s.origin IN ('tests', 'execution', 'environment', 'tool_error', 'verifier')"
    " GROUP BY c.edits, c.digest"
)
_BASELINE = Sql(
    "SELECT DISTINCT signature FROM signals WHERE episode_id = :episode_id AND trial = 0 AND signature <> ''"
    " ORDER BY signature"
)
_COUNT_EDIT = Sql(
    "INSERT INTO edit_rates (namespace, scope, key, edit, used, passed)"
    " VALUES (:namespace, :scope, :key, :edit, :used, :passed)"
    " ON CONFLICT (namespace, scope, key, edit) DO UPDATE SET used = edit_rates.used + excluded.used,"
    " passed = edit_rates.passed + excluded.passed"
)


def _count_edits(session: Connection, end: TrialEnd, namespace: str, family: str) -> None:
    used: dict[str, int] = {}
    paid: dict[str, int] = {}
    for edits, passed in _EDITS.rows(session, episode_id=end.episode_id, trial=end.trial):
        for edit in set(strings_out(edits)):
            used[edit] = used.get(edit, 0) + 1
            paid[edit] = paid.get(edit, 0) + passed
    if not used:
        return
    circles = [(Scope.ALL, "")]
    circles += [(Scope.FAMILY, family)] if family else []
    baselines = _BASELINE.rows(session, episode_id=end.episode_id)
    circles += [(Scope.SIGNATURE, unescape(signature)) for (signature,) in baselines]
    for scope, key in circles:
        for edit in sorted(used):
            _COUNT_EDIT.change(
                session, namespace=namespace, scope=scope.value, key=key, edit=edit, used=used[edit], passed=paid[edit]
            )


_QUARANTINE = Sql("UPDATE lessons SET state = 'quarantined' WHERE root = :root AND state = 'active'")
_RELEASE = Sql("UPDATE lessons SET state = 'active' WHERE root = :root AND state = 'quarantined'")
_FORGIVE = Sql("UPDATE lessons SET trials = 0, passed = 0, expected = 0 WHERE id = :root")
_PLACE = Sql("SELECT root, number FROM lessons WHERE id = :id AND namespace = :namespace")
_FORGET = (
    Sql("DELETE FROM lessons WHERE id = :id"),
    Sql("DELETE FROM reflections WHERE id = :id"),
    # last: one that is being written waits for the lesson's row (`vectors`), and is seen from here on
    Sql("DELETE FROM lesson_vectors WHERE number = :number"),
)


def decide(session: Connection, namespace: str, marks: Iterable[LessonMark]) -> None:
    """Carries out decisions about one namespace's lessons.

    A lesson's repeats share its fate, but for forgetting, which names each.
    """
    for mark in marks:
        found = _PLACE.rows(session, id=mark.lesson_id, namespace=namespace)
        if not found:
            continue
        root = unescape(found[0][0])
        if mark.mark is Mark.QUARANTINED:
            _QUARANTINE.change(session, root=root)
        elif mark.mark is Mark.RELEASED:
            _RELEASE.change(session, root=root)
            _FORGIVE.change(session, root=root)
        else:
            for statement in _FORGET:
                statement.change(session, id=mark.lesson_id, number=found[0][1])


_FORGOTTEN = Sql(
    "SELECT 1 FROM lesson_marks WHERE lesson_id = :id AND namespace = :namespace AND mark = 'forgotten' LIMIT 1"
)


def is_forgotten(session: Connection, namespace: str, reflection: ReflectionRecord) -> bool:
    """True where a person has decided that this text is gone: it does not come back."""
    return bool(_FORGOTTEN.rows(session, id=reflection.id, namespace=namespace))


_CLEAR = tuple(
    Sql(f"DELETE FROM {name}") for name in ("lessons", "rates", "edit_rates", "experience", "lesson_vectors")
)
_CHUNK = 500


def rebuild(session: Connection) -> None:
    """Makes everything again from the ledger, but for vectors, which recall fills in where it has an embedder.

    What the rule of usefulness had marked stays marked.
    """
    for statement in _CLEAR:
        statement.change(session)
    events = heapq.merge(*(_events(session, kind) for kind in (ReflectionRecord, TrialEnd, LessonMark)), key=_number)
    for number, namespace, record in events:
        match record:
            case ReflectionRecord():
                learn(session, namespace, [(number, record)])
            case TrialEnd():
                settle(session, [(number, record)])
            case LessonMark():
                decide(session, namespace, [record])
            case _:
                pass


def _number(event: tuple[int, str, Record]) -> int:
    return event[0]


def _events(session: Connection, kind: type[Any]) -> Iterator[tuple[int, str, Record]]:
    codec = CODECS[kind]
    namespace = "namespace" if kind is not TrialEnd else "''"
    query = Sql(
        f"SELECT seq, {namespace}, {names_of(codec)} FROM {codec.table} WHERE seq > :last ORDER BY seq LIMIT :limit"
    )
    last = -1
    while rows := query.rows(session, last=last, limit=_CHUNK):
        for row in rows:
            yield row[0], unescape(row[1]), codec.decode(row[2:])
        last = rows[-1][0]
