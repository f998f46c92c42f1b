"""`groundwire view` and `--view` by the program itself."""

from __future__ import annotations

import asyncio
import re
import signal
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from cli import begin, groundwire, lay_out
from looked_at import HOSTILE, hostile_run, two_runs


def _told(process: subprocess.Popen[str]) -> str:
    """The address that it prints."""
    assert process.stdout is not None
    for line in process.stdout:
        if found := re.search(r"http://127\.0\.0\.1:\d+/\S*", line):
            return found[0]
    raise AssertionError("no address was printed")


@contextmanager
def _viewing(*arguments: str | Path) -> Generator[str]:
    process = begin("view", *arguments)
    try:
        yield _told(process)
    finally:
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
        assert "Traceback" not in out


def test_the_address_leads_to_the_run(tmp_path: Path) -> None:
    good, _ = asyncio.run(two_runs(tmp_path))
    with (
        _viewing(good.id[:20], "--db", f"sqlite:///{tmp_path / 'ledger.db'}") as address,
        httpx.Client(follow_redirects=True, timeout=60) as client,
    ):
        page = client.get(address)
        assert page.status_code == 200 and page.url.path == f"/run/{good.id}" and "token" not in str(page.url)
        assert httpx.get(address.partition("?")[0]).status_code == 403


def test_what_can_not_be_shown_is_said_at_once(tmp_path: Path) -> None:
    asyncio.run(two_runs(tmp_path))
    where = ("--db", f"sqlite:///{tmp_path / 'ledger.db'}")
    unknown = groundwire("view", "zzz", *where)
    assert unknown.code != 0 and "zzz" in unknown.err
    unnamed = groundwire("view", "--export", tmp_path / "out.html", *where)
    assert unnamed.code == 2 and "No run is named" in unnamed.err
    with _viewing(*where) as address:
        port = re.findall(r":(\d+)/", address)[0]
        taken = groundwire("view", "--port", port, *where)
        assert taken.code == 2 and f"Port {port} can't be used" in taken.err


def test_it_ends_at_once_and_in_silence_while_a_page_is_followed(tmp_path: Path) -> None:
    asyncio.run(two_runs(tmp_path))
    process = begin("view", "--db", f"sqlite:///{tmp_path / 'ledger.db'}")
    address = _told(process)
    with httpx.Client(follow_redirects=True, timeout=60) as client:
        assert client.get(address).status_code == 200
        with client.stream("GET", f"{address.partition('?')[0]}events", params={"after": 0}) as stream:
            lines = stream.iter_lines()
            assert next(lines).startswith(":")
            process.send_signal(signal.SIGINT)
            assert not [line for line in lines if line.startswith("error")]  # and it ends
    out, _ = process.communicate(timeout=60)
    assert "error" not in out.lower(), out


def test_one_file_holds_the_run(tmp_path: Path) -> None:
    run = asyncio.run(hostile_run(tmp_path))
    ran = groundwire("view", run.id, "--export", tmp_path / "out.html", "--db", f"sqlite:///{tmp_path / 'ledger.db'}")
    assert ran.code == 0 and "out.html" in ran.out
    text = (tmp_path / "out.html").read_text()
    assert HOSTILE not in text and "<img" not in text and "sum&lt;b&gt;" in text
    assert "default-src" in text and not re.findall(r'(?:src|href)="(?!#|data:,)[^"]*"', text)


@pytest.mark.slow
def test_a_repair_is_shown_as_it_goes(tmp_path: Path) -> None:
    tests = "import m\n\n\ndef test_one():\n    assert m.one() == 1\n"
    lay_out(tmp_path / "p", {"m.py": "def one():\n    return 2\n", "test_m.py": tests})
    process = begin("repair", tmp_path / "p", "--view")
    try:
        address = _told(process)
        with httpx.Client(follow_redirects=True, timeout=60) as client:
            assert client.get(address).status_code == 200
    finally:
        out, _ = process.communicate(timeout=120)
    assert process.returncode == 0 and "verified" in out
    # it goes with the repair
    with pytest.raises(httpx.ConnectError):
        httpx.get(address)
