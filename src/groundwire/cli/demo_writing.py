"""The second act of `groundwire demo`: how often a small model is right at first, and how often after the check."""

from __future__ import annotations

import importlib.util
import time
from contextlib import aclosing
from typing import Any

from rich.console import Console
from rich.text import Text

from groundwire.agents.backends.guard import check_model_calls
from groundwire.agents.backends.local_model import SMOLLM2, engine_is_installed, find_model
from groundwire.cli.text import plain, plural, visible
from groundwire.demo.functions import function_tasks
from groundwire.demo.writing import ANSWERS, Written, write_functions
from groundwire.errors import GroundwireError
from groundwire.records import StopReason, Store
from groundwire.settings import Settings

__all__ = ["second_act", "what_is_missing"]

SECONDS = 52.0
"""For the writing, so that the whole act, with what it opens and closes, stays below 60."""
FUNCTIONS_SHOWN = 10
"""Every second one of the twenty, so as not to choose by outcome."""
LINES_SHOWN = 8


async def second_act(settings: Settings, store: Store, console: Console) -> dict[str, Any]:
    """Has functions written and judged, and prints it; where something is missing, says so in one line.

    Returns:
        The same for `--json`; under `error`, what went wrong.
    """
    missing = what_is_missing()
    console.print()
    if missing is not None:
        why, do = missing
        line = Text(f"second act left out: {why}.", style="yellow")
        line.append(f"  {do}", style="default")
        console.print(line, soft_wrap=True)
        return {"left_out": why, "do": do}
    size = f"{SMOLLM2.file_bytes / 1e6:.0f} MB"
    intent = f"A small language model on this CPU ({SMOLLM2.name}, {size}, no key, no cost) writes easy functions."
    console.print(Text(f"Second act. {intent}", style="bold"), soft_wrap=True)
    said = f"First its likeliest answer; only where tests outside it say FAIL, up to {ANSWERS - 1} samples more."
    console.print(Text(said), soft_wrap=True)
    started, written = time.monotonic(), list[Written]()
    try:
        await _write(settings, store, console, written)
    except GroundwireError as error:
        console.print(Text(f"second act stopped: {plain(error.what)}", style="yellow"), soft_wrap=True)
        if error.do:
            console.print(Text(f"  {plain(error.do)}", style="yellow"), soft_wrap=True)
        return {"error": error.what, "do": error.do, **_as_data(written, time.monotonic() - started)}
    seconds = time.monotonic() - started
    _print_share(console, written, seconds)
    return _as_data(written, seconds)


def what_is_missing() -> tuple[str, str] | None:
    """Why a local model can't be called here, and what to do about it; None where it can."""
    try:
        check_model_calls("local")
    except GroundwireError as error:
        return "model calls are refused here", error.do
    engine = engine_is_installed() and importlib.util.find_spec("litellm") is not None
    model = find_model() is not None
    if engine and model:
        return None
    steps = [] if engine else ['pip install "groundwire[local]"']
    steps += [] if model else ["groundwire model install"]
    what = "a small language model on this CPU"
    return f"{what} is not installed", f"Add it:  {' && '.join(steps)}"


async def _write(settings: Settings, store: Store, console: Console, written: list[Written]) -> None:
    # imported here: it loads the engine's client
    from groundwire.agents.backends.local import LocalBackend

    tasks = function_tasks()[::2][:FUNCTIONS_SHOWN]
    async with aclosing(LocalBackend()) as backend:
        outcomes = write_functions(tasks, backend, store, seconds=SECONDS, sandbox=settings.sandbox, seed=settings.seed)
        with console.status(Text("writing …"), spinner="dots"):
            async with aclosing(outcomes):
                async for one in outcomes:
                    written.append(one)
                    _print_one(console, one)


def _print_one(console: Console, one: Written) -> None:
    mark, style = ("✓", "green") if one.right else ("✗", "red") if one.finished else ("–", "yellow")
    line = Text(f"{mark} ", style=style)
    line.append(f"{one.task.id:<17}", style="bold")
    line.append(_how(one), style="default")
    console.print(line, soft_wrap=True)
    if one.right and not one.right_at_once:
        for text in _body(one)[:LINES_SHOWN]:
            console.print(Text(f"    {visible(text)}", style="green"), no_wrap=True, overflow="ellipsis")


def _how(one: Written) -> str:
    tries = plural(one.result.candidates, "different answer")
    if not one.finished:
        return "not known: the time was up"
    if one.right_at_once:
        return "right at the first try"
    if one.right:
        return f"wrong at the first try; right among {tries}, which the tests told apart"
    if one.result.stop_reason is StopReason.HIDDEN_FAILED:
        return f"an answer passed the tests and failed the hidden ones, so none is taken ({tries})"
    return f"none of {tries} is right, and none is taken"


def _body(one: Written) -> list[str]:
    """What the model wrote: the lines that are not in the stub."""
    if one.result.best is None:
        return []
    given = one.task.tree.files
    return [
        line
        for path, content in one.result.best.candidate.changes.items()
        for line in (content or b"").decode(errors="replace").split("\n")
        if line.strip() and line not in given.get(path, b"").decode(errors="replace").split("\n")
    ]


def _print_share(console: Console, written: list[Written], seconds: float) -> None:
    known = [w for w in written if w.finished]
    if len(known) < len(written):
        said = f"stopped after {seconds:.0f} s: the time for this act was up"
        console.print(Text(said, style="yellow"), soft_wrap=True)
    first, after = sum(w.right_at_once for w in known), sum(w.right for w in known)
    line = Text(f"right at the first try: {first} of {len(known)}   ", style="bold")
    line.append(f"after the check: {after} of {len(known)}", style="bold green")
    line.append(f"   in {seconds:.0f} s", style="dim")
    console.print(line, soft_wrap=True)
    note = "What helps a model of this size is more samples and a check outside it, not being told what failed."
    console.print(Text(note, style="dim"), soft_wrap=True)


def _as_data(written: list[Written], seconds: float) -> dict[str, Any]:
    known = [w for w in written if w.finished]
    return {
        "model": SMOLLM2.name,
        "functions": [
            {
                "task_id": w.task.id,
                "run_id": w.result.run_id,
                "episode_id": w.result.episode_id,
                "right_at_once": w.right_at_once,
                "right": w.right,
                "stop_reason": w.result.stop_reason,
                "answers": w.result.candidates,
                "tokens": w.result.tokens,
                "usd": w.result.usd,
            }
            for w in written
        ],
        "known": len(known),
        "right_at_once": sum(w.right_at_once for w in known),
        "right": sum(w.right for w in known),
        "seconds": round(seconds, 1),
    }
