"""Pictures of the viewer for the docs: repairs a project of the demo, opens Chromium, keeps `docs/images/viewer-*.png`.

.venv/bin/python bench/view_screens.py
"""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from groundwire import demo

IMAGES = Path(__file__).parents[1] / "docs" / "images"
PROGRAM = Path(sys.executable).with_name("groundwire")
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def main() -> int:
    """Makes them."""
    program = next(filter(None, map(shutil.which, BROWSERS)))
    with tempfile.TemporaryDirectory() as folder:
        where = ["--db", f"sqlite:///{Path(folder) / 'ledger.db'}"]
        projects = Path(next(iter(demo.__path__))) / "projects"
        for name in ("1_booking", "6_durations"):
            copy = shutil.copytree(projects / name, Path(folder) / name)
            subprocess.run([PROGRAM, "repair", copy, "--max-trials", "4", "--width", "16", *where], check=False)
        viewing = subprocess.Popen([PROGRAM, "view", *where], stdout=subprocess.PIPE, text=True)
        assert viewing.stdout is not None
        address = re.findall(r"http://\S+", viewing.stdout.readline())[0]
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=program)
            for scheme, name in (("light", "episode"), ("dark", "signal"), ("light", "time")):
                page = browser.new_page(viewport={"width": 1180, "height": 860}, color_scheme=scheme)  # pyright: ignore[reportArgumentType]  # a literal
                page.goto(address)
                page.locator("tbody tr").first.get_by_role("link").first.click()
                page.locator("tbody tr").last.get_by_role("link").first.click()
                if name == "signal":
                    page.locator(".signal a").first.click()
                if name == "time":
                    page.get_by_text("Where time and tokens went").click()
                    page.locator(".flame").first.scroll_into_view_if_needed()
                    page.locator("details[open]").last.screenshot(path=IMAGES / f"viewer-{name}.png")
                    continue
                page.screenshot(path=IMAGES / f"viewer-{name}.png")
            browser.close()
        viewing.send_signal(signal.SIGINT)
        viewing.wait()
    return 0


if __name__ == "__main__":
    sys.exit(main())
