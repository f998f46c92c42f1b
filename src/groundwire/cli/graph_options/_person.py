"""A person's corrections, at this terminal or out of a file."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from groundwire.core._candidates import Candidate
from groundwire.core._errors import ConfigError
from groundwire.core._paths import expand_user
from groundwire.core._tasks import Task
from groundwire.core._text import json_value, plain


@dataclass
class RecordedCorrections:
    """Corrections that were written down, each given once, to whoever asks next."""

    texts: list[str]
    lock: threading.Lock

    @classmethod
    def of(cls, path: Path) -> Callable[[Candidate, Task], str]:
        """The corrections in a file; the same ones for every task of a run.

        Raises:
            ConfigError: it can't be read, or holds something else than texts.
        """
        file = expand_user(path)
        if file not in _RECORDED:
            try:
                lines = [line for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]
            except (OSError, UnicodeDecodeError) as error:
                raise ConfigError(f"{file} can't be read: {error}.", do="Give JSON lines, a text each.") from error
            texts = [json_value(line, f"{file}:{number}") for number, line in enumerate(lines, 1)]
            if not all(isinstance(text, str) for text in texts):
                raise ConfigError(f"{file} holds something else than texts.", do='Write a JSON text a line, like "".')
            _RECORDED[file] = cls(cast("list[str]", texts), threading.Lock())
        return _RECORDED[file]

    def __call__(self, candidate: Candidate, task: Task) -> str:
        with self.lock:
            if not self.texts:
                raise EOFError  # nobody is there
            return self.texts.pop(0)


_RECORDED: dict[Path, RecordedCorrections] = {}
_AT_THE_TERMINAL = threading.Lock()


def ask_here(candidate: Candidate, task: Task) -> str:
    """Shows a candidate at this terminal and waits for a correction; one at a time."""
    from rich.console import Console
    from rich.text import Text

    console = Console(stderr=True, highlight=False)
    with _AT_THE_TERMINAL:
        console.print(Text(f"{plain(task.id, limit=60)}: {plain(task.prompt, limit=400)}", style="bold"))
        for path, content in sorted(candidate.changes.items()):
            text = "(deleted)" if content is None else content.decode("utf-8", "replace")
            console.print(Text(f"--- {plain(path, limit=200)}", style="dim"))
            for line in text.splitlines()[:200]:
                console.print(Text(plain(line, limit=400)), soft_wrap=True)
        return console.input("correction (empty: it is right): ")
