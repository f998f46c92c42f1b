"""Runs that were archived read as before, hold against their seals, and are out of the ledger only then."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from cli import Ran, groundwire
from forging import Finished, change
from pyarrow import parquet
from sqlalchemy import text

pq: Any = parquet  # it has no types


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "old runs"


def told(ran: Ran) -> Any:
    assert ran.code in (0, 1), ran.err
    return json.loads(ran.out)


def rows_of(url: str, table: str) -> int:
    found: list[int] = []
    change(url, lambda connection: found.append(connection.execute(text(f"SELECT count(*) FROM {table}")).scalar_one()))
    return found[0]


def test_what_was_archived_reads_as_before_and_is_out_of_the_ledger(
    url: str, user: Finished, folder: Path, tmp_path: Path
) -> None:
    def ask(*words: str | Path, db: str = url) -> Ran:
        return groundwire(*words, "--db", db, env=user.env)

    def export(db: str, name: str) -> str:
        out = tmp_path / name
        ran = ask("export", user.run, "--format", "trajectory", "--out", out, "--allow-truncated", db=db)
        return out.read_text() if out.exists() else str(ran.code)

    assert ask("memory", "vacuum", "--rebuild", "--yes").code == 0
    report, rows = told(ask("report", user.run, "--json")), export(url, "before.jsonl")
    episode = told(ask("show", user.run, "--json"))
    lessons, stats = told(ask("memory", "list", "--json")), told(ask("memory", "stats", "--json"))

    done = told(ask("archive", user.run, "--to", folder, "--yes", "--json"))
    assert done["archived"] == [user.run]
    assert done["records"] > 10
    assert done["signals"] > 2
    assert done["removed"]["runs"] == 1
    db = f"archive:{folder}"
    assert done["archive"] == db

    assert told(ask("report", user.run, "--json", db=db)) == report
    assert export(db, "after.jsonl") == rows
    assert told(ask("show", user.run, "--json", db=db)) == episode
    verified = told(ask("verify", user.run, "--json", db=db))
    assert [(one["holds"], one["authentic"], one["heads_compared"]) for one in verified] == [(True, True, True)]
    page = tmp_path / "page.html"
    assert ask("view", user.run, "--export", page, db=db).code == 0
    assert "a_buggy" in page.read_text()

    # the ledger without it is whole, and says where the run went
    assert [one["run_id"] for one in told(ask("verify", "--json"))] == [user.other]
    gone = ask("show", user.run)
    assert (gone.code, f"--db 'archive:{folder}'" in gone.err) == (2, True), gone.err
    assert ask("replay", user.other, "--verify").code == 0
    # and memory is what it was, also when it is made again
    assert told(ask("memory", "list", "--json")) == lessons
    assert ask("memory", "vacuum", "--rebuild", "--yes").code == 0
    assert told(ask("memory", "list", "--json")) == lessons
    assert told(ask("memory", "stats", "--json"))["rates"] == stats["rates"]
    of_the_other = told(ask("archive", user.other, "--to", folder, "--keep", "--json"))
    assert of_the_other["records"] > 5
    for table in ("links", "candidates"):
        assert rows_of(url, table) == pq.read_table(folder / user.other / f"{table}.parquet").num_rows


def test_any_reader_of_parquet_can_ask_it(user: Finished, folder: Path) -> None:
    with closing(sqlite3.connect(user.file)) as ledger:
        query = "SELECT seq, id, verdict, body FROM signals WHERE run_id = ? ORDER BY seq"
        wanted = ledger.execute(query, (user.run,)).fetchall()
    assert groundwire("archive", user.run, "--to", folder, "--keep", env=user.env).code == 0
    table = pq.read_table(folder / user.run / "signals.parquet", columns=["seq", "id", "verdict", "body"])
    assert sorted(tuple(row.values()) for row in table.to_pylist()) == wanted
    assert groundwire("show", user.run, env=user.env).code == 0, "--keep only copies"
    # and so ends a crash behind the copy: the next time goes on from what is there
    done = groundwire("archive", user.run, "--to", folder, "--yes", "--json", env=user.env)
    assert (done.code, done.data["removed"]["runs"]) == (0, 1)


def test_runs_are_added_by_date_and_read_together(user: Finished, folder: Path) -> None:
    def ask(*words: str | Path) -> Ran:
        return groundwire(*words, env=user.env)

    assert ask("archive", "--before", "2020-01-01", "--to", folder, "--yes").out.strip() == "nothing to archive"
    assert ask("archive", user.other, "--to", folder, "--yes").code == 0
    assert told(ask("show", "--json", "--db", f"archive:{folder}"))[0]["id"] == user.other
    would = told(ask("archive", "--before", "2999-01-01", "--to", folder, "--dry-run", "--json"))
    assert would["runs"] == [{"id": user.run, "episodes": 2}]
    assert ask("archive", "--before", "2999-01-01T00:00", "--to", folder, "--yes").code == 0
    verified = told(ask("verify", "--json", "--db", f"archive:{folder}"))
    assert sorted(one["run_id"] for one in verified if one["holds"]) == sorted([user.run, user.other])
    assert ask("show").out.strip().startswith("no runs"), "the ledger is empty"


def test_what_is_not_as_it_was_written_stays_in_the_ledger(user: Finished, folder: Path) -> None:
    change(
        f"sqlite:///{user.file}",
        lambda connection: connection.execute(
            text("UPDATE signals SET exit_code = 99 WHERE episode_id = :of"), {"of": user.failed}
        ),
    )
    done = groundwire("archive", user.run, user.other, "--to", folder, "--yes", env=user.env)
    assert (done.code, f"run {user.run} stays in the ledger" in done.out) == (1, True), done.out + done.err
    assert groundwire("show", user.run, env=user.env).out
    assert groundwire("show", user.other, env=user.env).code == 2


def test_a_run_that_grew_since_it_was_copied_is_not_taken_out(user: Finished, folder: Path) -> None:
    assert groundwire("archive", user.run, "--to", folder, "--keep", env=user.env).code == 0
    change(
        f"sqlite:///{user.file}",
        lambda connection: connection.execute(
            text("INSERT INTO run_ends (seq, run_id, created_at) SELECT 999999, run_id, created_at FROM run_ends"
                 " WHERE run_id = :run"),
            {"run": user.run},
        ),
    )  # fmt: skip
    done = groundwire("archive", user.run, "--to", folder, "--yes", env=user.env)
    assert (done.code, "nothing was taken out" in done.err) == (6, True), done.err
    assert groundwire("show", user.run, env=user.env).out


@pytest.mark.parametrize("harm", ["a byte is changed", "a row is taken away", "a file is gone"])
def test_an_archive_that_was_changed_is_not_taken_at_its_word(harm: str, user: Finished, folder: Path) -> None:
    assert groundwire("archive", user.run, "--to", folder, "--yes", env=user.env).code == 0
    path = folder / user.run / "signals.parquet"
    if harm == "a byte is changed":
        body = bytearray(path.read_bytes())
        body[len(body) // 2] ^= 1
        path.write_bytes(body)
    elif harm == "a file is gone":
        path.unlink()
    else:
        # and the manifest made to agree: the seals do not
        pq.write_table(pq.read_table(path).slice(1), path)
        manifest = folder / user.run / "archive.json"
        said = json.loads(manifest.read_text())
        said["tables"]["signals"]["file"] = hashlib.sha256(path.read_bytes()).hexdigest()
        manifest.write_text(json.dumps(said))
    verified = groundwire("verify", user.run, "--db", f"archive:{folder}", env=user.env)
    if harm == "a row is taken away":
        assert (verified.code, "was taken away" in verified.out) == (1, True), verified.out + verified.err
    else:
        assert (verified.code, "signals.parquet" in verified.err) == (6, True), verified.out + verified.err


def test_what_can_not_be_archived_or_read_is_said(user: Finished, folder: Path, tmp_path: Path) -> None:
    def ask(*words: str | Path) -> Ran:
        return groundwire(*words, env=user.env)

    for words, said in (
        (("archive", user.run), "needs a folder"),
        (("archive", "--to", folder), "runs or a date"),
        (("archive", "--before", "yesterday", "--to", folder), "no day or time"),
        (("archive", user.run, "--to", user.file), "is not a folder"),
        (("archive", user.run, "--to", folder), "no terminal to answer"),
        (("show", "--db", f"archive:{tmp_path}"), "Nothing is archived in"),
    ):
        ran = ask(*words)
        assert (ran.code, said in ran.err) == (2, True), (words, ran.err)
    assert not folder.exists()
    change(
        f"sqlite:///{user.file}",
        lambda connection: connection.execute(
            text("DELETE FROM episode_ends WHERE episode_id = :of"), {"of": user.failed}
        ),
    )
    ran = ask("archive", user.run, "--to", folder, "--yes")
    assert (ran.code, "1 episode of run" in ran.err, "resume" in ran.err) == (2, True, True), ran.err
    assert ask("archive", user.other, "--to", folder, "--yes").code == 0
    writes = ask("import", tmp_path, "--db", f"archive:{folder}")
    assert writes.code != 0
    quarantine = ask("memory", "vacuum", "--yes", "--db", f"archive:{folder}")
    assert (quarantine.code, "is an archive" in quarantine.err) == (6, True), quarantine.err
