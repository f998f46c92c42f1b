"""What a machine may lack: tests that need it are marked with its name, and begin only where it is.

`GROUNDWIRE_TEST_SERVICES` names, apart by spaces, those that are promised: one of them that is missing is an error,
where any other is a reason to skip.
"""

from __future__ import annotations

import os
import shutil
from functools import cache

import pytest

__all__ = ["BROWSERS", "IMAGE", "POSTGRES", "SERVICES", "missing", "need_services"]

IMAGE = os.environ.get("GROUNDWIRE_TEST_IMAGE", "sandbox-py:latest")
POSTGRES = os.environ.get("GROUNDWIRE_TEST_POSTGRES", "")
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
PROMISED = os.environ.get("GROUNDWIRE_TEST_SERVICES", "").split()


def _docker() -> str:
    from groundwire.core._errors import SandboxUnavailable
    from groundwire.sandbox._docker_engine import connect

    try:
        connect(IMAGE).client.close()
    except SandboxUnavailable as error:
        return f"{error.what} {error.do}"
    return ""


def _postgres() -> str:
    return "" if POSTGRES else "GROUNDWIRE_TEST_POSTGRES is not set: export it from .ci/start-postgres.sh"


def _browser() -> str:
    return "" if any(map(shutil.which, BROWSERS)) else "no Chromium here: apt-get install chromium"


def _system_bwrap() -> str:
    return "" if shutil.which("bwrap") else "no bwrap on PATH: apt-get install bubblewrap"


SERVICES = {"docker": _docker, "postgres": _postgres, "browser": _browser, "system_bwrap": _system_bwrap}
"""Marker → looks for the service: empty, or what is missing and where it is had."""


@cache
def missing(service: str) -> str:
    """What this machine lacks of a service; empty: it is here."""
    return SERVICES[service]()


def need_services(test: pytest.Item) -> None:
    """Skips a test that is marked for what is missing; fails it where that was promised."""
    for service in SERVICES:
        if test.get_closest_marker(service) and (lack := missing(service)):
            if service in PROMISED:
                pytest.fail(f"{service} was promised in GROUNDWIRE_TEST_SERVICES: {lack}", pytrace=False)
            pytest.skip(f"{service}: {lack}")
