"""Experience in a database: counted in the transaction that ends a trial, read in one query for each circle."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import ValidationError
from sqlalchemy import Connection

from groundwire.core._candidates import Tree
from groundwire.core._environments import start_in
from groundwire.core._errors import TaskError
from groundwire.core._experience import MOST, Experience, Followed, Known, known
from groundwire.core._records import TrialEnd, tree_key
from groundwire.core._scene import Scene, Status
from groundwire.core._signals import Signal, Verdict
from groundwire.memory._bodies import whole
from groundwire.memory._experience import steps_of
from groundwire.memory._policy import Scope
from groundwire.memory._sql import Sql
from groundwire.memory._statements import body_in
from groundwire.memory._text import unescape

_SAID = Sql(
    "SELECT body FROM signals WHERE episode_id = :episode_id AND trial = :trial AND origin = 'environment' ORDER BY seq"
)
_BASE = Sql("SELECT base_digest FROM episodes WHERE id = :id")
_COUNT = Sql(
    "INSERT INTO experience (namespace, scope, key, place, move, led_to, action, status, choices, times, trials, won,"
    " why, fresh) VALUES (:namespace, :scope, :key, :place, :move, :led_to, :action, :status, :choices, :times,"
    " :trials, :won, :why, :fresh) ON CONFLICT (namespace, scope, key, place, move, led_to) DO UPDATE SET"
    " times = experience.times + excluded.times, trials = experience.trials + excluded.trials,"
    " won = experience.won + excluded.won, fresh = excluded.fresh,"
    " why = CASE WHEN experience.why = '' THEN excluded.why ELSE experience.why END"
)
_GIVEN = Sql(
    "SELECT place, action, led_to, status, choices, times, trials, won, why FROM experience"
    " WHERE namespace = :namespace AND scope = :scope AND key = :key"
    " ORDER BY fresh DESC, place DESC, move DESC, led_to DESC LIMIT :most"
)


def count_experience(
    session: Connection, seq: int, end: TrialEnd, *, namespace: str, task_id: str, family: str
) -> None:
    """Adds what a trial that has just ended saw of its world; nothing where it was in none.

    Rows are written in the order of their keys, and after the rates, whose rows every trial of a namespace locks: two
    processes never wait for each other.
    """
    said = _signals(session, end)
    if not said:
        return

    def body_of(digest: str) -> bytes | None:
        kept = body_in(session, digest)
        return None if kept is None else whole(kept, lambda key: body_in(session, key))

    steps = steps_of(_start(session, end.episode_id), said, body_of, won=end.verdict is Verdict.PASS)
    circles = [(Scope.TASK, task_id), *([(Scope.FAMILY, family)] if family else [])]
    rows = [
        {
            "namespace": namespace,
            "scope": scope.value,
            "key": key,
            "place": step.way.place,
            "move": step.way.move,
            "led_to": step.way.to,
            "action": step.action,
            "status": step.followed.status.value,
            "choices": step.followed.choices,
            "times": step.followed.times,
            "trials": step.followed.trials,
            "won": step.followed.won,
            "why": step.followed.why,
            "fresh": seq,
        }
        for scope, key in circles
        for step in steps
    ]
    _COUNT.change_each(session, rows)


def _signals(session: Connection, end: TrialEnd) -> Sequence[Signal]:
    signals: list[Signal] = []
    for (body,) in _SAID.rows(session, episode_id=end.episode_id, trial=end.trial):
        try:
            signals.append(Signal.from_json(body))
        except ValidationError:  # a damaged row teaches nothing, and must not keep others from being written
            continue
    return signals


def _start(session: Connection, episode_id: str) -> Scene | None:
    for (digest,) in _BASE.rows(session, id=episode_id):
        body = body_in(session, tree_key(digest))
        if body is not None:
            try:
                start = start_in(Tree.from_bytes(body))
            except TaskError:
                return None
            return start.scene if start else None
    return None


def experience(session: Connection, namespace: str, family: str, task_id: str, *, most: int = MOST) -> Experience:
    """What an actor is given; of each circle the `most` rows that were seen last."""

    def circle(scope: Scope, key: str) -> Known:
        found = _GIVEN.rows(session, namespace=namespace, scope=scope.value, key=key, most=most)
        return known((place, unescape(action), _followed(*row)) for place, action, *row in found)

    return Experience(task=circle(Scope.TASK, task_id), family=circle(Scope.FAMILY, family) if family else {})


def _followed(led_to: str, status: str, choices: int, times: int, trials: int, won: int, why: str) -> Followed:
    place = "" if led_to == status else led_to
    return Followed(place, Status(status), choices, times, trials, won, unescape(why))
