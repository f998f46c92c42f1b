"""What was acknowledged survives kill -9, whole; what was not is whole or absent."""

from __future__ import annotations

import asyncio
import random
import signal
import sqlite3
import subprocess
import sys
import textwrap
import time
from contextlib import closing
from pathlib import Path

import pytest

from groundwire.core._records import EpisodeRecord, TrialRecord
from groundwire.memory import SqlStore
from groundwire.memory._place import locate

pytestmark = pytest.mark.slow
WRITER = """
    import asyncio, os, sys
    from groundwire.memory import SqlStore
    from groundwire.core._records import Artifact, EpisodeRecord, TrialRecord

    async def main():
        store = SqlStore(sys.argv[1])
        for number in range(100_000):
            episode = EpisodeRecord(run_id=sys.argv[2], task_id=str(number))
            trials = [TrialRecord(episode_id=episode.id, trial=trial) for trial in range(3)]
            body = Artifact(digest=episode.id, kind="changes", body=os.urandom(9_000))
            await store.append(episode, *trials, body)
            os.write(1, (episode.id + "\\n").encode())

    asyncio.run(main())
"""
REPEATS = 3


def test_what_was_acknowledged_survives_a_kill(url: str) -> None:
    chance = random.Random(9)
    for number in range(REPEATS):
        run_id = f"run {number}"
        acknowledged = _write_until_killed(url, run_id, after_s=chance.uniform(0.0, 0.4))
        if locate(url).file:
            with closing(sqlite3.connect(str(locate(url).file))) as plain:
                assert plain.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        kept = asyncio.run(_kept(url, run_id))
        assert acknowledged, "the test saw no write"
        assert kept[: len(acknowledged)] == acknowledged
        assert len(kept) <= len(acknowledged) + 1, "at most the one in flight was kept without a word"


def _write_until_killed(url: str, run_id: str, *, after_s: float) -> list[str]:
    command = [sys.executable, "-c", textwrap.dedent(WRITER), url, run_id]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        first = writer.stdout.readline()
        time.sleep(after_s)
        writer.send_signal(signal.SIGKILL)
        rest = writer.stdout.read()
    lines = (first + rest).decode().splitlines(keepends=True)
    return [line.strip() for line in lines if line.endswith("\n")]


async def _kept(url: str, run_id: str) -> list[str]:
    store = SqlStore(url)
    episodes = await store.episodes(run_id)
    for episode in episodes:
        kinds = [type(record) for record in await store.records(episode.id)]
        assert kinds == [EpisodeRecord, TrialRecord, TrialRecord, TrialRecord]
        assert len(await store.artifact(episode.id)) == 9_000
    await store.aclose()
    return [episode.id for episode in episodes]


def test_a_folder_left_by_a_crash_opens_again(tmp_path: Path) -> None:
    """A crash between making the file and its tables leaves an empty file."""
    (tmp_path / "x.db").touch(0o600)
    store = SqlStore(f"sqlite:///{tmp_path}/x.db")
    assert asyncio.run(store.runs()) == []
    asyncio.run(store.aclose())
