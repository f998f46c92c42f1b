"""The system's Chromium, driven by Playwright."""

from __future__ import annotations

import shutil
from collections.abc import Generator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright
from services import BROWSERS


@contextmanager
def chromium() -> Generator[Browser]:
    """A browser without a window, for tests marked `browser`."""
    program = next(filter(None, map(shutil.which, BROWSERS)))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program)
        try:
            yield browser
        finally:
            browser.close()
