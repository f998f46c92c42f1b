"""What runs came to: in the terminal, as data, and as a page."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path

import pytest
from cli import BUGGY, groundwire, lay_out
from reported import HOSTILE, TURNED, guessed

from groundwire.cli._report import run_report
from groundwire.core._errors import ConfigError, RecordNotFound
from groundwire.memory import SqlStore

FIXED, FIRST, LASTING, FALSE = ["no", "right"], ["right"], ["no", "nay", "never"], ["no", "almost right"]


@dataclass(frozen=True)
class Runs:
    """Runs in a database of their own."""

    url: str
    main: str
    control: str
    plain: str


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runs]:
    """A run with its control, and one of a single task without hidden tests; nothing here changes them."""
    home = tmp_path_factory.mktemp("home")
    url = f"sqlite:///{home}/ledger.db"

    async def make() -> Runs:
        store = SqlStore(url)
        named = [(f"fixed{at}", FIXED) for at in range(8)]
        main = await guessed(store, [*named, ("first", FIRST), ("lasting", LASTING), (HOSTILE, FALSE)])
        control = await guessed(
            store,
            [*((name, ["no", "nay"]) for name, _ in named), ("first", FIRST), ("lasting", LASTING), (HOSTILE, FIXED)],
            control_of=main,
            control="resampling",
            held_to="allowance",
        )
        plain = await guessed(store, [("alone", FIRST)], hidden=False)
        await store.aclose()
        return Runs(url, main, control, plain)

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(home))
        yield asyncio.run(make())


class Seen(HTMLParser):
    """What a browser would make of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.handlers: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            if name == "href" and tag == "a":
                self.links.append(value or "")
            if name.startswith("on") or name == "src":
                self.handlers.append(name)


def test_a_run_is_reported_beside_its_control(runs: Runs, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "report.html"
    assert run_report([runs.main[:20]], {"db": runs.url}, control=None, html=page, as_json=False) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "can't tell if reflection helped" not in out
    assert "reflection helped (n = 11): +63.6 points (95 % interval" in out
    assert "8 tasks better, 1 worse, exact p = 0.039); the control was allowed what the run was: equal; judgings" in out
    assert "from first try to answer, all 11: 9.1 % → 81.8 %, 8 fixed, 0 broken" in out
    assert "1 of 10 answers that passed failed the hidden tests (10.0 %)" in out
    assert "a control: resampling" in out
    assert "this is a control arm" in out
    assert "\x1b[8m" not in out
    text = page.read_text()
    assert "<script" not in text.lower()
    assert TURNED not in text
    assert "\u202e" not in text
    seen = Seen()
    seen.feed(text)
    assert seen.handlers == []
    assert not seen.tags & {"script", "img", "iframe", "object", "link"}
    assert "&lt;script&gt;" in text, "it is shown as it was written"
    assert len(seen.ids) == len(set(seen.ids))
    assert {link for link in seen.links if not (link.startswith("#") and link[1:] in seen.ids)} == set()
    assert text.count("<svg") == 5
    assert not re.search(r"(?:src|href)=[\"']?(?:https?:)?//", text)
    assert text.index("reflection helped") < text.index("<svg")


def test_the_same_as_data(runs: Runs, capsys: pytest.CaptureFixture[str]) -> None:
    run_report([runs.main, runs.plain], {"db": runs.url}, control=None, html=None, as_json=True)
    main, alone, control = json.loads(capsys.readouterr().out)["runs"]
    assert (main["run"], alone["run"], control["run"]) == (runs.main, runs.plain, runs.control)
    assert main["answer"] == "helped"
    (compared,) = main["controls"]
    assert (compared["control"], compared["what"]) == ("C", "reflection")
    assert (compared["comparison"]["tasks"], compared["comparison"]["better"]) == (11, 8)
    measured = main["measured"]
    assert (measured["correction"]["fixes"], measured["correction"]["false_passes"]) == (8, 1)
    assert measured["signal"] == {
        "tp": 9, "fn": 0, "fp": 1, "tn": 0, "precision": 0.9, "recall": None, "false_pass_share": 0.1
    }  # fmt: skip
    assert measured["provenance"]["triggers"]["tests"]["value"] == 1.0
    assert (main["grounded"], len(main["episodes"])) == (True, 11)
    ids = {e["episode"]: e for e in main["episodes"]}
    (false,) = main["sets"]["false"]
    assert (ids[false]["task"], ids[false]["right"], ids[false]["stop"]) == (HOSTILE, False, "hidden_failed")
    assert len(main["sets"]["fixes"]) == 8
    assert alone["answer"] == "can't tell"
    assert alone["controls"] == []
    assert any("no hidden tests judged an answer" in remark for remark in alone["remarks"])


def test_one_episode_without_hidden_tests_has_a_page_too(
    runs: Runs, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "one.html"
    run_report([runs.plain], {"db": runs.url}, control=None, html=page, as_json=False)
    assert "can't tell if reflection helped (n = 1): there is no control arm" in capsys.readouterr().out
    assert "100.0 % (1 of 1)" in page.read_text()


def test_any_run_may_be_the_control(runs: Runs, capsys: pytest.CaptureFixture[str]) -> None:
    run_report([runs.control], {"db": runs.url}, control=runs.main, html=None, as_json=True)
    control, main = json.loads(capsys.readouterr().out)["runs"]
    assert (control["answer"], control["verdict"][:15]) == ("hurt", "reflection hurt")
    assert main["answer"] is None


def test_what_can_not_be_done_is_said(runs: Runs, tmp_path: Path) -> None:
    with pytest.raises(RecordNotFound, match="more than one run"):
        run_report([runs.main[:2]], {"db": runs.url}, control=None, html=None, as_json=False)
    with pytest.raises(ConfigError, match="can't be written to"):
        run_report([runs.plain], {"db": runs.url}, control=None, html=tmp_path / "no" / "x.html", as_json=False)
    code = "import sys; sys.modules['scipy'] = None; import groundwire.evaluation"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "ConfigError: Metrics need scipy." in ran.stderr
    assert 'pip install "groundwire[eval]"' in ran.stderr


def test_a_repair_of_a_real_project_is_reported_by_the_program(tmp_path: Path) -> None:
    """The search actor in the sandbox, and the command as a person types it."""
    project = lay_out(tmp_path / "project", BUGGY)
    database = f"sqlite:///{tmp_path}/ledger.db"
    repaired = groundwire("repair", project, "--test", "python -m pytest -q", "--db", database, "--json")
    assert repaired.code == 0, repaired.err
    page = tmp_path / "report.html"
    ran = groundwire("report", repaired.data["run_id"][:18], "--db", database, "--html", page, "--json")
    assert ran.code == 0, ran.err
    (told,) = ran.data["runs"]
    assert told["measured"]["outcome"]["by_round"][0]["part"] == 0, "what was given failed"
    assert told["measured"]["outcome"]["final"]["part"] == 1
    assert told["measured"]["cost"]["judgings"] == repaired.data["signals"]
    assert told["measured"]["provenance"]["triggers"] == {
        "tests": {"part": 1, "whole": 1, "value": 1.0, "interval": pytest.approx([0.025, 1.0], abs=1e-4)}
    }
    assert told["episodes"][0]["episode"] == repaired.data["episode_id"]
    assert repaired.data["episode_id"] in page.read_text()


@pytest.mark.browser
def test_the_page_in_a_real_browser(runs: Runs, tmp_path: Path) -> None:
    from browsing import chromium

    page_file = tmp_path / "report.html"
    run_report([runs.main, runs.plain], {"db": runs.url}, control=None, html=page_file, as_json=False)
    said: list[str] = []
    asked: list[str] = []
    with chromium() as browser:
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("dialog", lambda dialog: said.append(dialog.message))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(page_file.as_uri())
        assert page.title() == "groundwire report", "nothing hostile was executed"
        assert said == []
        assert asked == [page_file.as_uri()], "nothing comes from elsewhere"
        verdict = page.locator(".verdict .sentence").first
        box = verdict.bounding_box()
        assert box is not None
        assert box["y"] + box["height"] < 800, "the verdict is in the first screen"
        assert verdict.inner_text().startswith("reflection helped (n = 11): +63.6 points")
        drawings = page.locator("figure svg")
        assert drawings.count() == 5
        for at in range(5):
            drawn = drawings.nth(at).bounding_box()
            assert drawn is not None
            assert min(drawn["width"], drawn["height"]) > 100
        page.get_by_role("link", name="8", exact=True).first.click()
        listed = page.locator(":target")
        assert listed.inner_text().startswith("A wrong at first, right at the end (8)")
        listed.get_by_role("link").first.click()
        assert "fixed0" in page.locator(":target h3").inner_text()
        assert page.locator(":target").bounding_box() is not None
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), "it fits"
        assert said == []
