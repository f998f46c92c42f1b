"""Runs a page of the docs as a reader would: block after block, in a folder of its own, and compares what is printed.

What each kind of block means:

    ```python                 runs; the blocks of a page share their names
    ```python title="a.py"    is written to that file
    ```text                   directly below one that runs: what it prints, and the error that ends it
    ```console                commands behind `$ `, each with what it prints; a command alone may print anything
    ```toml title="a.toml"    any kind with a title is written to that file

`…` in what is printed stands for any text on that line, or, alone on a line, for any lines.
"""

from __future__ import annotations

import asyncio
import io
import os
import re
import subprocess
import sys
import traceback
from ast import PyCF_ALLOW_TOP_LEVEL_AWAIT
from collections.abc import Iterator, Mapping
from contextlib import chdir, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from groundwire import GroundwireError

FENCE = re.compile(r"^( *)```(\w*)([^\n`]*)\n(.*?)^\1```[ \t]*$", re.MULTILINE | re.DOTALL)
TITLE = re.compile(r'title="([^"]+)"')


@dataclass(frozen=True)
class Block:
    """One fenced block: its kind, its title, its text, the line it begins in, and whether it follows the one before
    with nothing but white space between."""

    kind: str
    title: str
    text: str
    line: int
    follows: bool


def blocks_of(markdown: str) -> list[Block]:
    """The fenced blocks of a page, in their order."""
    found: list[Block] = []
    end = 0
    for match in FENCE.finditer(markdown):
        indent = len(match[1])
        text = "".join(line[indent:] if line.strip() else line for line in match[4].splitlines(keepends=True))
        title = TITLE.search(match[3])
        follows = not markdown[end : match.start()].strip()
        line = markdown.count("\n", 0, match.start()) + 1
        found.append(Block(match[2], title[1] if title else "", text, line, follows))
        end = match.end()
    return found


def run_page(markdown: str, folder: Path, env: Mapping[str, str], given: Mapping[str, Any] | None = None) -> None:
    """Runs a page's blocks in `folder`.

    Args:
        markdown: the page.
        folder: where it runs.
        env: of its commands.
        given: names that its first block finds: those of a program of which the page shows a part.

    Raises:
        AssertionError: a block printed something else than the page says, or failed; with the block's line.
    """
    names: dict[str, Any] = {"__name__": "__main__", **(given or {})}
    said: str | None = None
    with chdir(folder):
        for block in blocks_of(markdown):
            where = f"line {block.line}"
            if block.title:
                path = Path(block.title)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(block.text)
            elif block.kind == "python":
                assert said is None or "Traceback" not in said, f"{where}: the block before failed:\n{said}"
                said = _run_python(block.text, names)
                continue
            elif block.kind == "text" and said is not None and block.follows:
                _compare(block.text, said, where)
            elif block.kind == "console":
                for command, wanted in commands_of(block.text):
                    _run_command(command, wanted, where, env)
            assert said is None or block.kind == "text" or "Traceback" not in said, f"{where}: before it:\n{said}"
            said = None
    assert said is None or "Traceback" not in said, said


def commands_of(text: str) -> Iterator[tuple[str, str]]:
    """The commands of a console block, and what each prints."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, printed = part.partition("\n")
        while command.endswith("\\"):
            more, _, printed = printed.partition("\n")
            command = command[:-1] + more.strip()
        yield command, printed


def _run_python(code: str, names: dict[str, Any]) -> str:
    printed = io.StringIO()
    with redirect_stdout(printed):
        try:
            waits = eval(compile(code, "<page>", "exec", flags=PyCF_ALLOW_TOP_LEVEL_AWAIT), names)
            if waits is not None:
                asyncio.run(waits)
        except GroundwireError as error:
            print(f"{type(error).__name__}: {error}")
        except Exception:
            traceback.print_exc(file=printed)
    return printed.getvalue()


def _run_command(command: str, wanted: str, where: str, env: Mapping[str, str]) -> None:
    """Runs one command line as the reader's shell would; where the page says what it prints, that alone is compared."""
    ran = subprocess.run(
        ["bash", "-c", command], env=env, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL
    )
    if wanted.strip():
        _compare(wanted, ran.stdout + ran.stderr, f"{where}: {command}")
    else:
        assert ran.returncode == 0, f"{where}: {command}\nexit code {ran.returncode}\n{ran.stdout}{ran.stderr}"


def _compare(wanted: str, printed: str, where: str) -> None:
    lines = [line.rstrip() for line in wanted.rstrip().splitlines()]
    pattern = "\n".join("(?:.*\n?)*?" if line == "…" else ".*".join(map(re.escape, line.split("…"))) for line in lines)
    pattern = pattern.replace("(?:.*\n?)*?\n", "(?:.*\n)*?")
    got = "\n".join(line.rstrip() for line in printed.rstrip().splitlines())
    assert re.fullmatch(pattern, got), f"{where}: the page says\n{wanted}\nand it printed\n{printed}"


def environment(folder: Path) -> dict[str, str]:
    """What a page's commands see: a home of their own, this Python, no colours."""
    kept = {name: value for name, value in os.environ.items() if name in ("LANG", "TMPDIR")}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    homes = {name: str(folder / f".{name}") for name in ("HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME")}
    return {**kept, **homes, "PATH": path, "NO_COLOR": "1", "COLUMNS": "120", "PYTHONDONTWRITEBYTECODE": "1"}
