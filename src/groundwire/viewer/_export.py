"""One HTML file of an episode or a run, to be opened from a disk without any server."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Sequence

from markupsafe import Markup

from groundwire.core._version import __version__
from groundwire.memory._browsing import RunSummary
from groundwire.viewer._episode import EpisodeView
from groundwire.viewer._pages import asset, render
from groundwire.viewer._way import Way

MOST_BYTES = 20_000_000
"""Of a file: a browser opens no more with pleasure."""
CASES, CANDIDATES = 300, 20
Shown = tuple[EpisodeView, Way]


def export_episode(view: EpisodeView, way: Way) -> str:
    """An episode as one document."""
    return _document([(view, _body(view, way, ""))], view.task_id, None, 0)


def export_run(run: RunSummary, shown: Iterable[Shown]) -> str:
    """A run as one document of 20 MB at most; what does not fit is said to be left out.

    Args:
        run: the run.
        shown: its episodes; no more are read than fit.
    """
    kept: list[tuple[EpisodeView, Markup]] = []
    size = 0
    for view, way in shown:
        body = _body(view, way, f"{view.id}-")
        size += len(body.encode())
        if kept and size > MOST_BYTES:
            break
        kept.append((view, body))
    return _document(kept, f"{run.graph} {run.id[:13]}", run, run.episodes - len(kept))


def _body(view: EpisodeView, way: Way, pre: str) -> Markup:
    """An episode's part of a document; `pre` keeps its anchors apart from those of others."""
    text = render(
        "episode_body.html",
        view=view,
        way=way,
        pre=pre,
        alone=True,
        drawing=None,
        budget={},
        shown_cases=CASES,
        shown_candidates=CANDIDATES,
    )
    return Markup(text)  # its template has escaped all of it


def _document(episodes: Sequence[tuple[EpisodeView, Markup]], title: str, run: RunSummary | None, left_out: int) -> str:
    css, js = asset("viewer.css"), asset("viewer.js")
    policy = (
        f"default-src 'none'; style-src '{_hash(css)}'; script-src '{_hash(js)}'; img-src data:; base-uri 'none';"
        " form-action 'none'"
    )
    return render(
        "export.html",
        episodes=episodes,
        title=title,
        run=run,
        left_out=left_out,
        most_mb=MOST_BYTES // 1_000_000,
        # our own files: the only text that is taken as it is
        css=Markup(css),
        js=Markup(js),
        policy=policy,
        version=__version__,
    )


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
