"""Which files of a project judge it, beside those that are called as tests are: what the command names, or reads.

`pytest checks/parsing.py`, `make test` and `npm test` rest on a file of the project each. A candidate that rewrites it
is judged by itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from groundwire.core._candidates import Tree
from groundwire.core._paths import check_glob, matches

TESTS_OF_OTHERS = (
    "**/*.test.*", "**/*.spec.*", "**/__tests__/**", "**/__snapshots__/**", "**/*.snap", "**/*_test.go",
    "**/*_spec.rb", "**/src/test/**",
)  # fmt: skip
"""What tests are called in other languages, and the outputs that are kept beside them; never taken for a program."""
STEERED_BY: dict[str, tuple[str, ...]] = {
    "make": ("Makefile", "makefile", "GNUmakefile"),
    "gmake": ("Makefile", "makefile", "GNUmakefile"),
    "just": ("justfile", "Justfile", ".justfile"),
    "rake": ("Rakefile",),
    "nox": ("noxfile.py",),
    "invoke": ("tasks.py",),
    "inv": ("tasks.py",),
    **dict.fromkeys(("npm", "npx", "pnpm", "yarn", "bun"), ("package.json",)),
}
"""Programs that look in a file of the project for what to run."""
SCRIPTS = frozenset({".sh", ".bash", ".mk", ".make", ".just"})
"""What a script or a makefile runs or includes."""
_WORD = re.compile(r"[\w./-]+")
_CONFIGURED = ("pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg")
_PATTERNS = re.compile(rb"(?m)^\s*python_files\s*=\s*((?:.+)(?:\n[ \t]+\S.*)*)")
_PATTERN = re.compile(r"[\w*?\[\]./-]+\.py\b")
_ASSERTS = re.compile(rb"(?m)^\s*assert\b|\bunittest\b|\bpytest\b|\bAssertionError\b")
MAX_CONFIG_BYTES = 1 << 20
EVERYTHING = frozenset({"*", "**", "**/*"})
"""Patterns that name nothing by what it is called."""
DATA = frozenset(
    {".json", ".jsonl", ".txt", ".csv", ".tsv", ".out", ".dat", ".yaml", ".yml", ".xml", ".html", ".pkl", ".npy",
     ".npz"}
)  # fmt: skip
_GOLDEN = re.compile(
    r"golden|expect|snapshot|reference|baseline|approved|oracle|wanted|vectors|cases|samples|fixture|test[_-]?data",
    re.I,
)
"""What people call the data that a program's output is compared with: any other may be what is to be repaired."""


def judging_files(tree: Tree, command: Sequence[str]) -> frozenset[str]:
    """The files of a project that judge it by its command; for doctests no module, since they lie in what they judge.

    Args:
        tree: the project.
        command: what judges it, split.

    Returns:
        What pytest or unittest is told to run, what pytest is configured to collect, what a program like `make` looks
        for, scripts of a shell, and a Python script that asserts something: any other may be the program itself.
    """
    words = [PurePosixPath(word).name if number == 0 else word for number, word in enumerate(_program(command))]
    is_doctest = any("doctest" in word for word in words)
    found = {name for program in words[:1] for name in STEERED_BY.get(program, ())}
    is_runner = not {"pytest", "py.test", "unittest"}.isdisjoint(words)
    for path in _named(words):
        if path not in tree.files or (is_doctest and path.endswith(".py")):
            continue
        if is_runner or not path.endswith(".py") or _ASSERTS.search(tree.files[path]):
            found.add(path)
    _follow(found, tree)
    patterns = tuple(_patterns(tree, words)) if "pytest" in words or "py.test" in words else ()
    found.update(path for path in tree.files if patterns and matches(path, patterns))
    return frozenset(found & tree.files.keys())


def golden_files(tree: Tree, tests: frozenset[str]) -> frozenset[str]:
    """The data of a project that its tests alone name, and that is called as what they compare with is.

    Args:
        tree: the project.
        tests: its tests' paths.

    Returns:
        Files whose name, or that of whose folder, stands in a test and in no other source.
    """
    data = [path for path in tree.files if PurePosixPath(path).suffix in DATA and _GOLDEN.search(path)]
    if not data:
        return frozenset()
    theirs = b"\n".join(content for path, content in tree.files.items() if path in tests)
    sources = {path for path in tree.files if PurePosixPath(path).suffix not in DATA} - tests
    others = b"\n".join(content for path, content in tree.files.items() if path in sources)
    return frozenset(path for path in data if _is_named(path, theirs) and not _is_named(path, others))


def _is_named(path: str, sources: bytes) -> bool:
    file = PurePosixPath(path)
    if file.name.encode() in sources or (f'"{file.stem}"'.encode() in sources and file.suffix.encode() in sources):
        return True
    folder = re.escape(file.parent.name).encode()
    return bool(folder) and re.search(rb"[\"'/]" + folder + rb"[\"'/]", sources) is not None


def _program(command: Sequence[str]) -> Sequence[str]:
    """The command without `env` and the variables that go before it."""
    start = 1 if command[:1] and PurePosixPath(command[0]).name == "env" else 0
    while start < len(command) and re.match(r"\w+=", command[start]):
        start += 1
    return command[start:]


def _named(words: Sequence[str]) -> Iterator[str]:
    for word in words[1:]:
        path = str(PurePosixPath(word.partition("::")[0])) if word else ""
        yield path
        parts = word.split(".")
        if "unittest" in words and all(map(str.isidentifier, parts)):  # a module, and perhaps names in it
            yield from ("/".join(parts[:length]) + ".py" for length in range(1, len(parts) + 1))


def _follow(found: set[str], tree: Tree) -> None:
    """Adds the scripts that scripts and makefiles run or include."""
    scripts = [path for path in tree.files if path not in found and PurePosixPath(path).suffix in SCRIPTS]
    new = [path for path in found & tree.files.keys() if not path.endswith(".py")]
    while new:
        text = tree.files[new.pop()].decode("utf-8", "replace")
        words = {str(PurePosixPath(word)) for word in _WORD.findall(text)}
        named = [path for path in scripts if path not in found and path in words]
        found.update(named)
        new += named


def _patterns(tree: Tree, words: Sequence[str]) -> Iterator[str]:
    said = [word.partition("=")[2] for word in words if word.startswith("--doctest-glob=")]
    for name in _CONFIGURED:
        content = tree.files.get(name, b"")
        for found in _PATTERNS.findall(content) if len(content) <= MAX_CONFIG_BYTES else ():
            said += _PATTERN.findall(found.decode("utf-8", "replace"))
    for pattern in said:
        try:
            yield check_glob(f"**/{pattern.lstrip('/')}")
        except ValueError:
            continue
