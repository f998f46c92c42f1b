"""The viewer in a real Chromium: a mouse is enough to get one's questions answered, and hostile text stays text."""

from __future__ import annotations

import asyncio
import gzip
import re
import shutil
import signal
import subprocess
from collections.abc import Coroutine, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib.resources import as_file, files
from pathlib import Path
from typing import TypeVar

import pytest
from axe_playwright_python.sync_playwright import Axe
from browsing import chromium
from cli import begin, groundwire, lay_out
from looked_at import hostile_run, long_run, three_tasks, two_runs
from playwright.sync_api import Browser, Page, expect
from published import published
from small_logs import questions

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def browser() -> Generator[Browser]:
    with chromium() as one:
        yield one


T = TypeVar("T")


def written(ledger: Coroutine[object, object, T]) -> T:
    """Writes a ledger, in a thread of its own: the browser has an event loop in this one."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, ledger).result()


@contextmanager
def viewing(ledger: Path) -> Generator[str]:
    """The viewer's address."""
    process = begin("view", "--db", f"sqlite:///{ledger}")
    try:
        yield _address(process)
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)


def _address(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    for line in process.stdout:
        if found := re.search(r"http://127\.0\.0\.1:\d+/\S*", line):
            return found[0]
    raise AssertionError("no address was printed")


@contextmanager
def page_of(browser: Browser, *, width: int = 1280, scheme: str = "light") -> Generator[Page]:
    """A page; whatever it complains of (a policy that was broken, a script's error, what is not there) fails the
    test."""
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)  # pyright: ignore[reportArgumentType]
    page = context.new_page()
    wrong: list[str] = []
    page.on("console", lambda message: wrong.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("dialog", lambda dialog: wrong.append(dialog.message))
    yield page
    context.close()
    assert not wrong


def test_four_questions_of_a_run_of_ours(tmp_path: Path, browser: Browser) -> None:
    """Why did the second trial happen? What did the lesson say, where does it come from, did it help? Which tests
    flipped? What did it cost?"""
    written(two_runs(tmp_path))
    with viewing(tmp_path / "ledger.db") as address, page_of(browser) as page:
        page.goto(address)
        page.locator("tbody tr").last.get_by_role("link").first.click()
        page.get_by_role("link", name="sum", exact=True).click()
        # why
        second = page.get_by_role("region", name="Trial 2")
        expect(second).to_contain_text("the gate opened on test: 1 of 1 cases failed in trial 1")
        # what was the model shown, and what did it answer? fetched when it is opened
        second.get_by_text("propose", exact=False).first.click()
        expect(second.get_by_text("How much is 6 times 7?").first).to_be_visible()
        # which tests flipped
        row = page.get_by_role("row", name=re.compile("^42 "))
        expect(row).to_have_class("changed")
        assert [cell.strip() for cell in row.get_by_role("cell").all_inner_texts()] == ["✗\nfailed", "✓\npassed"]
        # what did the lesson say, where did it come from, did it help
        second.get_by_role("link", name="Carry the four.").click()
        expect(page.locator("blockquote")).to_contain_text("Carry the four.")
        expect(page.locator("dl")).to_contain_text("sum, trial 1")
        expect(page.locator("dl")).to_contain_text("1 passed, where")
        page.get_by_role("link", name="sum, trial 1").click()
        # what did it cost
        expect(page.locator("dl").first).to_contain_text("tokens")


def test_four_questions_of_a_project_of_the_demo(tmp_path: Path, browser: Browser) -> None:
    """By clicks alone, from the address that is printed: why did trial 3 happen? What did a lesson say, where does it
    come from, did it help? Which tests flipped? What did it cost?"""
    with as_file(files("groundwire") / "demo" / "projects" / "6_durations") as project:
        copy = shutil.copytree(project, tmp_path / "6_durations")
    ledger = tmp_path / "ledger.db"
    where = ("--db", f"sqlite:///{ledger}")
    repaired = groundwire("repair", copy, "--max-trials", "3", "--width", "16", *where)
    assert "in a browser: groundwire view" in repaired.out, repaired.out + repaired.err
    with viewing(ledger) as address, page_of(browser) as page:
        page.goto(address)
        page.locator("tbody tr").first.get_by_role("link").first.click()
        page.get_by_role("link", name="6_durations", exact=True).click()
        # what did it cost
        expect(page.locator("dl").first).to_contain_text(re.compile(r"0 tokens, \$0, 0 calls, 3 trials, .* s"))
        page.get_by_text("Where time and tokens went").click()
        expect(page.get_by_role("link", name=re.compile("^trial 3, ")).first).to_be_visible()
        # why: the signal that opened the gate is one click away
        page.get_by_role("navigation", name="Trials").get_by_role("link", name="3").click()
        third = page.get_by_role("region", name="Trial 3")
        expect(third).to_be_in_viewport()
        expect(third).to_contain_text(re.compile(r"the gate opened on test: \d of \d cases failed in trial 2"))
        third.get_by_role("link", name="test", exact=True).first.click()
        expect(page.get_by_role("table")).to_contain_text("failed")
        page.go_back()
        # which tests flipped
        flipped = page.get_by_role("row", name=re.compile("test_nonsense_is_refused"))
        expect(flipped).to_have_class("changed")
        flipped.get_by_role("link").first.click()
        expect(page.get_by_role("table")).to_contain_text("KeyError")
        page.go_back()
        # what did the lesson say, where does it come from, did it help
        third.locator(".lessons a").first.click()
        expect(page.locator("blockquote")).to_contain_text("cases fail")
        facts = page.locator("dl")
        expect(facts).to_contain_text(re.compile(r"of \d trials? that had it 0 passed"))
        facts.get_by_role("link", name=re.compile("6_durations, trial")).click()
        expect(page.get_by_role("heading", name=re.compile("6_durations"))).to_be_visible()


@pytest.mark.parametrize("log", ["small", "published"])
def test_four_questions_of_an_imported_run(tmp_path: Path, browser: Browser, log: str) -> None:
    file = tmp_path / "react_reflexion_7trials.txt.gz"
    if log == "published":
        file = published("reflexion_hotpotqa") / file.name
    else:
        file.write_bytes(gzip.compress(questions(reflects=True).encode()))
    ledger = tmp_path / "ledger.db"
    imported = groundwire("import", file, "--db", f"sqlite:///{ledger}")
    assert imported.code == 0, imported.err
    last = 2 if log == "small" else 3
    with viewing(ledger) as address, page_of(browser) as page:
        page.goto(address)
        page.locator("tbody tr").first.get_by_role("link").first.click()
        page.get_by_role("link", name="trials").click()
        page.locator("tbody tr").first.get_by_role("link").click()
        # what did it cost: a log that does not say is not said to have been free
        expect(page.locator("dl").first).to_contain_text("tokens and cost were not recorded")
        # why, and what flipped: what it did then, and what the world said
        trial = page.get_by_role("region", name=f"Trial {last}")
        expect(trial).to_contain_text(f"it said fail in trial {last - 1}")
        expect(trial).to_contain_text(re.compile(r"(Search|Finish)\["))
        before = page.get_by_role("region", name=f"Trial {last - 1}")
        before.get_by_role("link", name="signal").click()
        expect(page.get_by_role("heading", level=1)).to_contain_text("fail")
        page.go_back()
        # what did the lesson say, where does it come from, did it help
        said = trial.locator(".lessons a").last.inner_text()
        trial.locator(".lessons a").last.click()
        expect(page.locator("blockquote")).to_contain_text(said[:40])
        expect(page.locator("dl")).to_contain_text(re.compile(r"trial \d"))
        expect(page.locator("dl")).to_contain_text(re.compile(r"of \d trials? that had it \d passed"))
        page.locator("dl").get_by_role("link", name=re.compile("trial")).click()
        expect(page.get_by_role("region", name="Trial 1")).to_be_visible()


def test_a_repair_is_followed_while_it_goes(tmp_path: Path, browser: Browser) -> None:
    tests = "import m\n\n\ndef test_one():\n    assert m.one(3) == 10\n"
    lay_out(tmp_path / "p", {"m.py": "def one(n):\n    return n * 2 + 5\n", "test_m.py": tests})
    ledger = tmp_path / "ledger.db"
    written(two_runs(tmp_path))
    with viewing(ledger) as address, page_of(browser) as page:
        page.goto(address)
        page.goto(f"{address.partition('?')[0]}lessons")
        process = begin("repair", tmp_path / "p", "--db", f"sqlite:///{ledger}", "--max-seconds", "60")
        try:
            base = address.partition("?")[0]
            # it is in the list as soon as it begins, and then in an open page without anybody asking again
            for _ in range(300):
                page.goto(base)
                if page.get_by_role("row", name="running").count():
                    break
                page.wait_for_timeout(100)
            page.get_by_role("row", name="running").get_by_role("link").first.click()
            expect(page.locator("#live-state")).to_have_text(re.compile("live|ended"), timeout=60_000)
            expect(page.locator("main")).to_contain_text("verified", timeout=90_000)
            expect(page.locator("#live-state")).to_have_text("ended", timeout=60_000)
        finally:
            out, _ = process.communicate(timeout=120)
        assert process.returncode == 0, out


def test_many_trials_and_a_change_far_down_can_be_read(tmp_path: Path, browser: Browser) -> None:
    run = written(long_run(tmp_path))
    with viewing(tmp_path / "ledger.db") as address, page_of(browser) as page:
        page.goto(address)
        page.get_by_role("link", name=run.id[:13]).click()
        page.get_by_role("link", name="sum", exact=True).click()
        page.wait_for_url("**/episode/*")
        name, heads = page.locator(".matrix tbody th").first, page.locator(".matrix thead th")
        for width in (390, 1280):
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
            # a case's name takes few lines, and stays in sight however far to the side one looks
            assert name.evaluate("one => one.offsetHeight < 120 && one.offsetWidth > 150")
            heads.last.scroll_into_view_if_needed()
            expect(heads.last).to_be_in_viewport()
            expect(name).to_be_in_viewport()
        page.locator(".candidate a").first.click()
        page.wait_for_url("**/candidate/*")
        columns = page.locator(".diff tr").nth(1).locator("td").evaluate_all("all => all.map(one => one.offsetWidth)")
        assert columns[0] < 60 and columns[2] < 60 and columns[1] > 400, columns


def test_going_through_the_failures_by_keys_and_taking_a_patch(tmp_path: Path, browser: Browser) -> None:
    run = written(three_tasks(tmp_path))
    with viewing(tmp_path / "ledger.db") as address, page_of(browser) as page:
        page.goto(address)
        page.get_by_role("link", name=run.id[:13]).click()
        page.get_by_label("Verdict").select_option("fail")
        page.get_by_role("button", name="Show").click()
        page.get_by_role("link", name="three").click()
        others = page.get_by_role("navigation", name="Episodes")
        expect(others).to_have_text(re.compile("1 of 2 that are like that"))
        page.wait_for_load_state()  # keys are minded once the script has run
        page.keyboard.press("n")
        expect(page.get_by_role("heading", level=1)).to_contain_text("one")
        expect(others).to_have_text(re.compile("previous.*2 of 2", re.S))
        page.wait_for_load_state()
        page.keyboard.press("p")
        expect(page.get_by_role("heading", level=1)).to_contain_text("three")
        page.locator(".candidate a").first.click()
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        page.get_by_role("button", name="Copy the patch").click()
        expect(page.get_by_role("button", name="Copied")).to_be_visible()
        assert page.evaluate("navigator.clipboard.readText()").startswith("diff --git a/answer.txt b/answer.txt")


def test_a_page_that_changes_under_somebody_leaves_them_what_they_hold(tmp_path: Path, browser: Browser) -> None:
    run = written(three_tasks(tmp_path))
    page = browser.new_page(viewport={"width": 1280, "height": 300})
    with viewing(tmp_path / "ledger.db") as address:
        page.goto(address)
        page.get_by_label(f"as A: {run.id[:13]}").check()
        link = page.get_by_role("link", name=run.id[:13])
        link.focus()
        written(two_runs(tmp_path))
        page.evaluate("refresh()")
        expect(page.locator("tbody tr")).to_have_count(3)
        expect(link).to_be_focused()
        expect(page.get_by_label(f"as A: {run.id[:13]}")).to_be_checked()
        expect(page.get_by_role("radio", checked=True)).to_have_count(1)
        link.click()
        page.wait_for_url("**/run/*")
        page.get_by_text("What was asked for").click()
        page.evaluate("refresh()")
        expect(page.locator("#config pre")).to_be_visible()
    # the viewer has ended: what is asked for now is said to have no answer, and asked for again later
    page.get_by_text("Are its records as they were written?").click()
    expect(page.get_by_text("The viewer does not answer.")).to_be_visible()
    page.close()


@pytest.mark.parametrize(("width", "scheme"), [(400, "dark"), (1280, "light"), (1600, "dark")])
def test_everybody_can_read_it(tmp_path: Path, browser: Browser, width: int, scheme: str) -> None:
    good, bad = written(two_runs(tmp_path))
    written(hostile_run(tmp_path))
    with viewing(tmp_path / "ledger.db") as address, page_of(browser, width=width, scheme=scheme) as page:
        page.goto(address)
        base = address.partition("?")[0].rstrip("/")
        seen: set[str] = set()
        found = ["/", "/lessons", "/search?q=42", f"/compare?a={good.id}&b={bad.id}"]
        if width == 400:  # drawing it takes seconds, and its page has no dark colours
            found.append(f"/report?run={good.id}")
        while found and len(seen) < 16:
            at = found.pop(0)
            kind = re.sub(r"[0-9a-f]{8}[0-9a-f-]{20,}", "ID", at)
            if kind in seen or "sort=" in at or "download" in at or "export" in at:
                continue
            seen.add(kind)
            page.goto(base + at)
            page.evaluate("document.querySelectorAll('details:not([data-src])').forEach((one) => (one.open = true))")
            found_by_axe = Axe().run(page)  # pyright: ignore[reportUnknownMemberType]  # its own hints are bare
            assert not found_by_axe.violations_count, (at, found_by_axe.generate_report())
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), at
            links = page.locator("main a[href^='/']").evaluate_all("all => all.map((a) => a.getAttribute('href'))")
            found += [str(link).partition("#")[0] for link in links]
        assert seen > {"/episode/ID", "/signal/ID", "/lesson/ID", "/compare-episodes?a=ID&b=ID"}


def test_hostile_text_runs_nowhere(tmp_path: Path, browser: Browser) -> None:
    run = written(hostile_run(tmp_path))
    out = tmp_path / "out.html"
    assert groundwire("view", run.id, "--export", out, "--db", f"sqlite:///{tmp_path / 'ledger.db'}").code == 0
    with viewing(tmp_path / "ledger.db") as address, page_of(browser) as page:
        page.goto(address)
        page.locator("tbody a").first.click()
        page.locator("tbody a").first.click()
        page.keyboard.press("o")
        page.wait_for_timeout(500)
        expect(page.locator("main")).to_contain_text("onerror")
        assert page.title() != "owned"
        # from disk, with no server: the whole trial is there, and opens
        page.goto(out.as_uri())
        page.keyboard.press("o")
        expect(page.locator("main")).to_contain_text("onerror")
        expect(page.locator("main")).to_contain_text("Trial 2")
        assert page.title() != "owned"
        page.keyboard.press("?")
        expect(page.get_by_role("dialog")).to_contain_text("next trial")
