"""Which files of a folder are audited: not what git ignores, not tests, not what is excluded."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from groundwire_audit.reading._files import is_too_large

SKIPPED = frozenset({"node_modules", "__pycache__", "site-packages", "build", "dist", "venv", "env"})
MENTIONS = re.compile(
    rb"langgraph|create_agent|StateGraph|create_react_agent|crewai|pydantic_ai|pydantic_graph|llama_index"
    rb"|from workflows|from agents import|import openai|from openai|anthropic|litellm|import ollama|from ollama|genai"
    rb"|generativeai|groq|mistralai|cohere|langchain"
)
"""What a file about agents mentions."""
ASKS_IN_LOOP = re.compile(rb"(?is)(?=.*\b(?:while|for)\b)(?=.*(?:llm|prompt|completion|chat_model))")
"""A file that may ask a model in a loop by way of a module of its own."""
MAX_FILES = 20_000
MAX_STARS = 12
TEST_FOLDERS = frozenset({"test", "tests", "testing"})
TEST_FILES = re.compile(r"^(test_.*|.*_test|tests|conftest)\.py$")


@dataclass
class Chosen:
    """The files of a folder.

    Args:
        files: those that are audited.
        tests: how many tests were left out.
        ignored: how many files git ignores or the caller excludes, of those that were looked at.
    """

    files: list[Path] = field(default_factory=list[Path])
    tests: int = 0
    ignored: int = 0


def choose(folder: Path, *, exclude: Sequence[str] = (), tests: bool = False) -> Chosen:
    """The Python files and notebooks of a folder that are about LangGraph.

    Args:
        folder: an existing folder.
        exclude: patterns as in a .gitignore, from this folder on.
        tests: tests too.
    """
    chosen = Chosen()
    beside: list[tuple[Path, frozenset[str]]] = []
    own = [_Rule.read(p) for p in exclude]
    rules: dict[Path, list[_Rule]] = {folder: [*_above(folder), *own]}
    for child, mentions in _below(folder, rules, chosen):
        if not mentions:
            beside.append((child, _imported(child)))
            continue
        if not tests and _is_test(child.relative_to(folder)):
            chosen.tests += 1
            continue
        if len(chosen.files) >= MAX_FILES:
            break
        chosen.files.append(child)
    chosen.files = sorted([*chosen.files, *_callers(chosen.files, beside)][:MAX_FILES])
    return chosen


def _callers(files: Sequence[Path], beside: Sequence[tuple[Path, frozenset[str]]]) -> list[Path]:
    """Files that do not mention LangGraph and import one that does: they may give its makers their arguments."""
    names = {f.parent.name if f.stem == "__init__" else f.stem for f in files}
    return [path for path, imported in beside if not imported.isdisjoint(names) and not _is_test(path)]


IMPORTS = re.compile(rb"^[ \t]*(?:from|import)[ \t]+(.*)", re.MULTILINE)
WORD = re.compile(rb"\w+")


def _imported(path: Path) -> frozenset[str]:
    """All names on the lines with imports; roughly is enough."""
    try:
        content = path.read_bytes()
    except OSError:
        return frozenset()
    return frozenset(w.decode("ascii", "replace") for m in IMPORTS.finditer(content) for w in WORD.findall(m.group(1)))


def _is_test(path: Path) -> bool:
    return bool(TEST_FILES.match(path.name)) or not TEST_FOLDERS.isdisjoint(path.parts[:-1])


def _below(folder: Path, rules: dict[Path, list[_Rule]], chosen: Chosen) -> Iterator[tuple[Path, bool]]:
    pending = [folder]
    while pending:
        current = pending.pop()
        here = [*rules[current], *_in_file(current)]
        try:
            children = sorted(current.iterdir())
        except OSError:
            continue
        for child in children:
            name = child.name
            if child.is_symlink() or name.startswith(".") or name in SKIPPED or name.endswith(".egg-info"):
                continue
            if child.is_dir():
                if not os.path.lexists(child / "pyvenv.cfg") and not _left_out(child, here, is_folder=True):
                    rules[child] = here
                    pending.append(child)
            elif child.suffix in {".py", ".ipynb"} and child.is_file():
                mentions = _mentions(child)
                if _left_out(child, here, is_folder=False):
                    chosen.ignored += mentions
                else:
                    yield child, mentions


def _mentions(file: Path) -> bool:
    """True if it is about agents or models, or can't be told, so that it is reported."""
    try:
        if is_too_large(file):
            return True
        content = file.read_bytes()
    except OSError:
        return True
    return bool(MENTIONS.search(content) or ASKS_IN_LOOP.match(content))


# Patterns of a .gitignore (gitignore(5)): later ones win, `!` takes back, a slash ties them to their folder.


@dataclass(frozen=True)
class _Rule:
    base: Path | None
    pattern: re.Pattern[str]
    takes_back: bool = False
    only_folders: bool = False

    @classmethod
    def read(cls, line: str, base: Path | None = None) -> _Rule:
        takes_back, text = line.startswith("!"), line.removeprefix("!")
        only_folders, text = text.endswith("/"), text.rstrip("/")
        tied = "/" in text
        parts = text.removeprefix("/")
        return cls(base, _compiled(parts if tied else f"**/{parts}"), takes_back, only_folders)

    def fits(self, path: Path, *, is_folder: bool) -> bool:
        if self.only_folders and not is_folder:
            return False
        if self.base is not None:
            whole = path.absolute()
            base = self.base.absolute()
            return whole.is_relative_to(base) and bool(self.pattern.match(whole.relative_to(base).as_posix()))
        return any(self.pattern.match("/".join(path.parts[i:])) for i in range(len(path.parts)))


@lru_cache(maxsize=512)
def _compiled(glob: str) -> re.Pattern[str]:
    while "**/**/" in glob:
        glob = glob.replace("**/**/", "**/")
    if glob.count("*") > MAX_STARS:  # a pattern that would take for ever matches its own text alone
        return re.compile(re.escape(glob) + r"\Z")
    found: list[str] = []
    at = 0
    while at < len(glob):
        if glob.startswith("**/", at):
            found.append("(?:.*/)?")
            at += 3
        elif glob.startswith("**", at):
            found.append(".*")
            at += 2
        elif glob[at] == "*":
            found.append("[^/]*")
            at += 1
        elif glob[at] == "?":
            found.append("[^/]")
            at += 1
        elif glob[at] == "[" and "]" in glob[at + 2 :]:
            end = glob.index("]", at + 2)
            inner = glob[at + 1 : end].replace("\\", "\\\\")
            found.append(f"[^{inner[1:]}]" if inner.startswith("!") else f"[{inner}]")
            at = end + 1
        elif glob[at] == "\\" and at + 1 < len(glob):
            found.append(re.escape(glob[at + 1]))
            at += 2
        else:
            found.append(re.escape(glob[at]))
            at += 1
    try:
        return re.compile("".join(found) + r"\Z", re.DOTALL)
    except re.error:
        return re.compile(re.escape(glob) + r"\Z")


def _left_out(path: Path, rules: Sequence[_Rule], *, is_folder: bool) -> bool:
    said = False
    for rule in rules:
        if rule.fits(path, is_folder=is_folder):
            said = not rule.takes_back
    return said


def _in_file(folder: Path) -> list[_Rule]:
    path = folder / ".gitignore"
    try:
        if not path.is_file() or path.stat().st_size > 1 << 20:
            return []
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    plain = (x.rstrip() for x in lines)
    return [_Rule.read(x, folder) for x in plain if x and not x.startswith("#") and x.strip("/!")]


def _above(folder: Path) -> list[_Rule]:
    """Rules of the folders above, up to the one that git begins with."""
    found: list[list[_Rule]] = []
    current = folder.resolve()
    if os.path.lexists(current / ".git"):
        return []
    for parent in current.parents:
        found.append(_in_file(parent))
        if os.path.lexists(parent / ".git"):
            return [r for rules in reversed(found) for r in rules]
    return []
