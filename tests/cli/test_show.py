"""`groundwire show` tells what the ledger holds, and notices an edited row."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import aclosing, closing
from dataclasses import dataclass
from pathlib import Path

import pytest
from cli import groundwire
from reported import guessed

from groundwire.cli._show import SHORT_ID_CHARS, list_runs, show_run
from groundwire.cli._verify import verify_target
from groundwire.core._errors import ConfigError, RecordNotFound
from groundwire.core._records import EpisodeRecord, RunRecord
from groundwire.memory import SqlStore


def test_a_run_is_shown_and_its_seals_hold(repaired: tuple[str, Path]) -> None:
    run_id, database = repaired
    url = f"sqlite:///{database}"
    ran = groundwire("show", run_id[:20], "--db", url)
    assert ran.code == 0
    assert "admitted by refine" in ran.out
    assert "verified: as they were sealed" in ran.out
    listed = groundwire("show", "--db", url)
    assert run_id in listed.out
    data = groundwire("show", run_id, "--db", url, "--json").data
    kinds = {r["kind"] for r in data["episodes"][0]["records"]}
    assert {"Signal", "Admission", "CandidateRecord", "TrialRecord", "EpisodeEnd"} <= kinds
    assert data["non_discriminating"] == []
    assert (data["grounded"], data["oracle"], data["trust"]) == (True, False, [])
    account = data["episodes"][0]["account"]
    assert (account["rejudged"], account["flaky"], account["steering"]) == (2, [], 0)
    assert "grounded   no answer key was used" in ran.out
    assert "2 verdicts judged again (" in ran.out


def test_an_edited_row_is_noticed(repaired: tuple[str, Path]) -> None:
    run_id, database = repaired
    with sqlite3.connect(database) as connection:
        changed = connection.execute(
            'UPDATE signals SET body = replace(body, \'"verdict":"fail"\', \'"verdict":"pass"\') WHERE trial = 0'
        ).rowcount
    connection.close()
    assert changed == 2, "the baseline was looked at twice"
    ran = groundwire("show", run_id, "--db", f"sqlite:///{database}")
    assert ran.code == 1
    assert "NOT as it was written" in ran.out


@dataclass(frozen=True)
class Three:
    """A run of three episodes: of the first a record was changed."""

    url: str
    run: str
    episodes: list[str]

    def show(self, prefix: str, *, as_json: bool = True) -> int:
        return show_run(prefix, {"db": self.url}, as_json=as_json)

    def verify(self, prefix: str, **more: Path) -> int:
        given = {"key": None, "statement": None, "as_json": True, **more}
        return verify_target(prefix, {"db": self.url}, **given)  # pyright: ignore[reportArgumentType]


@pytest.fixture
def three(tmp_path: Path) -> Three:
    url = f"sqlite:///{tmp_path}/ledger.db"

    async def make() -> Three:
        async with aclosing(SqlStore(url)) as store:
            run = await guessed(store, [(name, ["no", "right"]) for name in ("one", "two", "three")])
            return Three(url, run, [episode.id for episode in await store.episodes(run)])

    made = asyncio.run(make())
    with closing(sqlite3.connect(tmp_path / "ledger.db")) as connection, connection:
        told = "UPDATE episode_ends SET detail = 'all went well' WHERE episode_id = ?"
        assert connection.execute(told, (made.episodes[0],)).rowcount == 1
    return made


def test_one_episode_of_a_run_is_shown_and_verified_alone(three: Three, capsys: pytest.CaptureFixture[str]) -> None:
    assert three.show(three.run) == 1
    whole = json.loads(capsys.readouterr().out)
    assert [one["episode"]["id"] for one in whole["episodes"]] == three.episodes and len(
        whole["checked"]["episodes"]
    ) == 3
    assert three.show(three.episodes[1]) == 0
    alone = json.loads(capsys.readouterr().out)
    assert alone["episodes"] == [whole["episodes"][1]] and len(alone["checked"]["episodes"]) == 1
    assert three.show(three.episodes[0], as_json=False) == 1
    said = capsys.readouterr().out
    assert "EpisodeEnd" in said and three.episodes[0] in said and three.episodes[1] not in said
    assert [three.verify(name) for name in (three.run, *three.episodes)] == [1, 1, 0, 0]
    assert "EpisodeEnd" in capsys.readouterr().out


def test_what_names_no_run_and_no_one_episode_is_refused(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/ledger.db"

    async def make() -> None:
        async with aclosing(SqlStore(url)) as store:
            named = [EpisodeRecord(id=name, run_id="run", task_id=name) for name in ("episode-1", "episode-2")]
            await store.append(RunRecord(id="run"), *named)

    asyncio.run(make())
    three = Three(url, "run", [])
    for wanted in (three.show, three.verify):
        with pytest.raises(RecordNotFound, match="There is no run"):
            wanted("elsewhere")
        with pytest.raises(RecordNotFound, match="ore than one"):
            wanted("episode")
    with pytest.raises(ConfigError, match="A statement is about a whole run"):
        three.verify("episode-1", statement=tmp_path / "statement")


def test_in_a_narrow_terminal_every_column_is_there_and_an_id_is_cut_to_what_is_enough(
    three: Three, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    assert list_runs({"db": three.url}, as_json=False) == 0
    head, line, *_ = capsys.readouterr().out.splitlines()
    assert (
        head.split() == ["run", "verdict", "project"]
        and len(line) <= 60
        and line.split()[0] == three.run[:SHORT_ID_CHARS]
        and " pass" in line
    )


def test_without_runs_the_next_step_is_named(tmp_path: Path) -> None:
    ran = groundwire("show", "--db", f"sqlite:///{tmp_path}/empty.db")
    assert (ran.code, "groundwire demo" in ran.out) == (0, True)
