"""What a Dockerfile says without being run: its bases, its folder, the files that it copies, what it needs."""

from __future__ import annotations

import json
import posixpath
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from groundwire.core._errors import TaskError
from groundwire.core._paths import matches

_HEREDOC = re.compile(r"<<-?\s*(['\"]?)(\w+)\1")
_VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)(?::?-([^}]*))?\})")
_HARMLESS = frozenset({"ARG", "CMD", "ENTRYPOINT", "ENV", "EXPOSE", "FROM", "LABEL", "MAINTAINER", "STOPSIGNAL",
                       "USER", "WORKDIR"})  # fmt: skip
"""What changes no file of the image."""
_REMOTE = re.compile(r"^(?:\w+://|git@)")


@dataclass(frozen=True)
class ImageRecipe:
    """What an image is made of.

    Args:
        bases: the images that it begins with, stages of its own left out.
        workdir: the folder in which commands run; empty: the Dockerfile names none.
        files: absolute path in the image → path in the context, of what is copied there.
        env: the variables that it sets.
        needs: what a sandbox without the image would lack, in words; empty: nothing but the base's programs.
    """

    bases: tuple[str, ...] = ()
    workdir: str = ""
    files: Mapping[str, str] = field(default_factory=dict[str, str])
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    needs: tuple[str, ...] = ()


def read_dockerfile(text: str, context: Mapping[str, bytes]) -> ImageRecipe:
    """Reads a Dockerfile.

    Args:
        text: the file.
        context: the files that it may copy.

    Raises:
        TaskError: it has no base, copies something from outside of its folder, or can't be read.
    """
    reader = _Reader(_without_ignored(context))
    for word, rest, heredoc in _instructions(text):
        reader.take(word, rest, heredoc)
    if not reader.begun:
        raise TaskError("The Dockerfile has no FROM.", do="Name the image that it begins with.")
    return ImageRecipe(
        bases=tuple(dict.fromkeys(reader.bases)),
        workdir=reader.workdir,
        files=reader.files,
        env=reader.env,
        needs=tuple(dict.fromkeys(reader.needs)),
    )


def _instructions(text: str) -> Iterator[tuple[str, str, bool]]:
    """Each instruction's word, what follows it, and whether it holds text of its own (`<<EOF`)."""
    lines = iter(text.splitlines())
    for line in lines:
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        whole = line
        while whole.rstrip().endswith("\\"):
            following = next((one for one in lines if not one.lstrip().startswith("#")), "")
            whole = f"{whole.rstrip()[:-1]} {following}"
        word, _, rest = whole.strip().partition(" ")
        heredocs = [found[1] for found in _HEREDOC.findall(rest)] if word.upper() in ("RUN", "COPY", "ADD") else []
        for end in heredocs:
            for body in lines:
                if body.strip() == end:
                    break
        yield word.upper(), rest.strip(), bool(heredocs)


class _Reader:
    """Follows the instructions of the last stage, which is the image."""

    def __init__(self, context: Mapping[str, bytes]) -> None:
        self.context = context
        self.begun = False
        self.bases: list[str] = []
        self.stages: set[str] = set()
        self.arguments: dict[str, str] = {}
        self._begin()

    def _begin(self) -> None:
        self.workdir = ""
        self.files: dict[str, str] = {}
        self.env: dict[str, str] = {}
        self.needs: list[str] = []

    def take(self, word: str, rest: str, heredoc: bool) -> None:
        """One instruction."""
        if word == "FROM":
            self._from(_words(rest))
        elif word == "ARG":
            name, given, value = rest.partition("=")
            if given:
                self.arguments.setdefault(name.strip(), value.strip().strip("\"'"))
        elif word == "ENV":
            self._env(rest)
        elif word == "WORKDIR":
            self.workdir = posixpath.normpath(posixpath.join(self.workdir or "/", self._filled(rest.strip("\"'"))))
        elif word in ("COPY", "ADD"):
            self._copy(word, rest, heredoc)
        elif word not in _HARMLESS:
            self.needs.append(f"{word} {rest.split(chr(10))[0][:60]}".strip())

    def _from(self, words: Sequence[str]) -> None:
        words = [word for word in words if not word.startswith("--")]
        if not words:
            raise TaskError("A FROM of the Dockerfile names no image.", do="Name one.")
        self._begin()
        self.begun = True
        base = self._filled(words[0])
        if base in self.stages:
            self.needs.append(f"the stage {base}")
        elif base != "scratch":
            self.bases.append(base)
        if len(words) == 3 and words[1].upper() == "AS":
            self.stages.add(words[2])

    def _env(self, rest: str) -> None:
        words = _words(rest)
        if words and "=" not in words[0]:
            name, _, value = rest.partition(" ")
            words = [f"{name}={value.strip()}"]
        for one in words:
            name, _, value = one.partition("=")
            self.env[name] = self._filled(value)

    def _copy(self, word: str, rest: str, heredoc: bool) -> None:
        flags, words = _split_flags(rest)
        stage = next((flag.partition("=")[2] for flag in flags if flag.startswith("--from=")), None)
        if stage is not None:
            stage = self._filled(stage)
            if not (stage in self.stages or stage.isdecimal()):
                self.bases.append(stage)
            self.needs.append(f"files of {stage}")
            return
        if heredoc:
            self.needs.append(f"{word} of text that stands in the Dockerfile")
            return
        if len(words) < 2:
            raise TaskError(f"{word} {rest[:60]} names no target.", do="Write  COPY SOURCE TARGET.")
        *sources, target = [self._filled(one) for one in words]
        place = posixpath.join(self.workdir or "/", target)
        is_folder = target.endswith("/") or target in (".", "..") or len(sources) > 1
        for source in sources:
            if word == "ADD" and _REMOTE.match(source):
                self.needs.append(f"{source[:60]}, from the network")
                continue
            self._lay(word, source, place, is_folder)

    def _lay(self, word: str, source: str, place: str, is_folder: bool) -> None:
        inside = posixpath.normpath(source.lstrip("/") or ".")
        if inside == ".." or inside.startswith("../"):
            raise TaskError(
                f"{word} {source} of the Dockerfile reads from outside of the task's environment folder.",
                do="Put what the image needs into environment/, and copy it from there.",
            )
        found = sorted(self._matching(inside))
        if not found and not re.search(r"[*?\[]", inside):
            raise TaskError(f"{word} {source} of the Dockerfile finds nothing in environment/.", do="Correct its path.")
        for path, below in found:
            whole = posixpath.join(place, below or posixpath.basename(path)) if below or is_folder else place
            self.files[posixpath.normpath(whole)] = path
            if word == "ADD" and re.search(r"\.(tar(\.\w+)?|tgz|tbz2?|txz)$", path):
                self.needs.append(f"{path}, unpacked")

    def _matching(self, pattern: str) -> Iterator[tuple[str, str]]:
        """The files that a source names: each with its path below the folder that was named; empty for a file."""
        depth = 0 if pattern == "." else pattern.count("/") + 1
        for path in self.context:
            parts = path.split("/")
            head = "/".join(parts[:depth])
            if len(parts) > depth and (depth == 0 or _same(head, pattern)):
                yield path, "/".join(parts[depth:])
            elif len(parts) == depth and _same(path, pattern):
                yield path, ""

    def _filled(self, text: str) -> str:
        known = {**self.arguments, **self.env}
        return _VARIABLE.sub(lambda m: known.get(m[1] or m[2]) or m[3] or "", text)


def _same(path: str, pattern: str) -> bool:
    mine, theirs = path.split("/"), pattern.split("/")
    return len(mine) == len(theirs) and all(map(fnmatchcase, mine, theirs))


def _split_flags(rest: str) -> tuple[list[str], list[str]]:
    flags: list[str] = []
    while rest.startswith("--"):
        flag, _, rest = rest.partition(" ")
        flags.append(flag)
        rest = rest.lstrip()
    if rest.startswith("["):
        try:
            return flags, [str(one) for one in json.loads(rest)]
        except ValueError:
            pass
    return flags, _words(rest)


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise TaskError(f"{text[:80]!r} of the Dockerfile can't be read: {error}.", do="Close its quotes.") from error


def _without_ignored(context: Mapping[str, bytes]) -> Mapping[str, bytes]:
    """The files that `.dockerignore` leaves in."""
    lines = context.get(".dockerignore", b"").decode("utf-8", "replace").splitlines()
    rules = [line.strip().strip("/") for line in lines if line.strip() and not line.startswith("#")]
    if not rules:
        return context
    left: dict[str, bytes] = {}
    for path, content in context.items():
        ignored = False
        for rule in rules:
            kept, glob = rule.startswith("!"), rule.removeprefix("!").strip("/")
            if glob and matches(path, (glob, f"{glob}/**")):
                ignored = not kept
        if not ignored:
            left[path] = content
    return left
