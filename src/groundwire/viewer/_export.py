"""One HTML file of an episode or a run, to be opened from a disk without any server."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import AsyncIterable, Sequence
from dataclasses import replace

from markupsafe import Markup

from groundwire.core._version import __version__
from groundwire.memory._browsing import RunSummary
from groundwire.viewer._episode import EpisodeView
from groundwire.viewer._pages import TEXT_CHARS, asset, render
from groundwire.viewer._way import Way

MOST_BYTES = 20_000_000
"""Of the episodes in a file: a browser opens no more with pleasure."""
MOST_MB = MOST_BYTES // 1_000_000
CASES, CANDIDATES = 300, 20
TEXTS = (TEXT_CHARS, 4_000, 400)
"""Characters of each text of a prompt or an answer; the next of these where an episode would not fit otherwise."""
Shown = tuple[EpisodeView, Way]


def export_episode(view: EpisodeView, way: Way) -> str:
    """An episode as one document."""
    return _document([(view, _fitting(view, way, ""))], view.task_id, None, 0)


async def export_run(run: RunSummary, shown: AsyncIterable[Shown]) -> str:
    """A run as one document of 20 MB at most; what does not fit is said to be left out.

    Args:
        run: the run.
        shown: its episodes; no more are read than fit.
    """
    kept: list[tuple[EpisodeView, Markup]] = []
    size = 0
    async for view, way in shown:
        body = _fitting(view, way, f"{view.id}-")
        size += _bytes(body)
        if kept and size > MOST_BYTES:
            break
        kept.append((view, body))
    return _document(kept, f"{run.graph} {run.id[:13]}", run, run.episodes - len(kept))


def _fitting(view: EpisodeView, way: Way, pre: str) -> Markup:
    """An episode's part of a document, which fits by itself: its texts cut shorter if need be, then trials left out."""
    body = Markup()
    for chars in TEXTS:
        body = _body(view, way, pre, chars)
        if _bytes(body) <= MOST_BYTES:
            return body
    trials = view.trials
    while _bytes(body) > MOST_BYTES and len(trials) > 1:
        trials = trials[: len(trials) // 2]
        body = _body(replace(view, trials=trials), way, pre, TEXTS[-1], left_out=len(view.trials) - len(trials))
    return body


def _bytes(text: str) -> int:
    return len(text.encode())


def _body(view: EpisodeView, way: Way, pre: str, chars: int, *, left_out: int = 0) -> Markup:
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
        text_chars=chars,
        cut_texts=chars < TEXT_CHARS,
        most_mb=MOST_MB,
        left_out=left_out,
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
        most_mb=MOST_MB,
        # our own files: the only text that is taken as it is
        css=Markup(css),
        js=Markup(js),
        policy=policy,
        version=__version__,
    )


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
