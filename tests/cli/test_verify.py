"""Whatever is changed in a finished ledger, `groundwire verify` says it, and so do the commands that read it."""

from __future__ import annotations

import asyncio
import base64
import json
import random
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from cli import Ran, groundwire
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from forging import Finished, change, forge, on_server, tables_with
from sqlalchemy import Connection, text

from groundwire.core._seal import FileKeys
from groundwire.memory import SqlStore
from groundwire.memory._checking import check_run
from groundwire.memory._tables import TABLES

Edit = Callable[[Connection, Finished], object]


def run_sql(statement: str, **more: Any) -> Edit:
    """An edit in one statement; `:run`, `:solved`, `:failed` and `:other` are there."""

    def edit(connection: Connection, user: Finished) -> None:
        values = {"run": user.run, "solved": user.solved, "failed": user.failed, "other": user.other, **more}
        named = {name: value for name, value in values.items() if f":{name}" in statement}
        assert connection.execute(text(statement), named).rowcount, "nothing was changed"

    return edit


def cut_tail(connection: Connection, user: Finished) -> None:
    """The last write of an episode, as if it had never been."""
    query = text(
        "SELECT max(seq) FROM links WHERE episode_id = :of AND number < (SELECT max(number) FROM links"
        " WHERE episode_id = :of)"
    )
    last = connection.execute(query, {"of": user.failed}).scalar()
    for table in tables_with("episode_id"):
        deletion = text(f"DELETE FROM {table} WHERE episode_id = :of AND seq > :last")
        connection.execute(deletion, {"of": user.failed, "last": last})


def cut_run(connection: Connection, user: Finished) -> None:
    """The same, and the end of the run."""
    cut_tail(connection, user)
    run_sql("DELETE FROM run_ends WHERE run_id = :run")(connection, user)
    run_sql("DELETE FROM links WHERE episode_id = :run AND number = 1")(connection, user)


def take_episode(connection: Connection, user: Finished) -> None:
    for table in tables_with("episode_id"):
        connection.execute(text(f"DELETE FROM {table} WHERE episode_id = :of"), {"of": user.failed})
    run_sql("DELETE FROM episodes WHERE id = :failed")(connection, user)


def take_run(connection: Connection, user: Finished) -> None:
    """All of it: what an older copy of the ledger looks like."""
    for of in (user.solved, user.failed):
        for table in tables_with("episode_id"):
            connection.execute(text(f"DELETE FROM {table} WHERE episode_id = :of"), {"of": of})
    for table in tables_with("run_id"):
        connection.execute(text(f"DELETE FROM {table} WHERE run_id = :of"), {"of": user.run})
    run_sql("DELETE FROM runs WHERE id = :run")(connection, user)


def swap_signals(connection: Connection, user: Finished) -> None:
    for one, other in ((user.solved, "aside"), (user.failed, user.solved), ("aside", user.failed)):
        statement = text("UPDATE signals SET episode_id = :other WHERE episode_id = :one")
        assert connection.execute(statement, {"one": one, "other": other}).rowcount


def copy_signal(connection: Connection, user: Finished) -> None:
    """A PASS of another run, under the failed episode."""
    columns = [c.name for c in TABLES["signals"].columns if c.name not in ("seq", "id", "run_id", "episode_id")]
    named = ", ".join(columns)
    run_sql(
        f"INSERT INTO signals (seq, id, run_id, episode_id, {named}) SELECT (SELECT max(seq) + 1 FROM links), 'forged',"
        f" :run, :failed, {named} FROM signals WHERE run_id = :other AND verdict = 'pass' ORDER BY seq LIMIT 1"
    )(connection, user)


ENDED = "UPDATE episode_ends SET verdict = 'pass', stop_reason = 'verified' WHERE episode_id = :failed"
A_BODY = "SELECT artifact FROM candidates WHERE episode_id = :solved ORDER BY seq LIMIT 1"
ANOTHER = "SELECT artifact FROM candidates WHERE episode_id = :failed ORDER BY seq LIMIT 1"
SWAPPED = (
    "UPDATE {table} SET seq = -seq WHERE seq IN (SELECT max(seq) FROM {table} WHERE episode_id = :solved"
    " UNION SELECT min(seq) FROM {table} WHERE episode_id = :solved)"
)
EDITS: dict[str, Edit] = {
    "an end is made verified": run_sql(ENDED),
    "the last records are deleted": cut_tail,
    "the tail is cut, with the end of the run": cut_run,
    "an episode is taken away": take_episode,
    "the run is taken away": take_run,
    "a signal is deleted": run_sql(
        "DELETE FROM signals WHERE seq = (SELECT min(seq) FROM signals WHERE episode_id = :failed)"
    ),
    "a gate's answer is deleted": run_sql("DELETE FROM admissions WHERE episode_id = :failed"),
    "a link is deleted": run_sql("DELETE FROM links WHERE episode_id = :solved AND number = 2"),
    "all links are deleted": run_sql("DELETE FROM links WHERE run_id = :run"),
    "two episodes' signals are swapped": swap_signals,
    "a signal of another run is copied": copy_signal,
    "a verdict is changed in a signal": run_sql(
        'UPDATE signals SET body = replace(body, \'"verdict":"fail"\', \'"verdict":"pass"\'), verdict = \'pass\''
        " WHERE episode_id = :failed"
    ),
    "a candidate's note is replaced": run_sql("UPDATE candidates SET note = 'mine' WHERE episode_id = :solved"),
    "a candidate's body is replaced": run_sql(
        f"UPDATE artifacts SET body = (SELECT body FROM artifacts WHERE digest = ({ANOTHER})) WHERE digest = ({A_BODY})"
    ),
    "a candidate's body is deleted": run_sql(f"DELETE FROM artifacts WHERE digest = ({A_BODY})"),
    "the run's settings are changed": run_sql(
        "UPDATE runs SET config = replace(config, 'code_repair', 'other') WHERE id = :run"
    ),
    "the task is changed": run_sql("UPDATE episodes SET task = replace(task, 'tests', 'test') WHERE id = :solved"),
    "trials are numbered anew": run_sql("UPDATE trial_ends SET trial = trial + 100 WHERE episode_id = :failed"),
    "records change places": run_sql(SWAPPED.format(table="signals")),
    "a record is added": run_sql(
        "INSERT INTO trial_ends (seq, episode_id, trial, verdict, signal_id, created_at)"
        " SELECT max(seq) + 1, :failed, 9, 'pass', '', '' FROM links"
    ),
    "the run is hidden in a namespace": run_sql("UPDATE runs SET namespace = 'away' WHERE id = :run"),
    "the end of the run is deleted": run_sql("DELETE FROM run_ends WHERE run_id = :run"),
    "all is sealed anew under another key": lambda connection, user: forge(connection, user, b"f" * 32),
}
UNSEEN_BY_A_STRANGER = {
    "the tail is cut, with the end of the run",
    "the run is taken away",
    "all is sealed anew under another key",
}
"""What only shows against the key or the heads that lie outside of the ledger."""


def verify(url: str, user: Finished, *arguments: str, env: dict[str, str] | None = None) -> Ran:
    return groundwire("verify", *arguments, "--db", url, env=env or user.env)


def checks(ran: Ran) -> list[dict[str, Any]]:
    """What `--json` gave of each run."""
    return json.loads(ran.out)


def test_what_was_left_alone_is_as_it_was_written(url: str, user: Finished) -> None:
    ran = verify(url, user)
    assert ran.code == 0, ran.out + ran.err
    assert "signals verified: as they were sealed" in ran.out
    assert "heads as they were noted outside of the ledger" in ran.out
    stranger = verify(url, user, user.run, env=user.stranger)
    assert stranger.code == 3, stranger.out
    assert "on the ledger's own word" in stranger.out


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_is_said(edit: str, user: Finished) -> None:
    _try(edit, f"sqlite:///{user.file}", user)


@pytest.mark.postgres
@pytest.mark.parametrize(
    "edit",
    [
        "an end is made verified",
        "a signal of another run is copied",
        "a candidate's body is replaced",
        "the run is taken away",
    ],
)
def test_an_edit_on_a_server_is_said(edit: str, user: Finished, postgres_url: str) -> None:
    _try(edit, on_server(postgres_url, user), user)


def _try(edit: str, url: str, user: Finished) -> None:
    change(url, lambda connection: EDITS[edit](connection, user))
    ran = verify(url, user, user.run)
    assert ran.code == 1, ran.out + ran.err
    assert "NOT as it was written" in ran.out
    stranger = verify(url, user, user.run, env=user.stranger)
    assert (stranger.code != 1) == (edit in UNSEEN_BY_A_STRANGER), stranger.out


def test_a_run_that_an_older_copy_lacks_is_said_though_nobody_named_it(user: Finished) -> None:
    url = f"sqlite:///{user.file}"
    change(url, lambda connection: take_run(connection, user))
    ran = verify(url, user)
    assert (ran.code, user.run in ran.out) == (1, True), ran.out


@pytest.mark.parametrize("edit", ["an end is made verified", "a candidate's note is replaced", "a link is deleted"])
def test_commands_that_read_a_changed_run_refuse_it(edit: str, user: Finished, tmp_path: Path) -> None:
    change(f"sqlite:///{user.file}", lambda connection: EDITS[edit](connection, user))
    out = tmp_path / "rows.jsonl"
    shown = groundwire("show", user.run, env=user.env)
    assert (shown.code, "NOT as it was written" in shown.out) == (1, True)
    exporting = ("export", user.run, "--format", "trajectory", "--out", out, "--allow-unverified", "--allow-truncated")
    for command in (("report", user.run), ("replay", user.other, "--verify"), exporting):
        refused = groundwire(*command, env=user.env)
        if command[0] == "replay":
            assert refused.code == 0, "another run of the same ledger is as it was written"
            continue
        assert refused.code == 1, refused.out + refused.err
        assert "is not as it was written" in refused.err
        assert f"groundwire verify {user.run}" in refused.err
        looked = groundwire(*command, "--unverified", env=user.env)
        assert looked.code == 1
        assert "NOT as it was written" in looked.err
    assert out.exists()


def test_replay_refuses_a_changed_run(user: Finished) -> None:
    change(
        f"sqlite:///{user.file}",
        lambda connection: run_sql("UPDATE run_ends SET created_at = '' WHERE run_id = :other")(connection, user),
    )
    refused = groundwire("replay", user.other, env=user.env)
    assert (refused.code, "is not as it was written" in refused.err) == (1, True)
    looked = groundwire("replay", user.other, "--unverified", env=user.env)
    assert (looked.code, "records the same" in looked.out) == (1, True)


# Every column of every table that holds what was recorded

NOT_COVERED = {("artifacts", "seq")}
"""Episodes share artifacts, so their place among other records says nothing. Not covered either are decisions about
lessons (`lesson_marks`), which belong to no run, and what memory concludes, which is made again from the ledger."""


def _changed(value: Any, column: str, choose: random.Random) -> Any:
    if column == "seq":
        return -int(value)
    if isinstance(value, bytes):
        at = choose.randrange(len(value)) if value else 0
        return value[:at] + bytes([value[at] ^ 1]) + value[at + 1 :] if value else b"x"
    if isinstance(value, int | float):
        return value + 1000
    if value is None:
        return 7
    at = choose.randrange(len(value) + 1)
    return f"{value[:at]}0{value[at:]}"


def edits_of(ledger: sqlite3.Connection, user: Finished, choose: random.Random) -> Iterator[tuple[str, str, int, Any]]:
    """For each column of each table one row of the run, and another value for it."""
    episodes = (user.solved, user.failed)
    for name, table in TABLES.items():
        columns = list(table.columns.keys())
        if name == "lesson_marks":
            continue
        if "episode_id" in columns:
            where, values = "episode_id IN (?, ?, ?)", (*episodes, user.run)
        elif name == "artifacts":
            covered = "SELECT artifact FROM candidates WHERE episode_id IN (?, ?)"
            where, values = f"digest IN ({covered})", episodes
        else:
            where, values = f"{'run_id' if 'run_id' in columns else 'id'} = ?", (user.run,)
        rows = ledger.execute(f"SELECT * FROM {name} WHERE {where}", values).fetchall()
        for number, column in enumerate(columns):
            if rows and (name, column) not in NOT_COVERED:
                row = choose.choice(rows)
                yield name, column, row[0], _changed(row[number], column, choose)


@pytest.mark.parametrize("seed", range(3))
def test_any_one_field_that_is_changed_is_noticed(seed: int, user: Finished) -> None:
    choose = random.Random(seed)
    with closing(sqlite3.connect(user.file)) as ledger:
        edits = list(edits_of(ledger, user, choose))
        assert {name for name, *_ in edits} >= {"runs", "run_ends", "episodes", "episode_ends", "signals", "links"}
        unnoticed = [
            (table, column, seq, value)
            for table, column, seq, value in edits
            if not _is_noticed(ledger, user, table, column, seq, value)
        ]
    assert len(edits) > 100
    assert unnoticed == []


def _is_noticed(ledger: sqlite3.Connection, user: Finished, table: str, column: str, seq: int, value: Any) -> bool:
    query = f'SELECT "{column}" FROM {table} WHERE seq = ?'
    (before,) = ledger.execute(query, (seq,)).fetchone()
    with ledger:
        ledger.execute(f'UPDATE {table} SET "{column}" = ? WHERE seq = ?', (value, seq))
    found = asyncio.run(_check(user))
    with ledger:
        now = value if column == "seq" else seq
        ledger.execute(f'UPDATE {table} SET "{column}" = ? WHERE seq = ?', (before, now))
    return not found


async def _check(user: Finished) -> bool:
    store = SqlStore(f"sqlite:///{user.file}")
    check = await check_run(store, user.run, keys=FileKeys(user.keys))
    await store.aclose()
    return check.holds


# Keys, copies and statements


def test_a_file_is_verified_and_not_touched(user: Finished, tmp_path: Path) -> None:
    before = user.file.read_bytes()
    ran = groundwire("verify", user.file, env=user.env)
    assert ran.code == 0, ran.out
    assert user.file.read_bytes() == before
    assert not (user.file.parent / "groundwire.db-wal").exists()
    key = checks(groundwire("verify", user.file, "--json", env=user.env))[0]["key"]
    elsewhere = groundwire("verify", user.file, "--key", key, "--json", env=user.stranger)
    held = {check["run_id"]: check["authentic"] for check in checks(elsewhere)}
    assert sorted(held.values()) == [False, True], "each run has a key of its own"
    (tmp_path / "text").write_text("neither a ledger nor a statement")
    assert groundwire("verify", tmp_path / "text", env=user.env).code == 2


def test_a_verdict_is_handed_out_and_checked_anywhere(user: Finished, tmp_path: Path) -> None:
    statement = tmp_path / "statement.json"
    made = groundwire("verify", user.other, "--statement", statement, "--json", env=user.env)
    assert made.code == 0, made.err
    envelope = json.loads(statement.read_text())
    payload = base64.b64decode(envelope["payload"])
    kind = envelope["payloadType"].encode()
    key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(checks(made)[0]["key"].removeprefix("ed25519:")))
    # as any other tool would, by DSSE's own words
    signed = b" ".join([b"DSSEv1", b"%d" % len(kind), kind, b"%d" % len(payload), payload])
    key.verify(base64.b64decode(envelope["signatures"][0]["sig"]), signed)
    said = json.loads(payload)
    assert said["_type"] == "https://in-toto.io/Statement/v1"
    assert said["predicate"]["episodes"][0]["end"]["stop_reason"] == "verified"
    assert said["predicate"]["episodes"][0]["borne_out_by"]
    assert {one["name"] for one in said["subject"]} >= {"a_buggy/fix.patch"}
    assert groundwire("verify", statement, env=user.env).code == 0
    assert groundwire("verify", statement, "--key", checks(made)[0]["key"], env=user.stranger).code == 0
    assert groundwire("verify", statement, env=user.stranger).code == 3
    assert groundwire("verify", statement, "--key", "ab" * 32, env=user.stranger).code == 1
    forged = payload.replace(b'"stop_reason":"verified"', b'"stop_reason":"Verified"')
    statement.write_text(json.dumps({**envelope, "payload": base64.b64encode(forged).decode()}))
    assert forged != payload
    assert groundwire("verify", statement, env=user.env).code == 1


def test_no_statement_is_made_of_a_changed_run(user: Finished, tmp_path: Path) -> None:
    change(f"sqlite:///{user.file}", lambda connection: EDITS["an end is made verified"](connection, user))
    refused = groundwire("verify", user.run, "--statement", tmp_path / "no.json", env=user.env)
    assert refused.code == 1
    assert not (tmp_path / "no.json").exists()


def test_a_run_that_nobody_knows_is_not_found(user: Finished) -> None:
    assert groundwire("verify", "ffff", env=user.env).code == 2


def test_what_a_retention_rule_drops_is_sealed_and_said(user: Finished) -> None:
    dropped = groundwire("memory", "vacuum", "--older-than", "0", "--yes", env=user.env)
    assert dropped.code == 0, dropped.err
    for _ in range(2):
        ran = groundwire("verify", user.run, env=user.env)
        assert ran.code == 0, ran.out
        assert "were dropped by a retention rule: " in ran.out
        groundwire("memory", "vacuum", "--older-than", "0", "--yes", env=user.env)
    change(f"sqlite:///{user.file}", lambda connection: EDITS["an end is made verified"](connection, user))
    assert groundwire("verify", user.run, env=user.env).code == 1


def test_a_patch_is_its_owners_alone_whatever_the_umask(user: Finished) -> None:
    runs = user.folder / "data" / "groundwire" / "runs"
    patch = runs / user.other / "fix.patch"
    assert [path.stat().st_mode & 0o777 for path in (runs, patch.parent, patch)] == [0o700, 0o700, 0o600]
