"""A run of ours in inspect_ai's own viewer, in a real Chromium: what is seen of it; hostile text stays text."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
from collections.abc import Generator
from pathlib import Path

import pytest
from browsing import chromium
from looked_at import hostile_run
from peer_environments import python_with
from playwright.sync_api import expect
from recorded_runs import ledger_at

from groundwire.core._records import ModelCall

pytestmark = pytest.mark.browser


@pytest.fixture
def viewer(tmp_path: Path) -> Generator[tuple[str, int]]:
    """The address of the log of a run in `inspect view`, and what the run's calls used, by the ledger."""
    run = asyncio.run(hostile_run(tmp_path))
    python = python_with("inspect-ai>=0.3.280,<0.4")
    logs = tmp_path / "logs"
    logs.mkdir()
    db = f"sqlite:///{tmp_path / 'ledger.db'}"
    out = ["--format", "inspect", "--out", str(logs / "run.eval"), "--db", db]
    home = {**os.environ, "HOME": str(tmp_path)}
    subprocess.run([python, "-m", "groundwire", "export", run.id, *out], check=True, capture_output=True, env=home)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    command = [python.with_name("inspect"), "view", "start", "--log-dir", logs, "--host", "127.0.0.1", "--port", port]
    viewing = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=home)
    try:
        assert viewing.stdout is not None
        said: list[str] = []
        while not (said and "Running on" in said[-1]):
            line = viewing.stdout.readline()
            assert line, "".join(said)
            said.append(line)
        yield f"http://127.0.0.1:{port}/#/logs/run.eval", asyncio.run(tokens(tmp_path))
    finally:
        viewing.kill()
        viewing.communicate()


async def tokens(folder: Path) -> int:
    store = ledger_at(folder)
    try:
        (run,) = await store.runs()
        (episode,) = await store.episodes(run.id)
        calls = [one for one in await store.records(episode.id) if isinstance(one, ModelCall)]
        return sum(call.prompt_tokens + call.completion_tokens for call in calls)
    finally:
        await store.aclose()


def test_task_score_messages_and_tokens_are_seen(viewer: tuple[str, int]) -> None:
    address, used = viewer
    with chromium() as browser:
        page = browser.new_page(viewport={"width": 1400, "height": 1000})
        wrong: list[str] = []
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("dialog", lambda dialog: wrong.append(dialog.message))
        page.goto(address)
        body = page.locator("body")
        expect(body).to_contain_text("Model Call (propose)", timeout=60_000)
        for seen in ("groundwire/feedback", "model<script>", "sum<b>", "How much?", "1.0"):
            expect(body).to_contain_text(seen)
        expect(page.get_by_text("C", exact=True).first).to_be_visible()  # the score
        expect(body).to_contain_text("You repair programs.")  # a message
        expect(body).to_contain_text("<script>document.title='owned'</script>")
        expect(body).to_contain_text('"verdict": "fail"')  # a signal
        page.get_by_role("tab", name="Models").click()
        expect(body).to_contain_text(f"{used:,}tokens")
        assert "owned" not in page.title()
        assert not wrong
