"""What docs/security.md says of each limit is what the sandboxes say of themselves, and doctor of them."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest
from sandboxes_here import KINDS, opened
from services import IMAGE

from groundwire.core._candidates import Tree
from groundwire.core._errors import SandboxUnavailable
from groundwire.core._sandboxes import Enforcement, LimitName, Limits
from groundwire.sandbox import probe_all

PAGE = Path(__file__).parents[2] / "docs" / "security.md"


def promised() -> dict[str, dict[str, list[str]]]:
    """Kind → limit → what it may be: first where control groups can be made, then where not."""
    lines = [line.strip().strip("|").split("|") for line in PAGE.read_text().splitlines() if line.startswith("|")]
    cells = [[cell.strip().strip("`") for cell in line] for line in lines]
    (start,) = [number for number, line in enumerate(cells) if line[0] == "limit"]
    kinds = cells[start][1:]
    rows = cells[start + 2 : start + 2 + len(get_args(LimitName))]
    return {kind: {row[0]: row[column].split(", else ") for row in rows} for column, kind in enumerate(kinds, 1)}


def test_the_page_speaks_of_every_limit():
    for limits in promised().values():
        assert list(limits) == list(get_args(LimitName))


@pytest.mark.parametrize("counted", [True, False], ids=["as here", "without control groups"])
@pytest.mark.parametrize("kind", KINDS)
async def test_it_is_so(kind: str, counted: bool, monkeypatch: pytest.MonkeyPatch):
    if not counted:
        monkeypatch.setattr("groundwire.sandbox._bubblewrap.find_parents", lambda: None)
        monkeypatch.setattr("groundwire.sandbox._local_run.find_parents", lambda: None)
    box = await opened(kind)
    for limit, held in box.info.enforcement.items():
        wanted = promised()[kind][limit]
        assert held in (wanted if counted else wanted[-1:]), limit
        if held is Enforcement.UNAVAILABLE:
            with pytest.raises(SandboxUnavailable, match=limit):
                await box.run(["python", "-c", ""], Tree(), Limits(required=frozenset({limit})))
    await box.aclose()


@pytest.mark.docker
async def test_doctor_shows_what_was_probed():
    for probe in await probe_all(image=IMAGE):
        if probe.ok:
            box = await opened(probe.kind)
            assert probe.enforcement == box.info.enforcement
            await box.aclose()
        else:
            assert probe.cure
