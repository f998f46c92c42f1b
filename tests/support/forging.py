"""A finished ledger in either database, and ways to change it behind groundwire's back."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cli import BUGGY, groundwire, lay_out
from sqlalchemy import Connection, create_engine, text

from groundwire.core._chain import LinkBody, head_of
from groundwire.core._records import Link, RunRecord
from groundwire.core._signals import Signal, Verdict
from groundwire.core._signing import Signer, signer
from groundwire.memory import SqlStore
from groundwire.memory._mapping import CODECS, covered, names_of
from groundwire.memory._tables import TABLES

HOPELESS = {
    "shop/__init__.py": "",
    "shop/tax.py": "def tax(price):\n    return price\n",
    "tests/test_tax.py": "from shop.tax import tax\n\n\ndef test_tax():\n    assert tax(1) == 'a word'\n",
}
COMMAND = '[tests]\ncommand = "python -m pytest -q"\nfiles = ["tests"]\n'
HOMES = ("data", "state", "config", "cache")


@dataclass(frozen=True)
class Finished:
    """A ledger with two runs, and the keys beside it.

    Args:
        folder: of the user whose they are.
        run: of two episodes.
        solved: the one that was repaired.
        failed: the one that was not.
        other: the id of another run, which was verified.
    """

    folder: Path
    run: str
    solved: str
    failed: str
    other: str

    @property
    def env(self) -> dict[str, str]:
        """The environment of that user."""
        return {f"XDG_{name.upper()}_HOME": str(self.folder / name) for name in HOMES}

    @property
    def stranger(self) -> dict[str, str]:
        """The environment of somebody who has the ledger alone."""
        return {**self.env, "XDG_STATE_HOME": str(self.folder / "nowhere")}

    @property
    def file(self) -> Path:
        """The ledger, where it is SQLite's."""
        return self.folder / "data" / "groundwire" / "groundwire.db"

    @property
    def keys(self) -> Path:
        """The folder of the keys."""
        return self.folder / "state" / "groundwire" / "keys"

    def copied_to(self, folder: Path) -> Finished:
        """The same, to be changed."""
        shutil.copytree(self.folder, folder)
        for heads in (folder / "state" / "groundwire" / "keys").glob("*.heads"):
            heads.write_text(heads.read_text().replace(str(self.folder), str(folder)))
        return Finished(folder, self.run, self.solved, self.failed, self.other)


def finish(folder: Path) -> Finished:
    """Runs what it takes, through the real program."""
    user = Finished(folder, "", "", "", "")
    for name, files in {"a_buggy": BUGGY, "b_hopeless": HOPELESS}.items():
        lay_out(folder / "tasks" / name, {**files, "task.toml": f'id = "{name}"\n{COMMAND}'})
    few = ("--max-trials", "2", "--width", "6", "--json")
    ran = groundwire("run", "code_repair", folder / "tasks", *few, env=user.env)
    assert ran.code in (1, 4), ran.err
    repaired = groundwire("repair", folder / "tasks" / "a_buggy", *few, env=user.env)
    assert repaired.code == 0, repaired.err
    with closing(sqlite3.connect(user.file)) as ledger:
        (run,) = ledger.execute("SELECT run_id FROM episodes WHERE task_id LIKE '%hopeless%'").fetchone()
        found = dict(ledger.execute("SELECT task_id, id FROM episodes WHERE run_id = ?", (run,)).fetchall())
        ledger.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return Finished(folder, run, found["a_buggy"], found["b_hopeless"], repaired.data["run_id"])


def copy_rows(file: Path, url: str) -> None:
    """All rows of the ledger into the tables of another database, which are there and empty."""
    engine = create_engine(url)
    with closing(sqlite3.connect(file)) as source, engine.begin() as target:
        for name, table in TABLES.items():
            columns = list(table.columns.keys())
            quoted = ", ".join(f'"{column}"' for column in columns)
            kinds = [column.type.python_type for column in table.columns]
            rows = source.execute(f"SELECT {quoted} FROM {name}").fetchall()
            values = [
                {c: bool(v) if kind is bool else v for c, kind, v in zip(columns, kinds, row, strict=True)}
                for row in rows
            ]
            if values:
                target.execute(table.insert(), values)
    engine.dispose()


def on_server(url: str, user: Finished) -> str:
    """The same ledger in PostgreSQL: what is sealed holds in either database."""
    asyncio.run(_tables(url))
    change(url, lambda connection: connection.execute(text("DELETE FROM runs")))
    copy_rows(user.file, url)
    return url


async def _tables(url: str) -> None:
    store = SqlStore(url)
    await store.append(RunRecord())
    await store.aclose()


def change(url: str, work: Callable[[Connection], object]) -> None:
    """Does something to a database."""
    engine = create_engine(url)
    with engine.begin() as connection:
        work(connection)
    engine.dispose()


def tables_with(column: str) -> Sequence[str]:
    """The ledger's tables that have this column."""
    return [name for name, table in TABLES.items() if column in table.columns]


def forge(connection: Connection, user: Finished, key: bytes) -> None:
    """Says that the failed episode was verified, and seals the whole run anew under a key of one's own."""
    best = connection.execute(
        text("SELECT digest FROM candidates WHERE episode_id = :of ORDER BY seq"), {"of": user.failed}
    ).scalar()
    ends = "UPDATE episode_ends SET verdict = 'pass', stop_reason = 'verified', best_candidate = :best"
    connection.execute(text(f"{ends} WHERE episode_id = :of"), {"of": user.failed, "best": best})
    by = signer(user.run, key)
    _mint_anew(connection, user, by, str(best))
    heads: dict[str, tuple[int, str]] = {}
    for of in (user.solved, user.failed, user.run):
        heads[of] = _chain_anew(connection, user.run, of, by, heads)


def _mint_anew(connection: Connection, user: Finished, by: Signer, best: str) -> None:
    rows = connection.execute(text("SELECT seq, body FROM signals WHERE run_id = :run"), {"run": user.run}).all()
    for seq, body in rows:
        signal = Signal.from_json(body)
        if signal.episode_id == user.failed and signal.candidate_digest == best:
            signal = signal.model_copy(update={"verdict": Verdict.PASS})
        sealed = signal.model_copy(update={"seal": by.seal("signal", signal.body())})
        codec = CODECS[Signal]
        values = dict(zip(codec.columns, codec.encode(Signal.from_json(sealed.to_json())), strict=True))
        marks = ", ".join(f"{name} = :{name}" for name in values)
        connection.execute(text(f"UPDATE signals SET {marks} WHERE seq = :seq"), {**values, "seq": seq})


def _chain_anew(
    connection: Connection, run: str, of: str, by: Signer, heads: Mapping[str, tuple[int, str]]
) -> tuple[int, str]:
    query = "SELECT seq, number, body FROM links WHERE run_id = :run AND episode_id = :of ORDER BY number, seq"
    number, previous, first = -1, "", ""
    for seq, number, text_ in connection.execute(text(query), {"run": run, "of": of}).all():
        said = LinkBody.read(text_)
        assert said is not None
        records = [_covered_anew(connection, of, *record[:2], record.digest) for record in said.records]
        told: dict[str, Any] = dict(said.told)
        if "key" in told:
            told["key"] = by.public.hex
        if "episodes" in told:
            told["episodes"] = {name: list(head) for name, head in heads.items()}
        body = LinkBody(run, of, number, first if of == run and number else previous, records, told).text()
        link = Link(run_id=run, episode_id=of, number=number, body=body, seal=by.seal("link", body))
        previous = head_of(link)
        first = first or previous
        values = {"body": link.body, "seal": link.seal, "seq": seq}
        connection.execute(text("UPDATE links SET body = :body, seal = :seal WHERE seq = :seq"), values)
    return number, previous


def _covered_anew(connection: Connection, of: str, kind: str, key: str, digest: str) -> Any:
    """What a link has to say of a record now."""
    (codec,) = (codec for codec in CODECS.values() if codec.type.__name__ == kind)
    where = "episode_id = :of" if "episode_id" in codec.columns else "TRUE"
    query = f"SELECT {names_of(codec)} FROM {codec.table} WHERE {where}"
    for row in connection.execute(text(query), {"of": of} if ":of" in query else {}).all():
        now = covered(codec, list(row))
        if now.key == key and (key or kind in ("EpisodeEnd", "RunEnd") or now.digest == digest):
            return now
    raise AssertionError(f"{kind} {key} is not there")
