"""The viewer's pages over HTTP: who is let in, what hostile text can do, and the same as data."""

from __future__ import annotations

import asyncio
import re
import sqlite3
import subprocess
from collections.abc import AsyncGenerator
from contextlib import aclosing, closing
from pathlib import Path
from typing import Any

import httpx
import pytest
from looked_at import SCRIPT, hostile_run, opened, two_runs

from groundwire.core._candidates import Candidate
from groundwire.core._records import (
    Artifact,
    CandidateRecord,
    EpisodeEnd,
    EpisodeRecord,
    RunRecord,
    StopReason,
    TrialRecord,
)
from groundwire.core._seal import MemoryKeys, Mint
from groundwire.core._signals import CaseOutcome, CaseResult, Evidence, Observation, Origin, Verdict
from groundwire.memory import SqlStore
from groundwire.viewer import Ledgers, make_app

TOKEN = "a token of the test's own"
HERE = "http://127.0.0.1:8000"


def client_of(ledgers: Ledgers, *, known: bool = True) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(app=make_app(ledgers, token=TOKEN))  # pyright: ignore[reportArgumentType]  # ASGI
    headers = {"authorization": f"Bearer {TOKEN}"} if known else {}
    return httpx.AsyncClient(transport=transport, base_url=HERE, headers=headers)


@pytest.fixture
async def ledgers(tmp_path: Path) -> AsyncGenerator[Ledgers]:
    made = Ledgers([opened(tmp_path)])
    yield made
    await made.aclose()


async def _addresses(client: httpx.AsyncClient, runs: tuple[RunRecord, ...]) -> list[str]:
    """Every page that links lead to from the lists of runs and lessons, and the same as data."""
    found: dict[str, None] = dict.fromkeys(["/", "/lessons", "/search?q=a", "/api/v1/runs", "/api/v1/lessons"])
    for run in runs:
        found |= dict.fromkeys([f"/api/v1/runs/{run.id}", f"/api/v1/runs/{run.id}/episodes", f"/run/{run.id}/check"])
    seen: set[str] = set()
    while left := [address for address in found if address not in seen]:
        for address in left:
            seen.add(address)
            answer = await client.get(address)
            if answer.headers["content-type"].startswith("text/html"):
                links = re.findall(r'(?:href|data-src)="(/[^"#]*)', answer.text)
                found |= dict.fromkeys(link.replace("&amp;", "&") for link in links)
    return [address for address in found if not address.startswith(("/report", "/events"))]


async def test_every_link_leads_somewhere(tmp_path: Path, ledgers: Ledgers) -> None:
    runs = await two_runs(tmp_path)
    async with client_of(ledgers) as client:
        addresses = await _addresses(client, runs)
        kinds = {re.sub(r"[0-9a-f]{8}[0-9a-f-]{20,}", "ID", address).partition("?")[0] for address in addresses}
        for address in addresses:
            answer = await client.get(address)
            assert answer.status_code == 200, (address, answer.text[:300])
    assert kinds >= {
        "/run/ID", "/run/ID/check", "/episode/ID", "/episode/ID/records", "/episode/ID/call/ID", "/signal/ID",
        "/lesson/ID", "/episode/ID/download.json", "/episode/ID/export.html", "/static/viewer.css",
    }  # fmt: skip


async def test_an_episode_answers_why_and_what(tmp_path: Path, ledgers: Ledgers) -> None:
    good, _ = await two_runs(tmp_path)
    async with client_of(ledgers) as client:
        episode = (await client.get(f"/api/v1/runs/{good.id}/episodes")).json()["rows"][0]
        page = (await client.get(f"/episode/{episode['id']}")).text
        told = (await client.get(f"/api/v1/episodes/{episode['id']}")).json()["episode"]
        lesson = told["trials"][0]["reflections"][0]["id"]
        about = (await client.get(f"/lesson/{lesson}")).text
        call = told["trials"][1]["calls"][0]["id"]
        changed = (await client.get(f"/episode/{told['id']}/call/{call}")).text
    assert "the gate opened on" in page and "Carry the four." in page
    assert " that had it 1 passed, where " in about
    assert "What changed since the propose call before it" in changed and "Carry the four." in changed


async def test_the_report_leads_to_the_episodes_behind_it(tmp_path: Path, ledgers: Ledgers) -> None:
    runs = await two_runs(tmp_path)
    async with client_of(ledgers) as client:
        report = await client.get(f"/report?run={runs[0].id}&run={runs[1].id}")
        assert "default-src 'none'" in report.headers["content-security-policy"]
        for run in runs:
            ((_, _, episode, _),) = await ledgers.outcomes(run.id)
            assert f'href="/episode/{episode}"' in report.text
        assert (await client.get("/report")).status_code == 400


async def test_nobody_without_the_token_is_answered(tmp_path: Path, ledgers: Ledgers) -> None:
    await two_runs(tmp_path)
    async with client_of(ledgers, known=False) as client:
        for address in ("/", "/api/v1/runs", "/static/viewer.js", "/events?after=0", "/nothing"):
            assert (await client.get(address)).status_code == 403, address
            assert (await client.get(address, params={"token": "wrong"})).status_code == 403, address
        let_in = await client.get("/", params={"token": TOKEN, "q": "x y"})
        assert (let_in.status_code, let_in.headers["location"]) == (303, "/?q=x+y")
        cookie = let_in.headers["set-cookie"]
        assert "HttpOnly" in cookie and "SameSite=strict" in cookie
        # the cookie alone is enough from then on, and the token is in no address any more
        assert (await client.get("/")).status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example:8000", "", "[::1].evil.example"])
async def test_another_name_for_this_machine_is_refused(ledgers: Ledgers, host: str) -> None:
    async with client_of(ledgers) as client:
        assert (await client.get("/", headers={"host": host})).status_code == 421


@pytest.mark.parametrize(
    "origin", [None, "null", "http://evil.example", "http://127.0.0.1:9", "http://127.0.0.1:8000.evil"]
)
async def test_another_site_writes_nothing(tmp_path: Path, ledgers: Ledgers, origin: str | None) -> None:
    good, _ = await two_runs(tmp_path)
    async with client_of(ledgers) as client:
        headers = {} if origin is None else {"origin": origin}
        answer = await client.post(f"/run/{good.id}/notes", data={"text": "hello"}, headers=headers)
        assert answer.status_code == 403
        assert not await ledgers.notes(good.id)


async def test_notes_and_decisions_are_kept(tmp_path: Path, ledgers: Ledgers) -> None:
    good, bad = await two_runs(tmp_path)
    async with client_of(ledgers) as client:
        for text in ("first", f"second {SCRIPT}"):
            answer = await client.post(f"/run/{good.id}/notes", data={"text": text}, headers={"origin": HERE})
            assert answer.status_code == 303
        assert [note.text for note in await ledgers.notes(good.id)] == ["first", f"second {SCRIPT}"]
        assert not await ledgers.notes(bad.id)
        assert SCRIPT not in (await client.get(f"/run/{good.id}")).text
        refused = await client.post(f"/run/{good.id}/notes", data={"text": " "}, headers={"origin": HERE})
        assert refused.status_code == 400
        lesson = (await ledgers.lessons())[0].reflection.id
        for decision, state in (("quarantined", "quarantined"), ("released", "active")):
            await client.post(f"/lesson/{lesson}", data={"decision": decision}, headers={"origin": HERE})
            view, _ = await ledgers.lesson(lesson)
            assert view.info.state.value == state
        odd = await client.post(f"/lesson/{lesson}", data={"decision": "praised"}, headers={"origin": HERE})
        assert odd.status_code == 400
        gone = await client.post(f"/lesson/{lesson}", data={"decision": "forgotten"}, headers={"origin": HERE})
        assert gone.headers["location"] == "/lessons"
        assert (await client.get(f"/lesson/{lesson}")).status_code == 404
    # what a person writes changes nothing of what was sealed
    assert (await ledgers.check(good.id)).holds


async def test_read_only_writes_nothing(tmp_path: Path) -> None:
    good, _ = await two_runs(tmp_path)
    looking = Ledgers([opened(tmp_path)], read_only=True)
    async with client_of(looking) as client:
        lesson = (await looking.lessons())[0].reflection.id
        for address, data in (
            (f"/run/{good.id}/notes", {"text": "x"}),
            (f"/lesson/{lesson}", {"decision": "forgotten"}),
        ):
            assert (await client.post(address, data=data, headers={"origin": HERE})).status_code == 400
            assert "<form method" not in (await client.get(address.removesuffix("/notes"))).text
        assert not await looking.notes(good.id)
        assert (await looking.lesson(lesson))[0].info.reflection.text == "Carry the four."
    await looking.aclose()


async def test_hostile_text_is_inert_everywhere(tmp_path: Path, ledgers: Ledgers) -> None:
    run = await hostile_run(tmp_path)
    async with client_of(ledgers) as client:
        await client.post(f"/run/{run.id}/notes", data={"text": SCRIPT}, headers={"origin": HERE})
        shown = 0
        for address in await _addresses(client, (run,)):
            answer = await client.get(address)
            assert answer.status_code == 200, (address, answer.text[-300:])
            policy = answer.headers["content-security-policy"]
            assert "script-src 'self'" in policy and "unsafe" not in policy, address
            assert answer.headers["x-content-type-options"] == "nosniff"
            if not answer.headers["content-type"].startswith("text/html"):
                is_ours = address.startswith(("/api/", "/static/"))
                assert is_ours or "attachment" in answer.headers["content-disposition"], address
                continue
            shown += "onerror" in answer.text
            assert "<script>" not in answer.text.replace(_own_script(answer.text), ""), address
            for broken in ("<img", "<svg onload", "\x1b", "\u202e", "\x00", "<b>", " 49 "):
                assert broken not in answer.text, (address, broken)
    assert shown > 5


async def test_a_candidate_that_nobody_judged_hides_nothing_of_its_trial(tmp_path: Path, ledgers: Ledgers) -> None:
    good, _ = await two_runs(tmp_path)
    ((_, _, episode, _),) = await ledgers.outcomes(good.id)
    async with aclosing(opened(tmp_path)) as store:
        await store.append(CandidateRecord(episode_id=episode, trial=1, digest="c" * 64, actor="write"))
    async with client_of(ledgers) as client:
        page = await client.get(f"/episode/{episode}")
        assert page.status_code == 200 and "the gate opened on" in page.text


DEEP = "[" * 20_000 + "]" * 20_000


CHANGED = (
    ("runs", "config", DEEP),
    ("runs", "config", "null"),
    ("runs", "config", "{"),
    ("episodes", "task", DEEP),
    ("episodes", "task", "[1]"),
    ("episodes", "seed", "x<b>"),
    ("trials", "lessons", DEEP),
    ("signals", "body", SCRIPT),
    ("intents", "body", DEEP),
    ("episode_ends", "verdict", f"{SCRIPT}\x1b[31m\u202e"),
    ("artifacts", "body", b"\xff"),
)
"""Table, column, and what somebody wrote there."""


async def test_a_ledger_that_somebody_changed_is_shown_or_said_to_be_changed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    good, bad = await two_runs(tmp_path)
    async with aclosing(Ledgers([opened(tmp_path)])) as before:
        ((_, _, episode, _),) = await before.outcomes(good.id)
    asked = ("/", f"/run/{good.id}", f"/run/{good.id}/check", f"/episode/{episode}", f"/episode/{episode}/records")
    asked += (f"/api/v1/episodes/{episode}", f"/compare?a={good.id}&b={bad.id}", f"/report?run={good.id}")
    for number, (table, column, value) in enumerate(CHANGED):
        copy = tmp_path / str(number)
        copy.mkdir()
        with (
            closing(sqlite3.connect(tmp_path / "ledger.db")) as database,
            closing(sqlite3.connect(copy / "ledger.db")) as other,
        ):
            database.backup(other)
            other.execute(f"UPDATE {table} SET {column} = ?", (value,))
            other.commit()
        async with aclosing(Ledgers([opened(copy)])) as changed, client_of(changed) as client:
            for address in asked:
                answer = await client.get(address)
                place = (table, column, address, answer.text[-300:])
                assert answer.status_code in ((200,) if address == "/" else (200, 400, 422)), place
                assert "default-src" in answer.headers["content-security-policy"]
                assert not [b for b in ("<script>document", "<img", "\x1b", "\u202e") if b in answer.text], place
    assert not {"\x1b", "\u202e"} & set(caplog.text)


def _own_script(text: str) -> str:
    """The one script of ours in an exported file, which stands in it whole."""
    from groundwire.viewer._pages import asset

    return f"<script>{asset('viewer.js')}</script>" if "Content-Security-Policy" in text else "\0"


@pytest.mark.parametrize(
    ("address", "status"),
    [
        ("/run/none", 404),
        ("/episode/none", 404),
        ("/episode/none/call/x", 404),
        ("/signal/none", 404),
        ("/lesson/none", 404),
        ("/signal/none/passwords.txt", 404),
        ("/static/..%2f..%2f_server.py", 404),
        ("/static/viewer.html", 404),
        ("/compare?a=x", 400),
        ("/api/v1/compare", 400),
        ("/api/v1/runs/none", 404),
        ("/run/", 404),
        ("/?page=-3", 200),
        ("/?page=99999999999999999999999", 200),
        ("/?page=x&q=%00%1b%ff", 200),
        ("/search?q=" + "x" * 5000, 200),
    ],
)
async def test_what_is_not_there_is_said(tmp_path: Path, ledgers: Ledgers, address: str, status: int) -> None:
    await two_runs(tmp_path)
    async with client_of(ledgers) as client:
        answer = await client.get(address)
        assert answer.status_code == status
        if address.startswith("/api/"):
            assert set(answer.json()) == {"api", "error"}


async def test_bad_sorts_and_long_forms_are_refused(tmp_path: Path, ledgers: Ledgers) -> None:
    good, _ = await two_runs(tmp_path)
    async with client_of(ledgers) as client:
        answer = await client.get(f"/run/{good.id}?sort=beauty")
        assert answer.status_code == 400 and "beauty" in answer.text
        long = await client.post(f"/run/{good.id}/notes", data={"text": "x" * 100_000}, headers={"origin": HERE})
        assert long.status_code == 400


@pytest.mark.parametrize("place", ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
async def test_what_is_written_is_told_at_once(place: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """A real server, since the other way of asking waits for the end of an answer, and this one has none."""
    import socket

    import uvicorn

    url = f"sqlite:///{tmp_path / 'ledger.db'}" if place == "sqlite" else request.getfixturevalue("postgres_url")
    ledgers, elsewhere = Ledgers([SqlStore(url)]), SqlStore(url)
    await elsewhere.append(RunRecord(id="run", graph="g"))
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    config = uvicorn.Config(make_app(ledgers, token=TOKEN), log_level="warning", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    base = f"http://127.0.0.1:{listener.getsockname()[1]}"
    try:
        async with httpx.AsyncClient(base_url=base, headers={"authorization": f"Bearer {TOKEN}"}) as client:
            newest = await ledgers.newest()
            async with client.stream("GET", f"/events?after={newest}", timeout=60) as stream:
                lines = stream.aiter_lines()
                assert (await anext(lines)).startswith(":")
                await elsewhere.append(EpisodeRecord(id="e", run_id="run", task_id="t"))
                told = [line async for line in _until(lines, "data:")]
                assert told[0] == "event: written" and int(told[-1].removeprefix("data: ")) > newest
    finally:
        server.should_exit = True
        await serving
        await elsewhere.aclose()


async def _until(lines: Any, start: str) -> AsyncGenerator[str]:
    async for line in lines:
        if line:
            yield line
        if line.startswith(start):
            return


async def test_each_column_sorts_both_ways_by_its_address(tmp_path: Path, ledgers: Ledgers) -> None:
    good, _ = await two_runs(tmp_path)
    async with client_of(ledgers) as client:
        for page, columns in (("/", 8), (f"/run/{good.id}?verdict=pass", 8)):
            heads = re.findall(r'class="sort [a-z]+" href="([^"]+)"', (await client.get(page)).text)
            assert len(heads) == columns
            for head in heads:
                first = (await client.get(head.replace("&amp;", "&"))).text
                (again,) = re.findall(r'aria-sort="\w+"><a class="sort \w+" href="([^"]+)"', first)
                other = (await client.get(again.replace("&amp;", "&"))).text
                ways = [re.findall(r'aria-sort="(\w+)"', text) for text in (first, other)]
                assert sorted(ways) == [["ascending"], ["descending"]], head
                assert "verdict=pass" in again or page == "/"
        up = (await client.get("/api/v1/runs?sort=tokens&order=asc")).json()["rows"]
        down = (await client.get("/api/v1/runs?sort=tokens")).json()["rows"]
        assert [run["tokens"] for run in up] == sorted(run["tokens"] for run in down)
        assert up[0]["id"] == down[-1]["id"] != down[0]["id"]
        # what filters a table keeps its order
        assert '<input type="hidden" name="sort" value="cost">' in (await client.get("/?sort=cost")).text
        assert (await client.get("/?sort=tokens&order=up")).status_code == 400


async def test_a_patch_is_what_git_applies(tmp_path: Path, ledgers: Ledgers) -> None:
    good, _ = await two_runs(tmp_path)
    async with client_of(ledgers) as client:
        (episode,) = (await client.get(f"/api/v1/runs/{good.id}/episodes")).json()["rows"]
        told = (await client.get(f"/api/v1/episodes/{episode['id']}")).json()["episode"]
        patch = await client.get(f"/episode/{episode['id']}/candidate/{told['best_candidate']}/download.patch")
        assert patch.headers["content-disposition"].startswith("attachment") and b"\n+42\n" in patch.content
        assert (await client.get(f"/episode/{episode['id']}/candidate/none/download.patch")).status_code == 404
    (tmp_path / "answer.txt").write_text("?\n")
    (tmp_path / "fix.patch").write_bytes(patch.content)
    await asyncio.to_thread(subprocess.run, ["git", "apply", "fix.patch"], cwd=tmp_path, check=True)
    assert (tmp_path / "answer.txt").read_text() == "42\n"


async def test_lessons_are_listed_by_what_they_did(tmp_path: Path, ledgers: Ledgers) -> None:
    await two_runs(tmp_path)
    async with client_of(ledgers) as client:
        listed = {
            order: [
                (one["reflection"]["id"], one["standing"]["passed"] - one["standing"]["expected"])
                for one in (await client.get(f"/api/v1/lessons?order={order}")).json()["lessons"]
            ]
            for order in ("useful", "harmful", "newest")
        }
        assert len(listed["useful"]) == len(listed["newest"]) > 1
        assert listed["harmful"][0][1] < 0 and listed["useful"][0] == listed["harmful"][-1]
        page = (await client.get("/lessons?order=harmful")).text
        assert f'<a href="/lesson/{listed["harmful"][0][0]}">' in page and 'class="n fail">−' in page
        assert "newest" in (await client.get("/api/v1/lessons?order=best")).json()["error"]["do"]


async def test_what_a_search_finds_leads_to_where_it_stands(tmp_path: Path, ledgers: Ledgers) -> None:
    await two_runs(tmp_path)
    async with client_of(ledgers) as client:
        page = (await client.get("/search?q=carry THE")).text
        places = re.findall(r'class="tag">(\w+)</span> <a href="([^"]+)"', page)
        assert {kind for kind, _ in places} == {"prompt", "answer", "reflection"} and "<mark>Carry the</mark>" in page
        for kind, place in places:
            expected = "/lesson/" if kind == "reflection" else "/call/"
            assert expected in place and "Carry the four." in (await client.get(place)).text


async def test_an_episode_knows_its_neighbours_over_pages(tmp_path: Path, ledgers: Ledgers) -> None:
    records = [EpisodeRecord(id=f"e{n:03}", run_id="r", task_id=f"t{n:03}") for n in range(101)]
    async with aclosing(opened(tmp_path)) as store:
        await store.append(RunRecord(id="r", graph="code_repair"), *records)
    async with client_of(ledgers) as client:
        seen, at = list[str](), "/episode/e000?sort=task"
        while at:
            text = (await client.get(at)).text
            seen += re.findall(r"<h1>(t\d+)", text)
            at = "".join(re.findall(r'rel="next" aria-keyshortcuts="n" href="([^"]+)"', text)).replace("&amp;", "&")
            assert len(seen) < 2 or f"{len(seen)} of 101" in text
        assert seen == [record.task_id for record in records]
        before = (await client.get("/episode/e050?sort=task&page=2")).text
        assert 'href="/episode/e049?sort=task"' in before and 'href="/run/r?sort=task&amp;page=2"' in before
        assert "Episodes" not in (await client.get("/episode/e000?sort=task&page=3")).text
        odd = await client.get("/episode/e000?sort=beauty&order=up&verdict=%00")
        assert odd.status_code == 200 and "<h1>t000" in odd.text


def test_a_hit_of_blanks_keeps_its_line() -> None:
    from groundwire.viewer._pages import marked

    assert marked("a  <b>", " ") == "a &lt;b&gt;"


def test_colours_of_a_terminal_are_not_shown_and_what_else_is_unseen_is_marked() -> None:
    from groundwire.viewer._pages import block, moment

    assert block("\x1b[1;31mE  assert\x1b[0m 1\x1b[K\x1b]0;title\x07") == "E  assert 1�]0;title�"
    assert moment("2026-11-29T23:53:19.123456+00:00") == "2026-11-29 23:53:19 UTC" and moment("") == ""


async def test_each_page_names_the_data_behind_it(tmp_path: Path, ledgers: Ledgers) -> None:
    runs = await two_runs(tmp_path)
    async with client_of(ledgers) as client:
        kinds: set[str] = set()
        for address in await _addresses(client, runs):
            text = (await client.get(address)).text
            for data in re.findall(r'<a href="([^"]+)">This page as JSON', text):
                answer = await client.get(data.replace("&amp;", "&"))
                assert answer.status_code == 200 and answer.json()["api"] == 1, (address, data)
                kinds.add(re.sub(r"[0-9a-f]{8}[0-9a-f-]{20,}", "ID", data).partition("?")[0])
    assert kinds >= {
        "/api/v1/runs", "/api/v1/runs/ID", "/api/v1/episodes/ID", "/api/v1/episodes/ID/records",
        "/api/v1/episodes/ID/calls/ID", "/api/v1/signals/ID", "/api/v1/lessons", "/api/v1/lessons/ID", "/api/v1/search",
    }  # fmt: skip


async def test_what_is_10_mb_long_makes_a_short_page_and_a_whole_file(tmp_path: Path, ledgers: Ledgers) -> None:
    """Our own tools keep 8 KiB of an output; another writer of a ledger may keep all of it."""
    store = opened(tmp_path)
    mint = Mint("run", MemoryKeys().create("run"))
    stdout = f"{SCRIPT} \u202e{'x' * 950}\n" * 10_000
    assert len(stdout) > 10_000_000
    case = CaseOutcome(id=f"{SCRIPT}{'n' * 100_000}", result=CaseResult.FAILED, message="m" * 1_000_000)
    seen = Observation(
        verdict=Verdict.FAIL, origin=Origin.TESTS, evidence=Evidence(stdout=stdout, cases=(case,), collected=1)
    )
    signal = mint.signal(seen, episode_id="e", trial=1, issuer="tests", candidate_digest="c1")
    name = f"src/\u202e{'d' * 120}/{'<b>' * 20}.py"
    body = Candidate(base_digest="base", changes={name: b"x = 1\n" * 100_000, "b.py": b"y\n"})
    await store.append(
        RunRecord(id="run", graph="g"),
        EpisodeRecord(id="e", run_id="run", task_id="t" * 10_000),
        TrialRecord(episode_id="e", trial=1),
        Artifact(digest="c1", kind="candidate", body=body.to_bytes()),
        CandidateRecord(episode_id="e", trial=1, digest="c1", artifact="c1", note="n" * 1_000_000),
        signal,
    )
    async with client_of(ledgers) as client:
        for address in ("/run/run", "/episode/e", f"/signal/{signal.id}", "/episode/e/candidate/c1", "/search?q=xxx"):
            page = await client.get(address)
            assert page.status_code == 200 and len(page.content) < 1_500_000, (address, len(page.content))
            broken = [text for text in ("<script>document", "<b>", "\u202e", "\x1b") if text in page.text]
            assert not broken, (address, broken)
        assert (await client.get(f"/signal/{signal.id}/stdout.txt")).text == stdout
        assert len((await client.get("/episode/e/export.html")).content) < 1_500_000
    await store.aclose()


async def test_ten_thousand_cases_and_long_outputs_make_no_long_page(tmp_path: Path, ledgers: Ledgers) -> None:
    count = 10_000
    store = opened(tmp_path)
    mint = Mint("run", MemoryKeys().create("run"))
    await store.append(RunRecord(id="run", graph="g"), EpisodeRecord(id="e", run_id="run", task_id="large"))
    for trial in (1, 2):
        cases = tuple(
            CaseOutcome(
                id=f"tests/test_m.py::test_it[{at}]", message="boom " * 40,
                result=CaseResult.FAILED if at % 100 == trial else CaseResult.PASSED,
            )
            for at in range(count)
        )  # fmt: skip
        stdout = f"{SCRIPT} \x1b[1m line\n" * 10_000
        evidence = Evidence(cases=cases, collected=count, stdout=stdout, stdout_cut=50_000_000)
        seen = Observation(verdict=Verdict.FAIL, origin=Origin.TESTS, evidence=evidence)
        signal = mint.signal(seen, episode_id="e", trial=trial, issuer="tests", candidate_digest=f"c{trial}")
        await store.append(
            TrialRecord(episode_id="e", trial=trial),
            CandidateRecord(episode_id="e", trial=trial, digest=f"c{trial}"),
            signal,
        )
    await store.append(EpisodeEnd(episode_id="e", verdict=Verdict.FAIL, stop_reason=StopReason.BUDGET_TRIALS))
    async with client_of(ledgers) as client:
        page = await client.get("/episode/e")
        assert len(page.content) < 100_000 and "9,900 cases more" in page.text
        # those that flipped come first
        assert page.text.count('class="changed"') == 100
        shown = await client.get(f"/signal/{signal.id}")
        assert len(shown.content) < 300_000 and "50,000,000 bytes were dropped" in shown.text
        found = await client.get(f"/signal/{signal.id}?case=test_it[202]")
        assert found.text.count("<tr>") == 2
        whole = await client.get(f"/signal/{signal.id}/stdout.txt")
        assert whole.text == signal.evidence.stdout and "attachment" in whole.headers["content-disposition"]
        assert len((await client.get("/episode/e/export.html")).content) < 1_000_000
    await store.aclose()
