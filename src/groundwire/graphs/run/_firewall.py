"""The hidden-test firewall: what was hidden is known by its strings, and every way out is watched for them.

Hidden tests are laid out once, at the end, in the sandbox of the tool that judges them; what it saw is cut down to
counts before it becomes a signal. The firewall is the second wall behind that. It looks, at each sink (a prompt, a
program's work tree, a reflection, a candidate, any other row of the ledger), for

- *canaries*: a random token that is planted into the copies of the hidden test files, and tokens that the files hold
  for this purpose already (whatever contains the word "canary");
- *lines* of the hidden files that hold a value, are long enough to be nobody's coincidence, and are in no visible file.

A canary stops the episode wherever it turns up. A line that a model wrote before it could have been shown it is the
model's own (it may know a published benchmark by heart): it is counted, and no leak.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, replace
from html import escape
from itertools import chain
from typing import cast

from pydantic_core import PydanticSerializationError

from groundwire.core._candidates import Candidate, Tree
from groundwire.core._contexts import Lesson
from groundwire.core._errors import HiddenLeak
from groundwire.core._masking import canaries_in, telling_lines, texts_of
from groundwire.core._models import Completion, Request
from groundwire.core._paths import matches
from groundwire.core._records import Artifact, Intent, ModelCall, Record
from groundwire.core._signals import Crossings, Evidence, Observation, Signal, canonical
from groundwire.core._tasks import Task


def withheld(observation: Observation) -> Observation:
    """What may be kept of an observation that hidden tests gave: how many cases ended how, and nothing in words.

    Names, messages and output may quote the tests. The digest tells whether evidence that a person was shown is the
    one behind the signal.
    """
    evidence = observation.evidence
    try:
        said = evidence.model_dump_json()
    except PydanticSerializationError:  # a report has escaped what is no UTF-8
        said = canonical(evidence.model_dump(mode="json"))
    digest = hashlib.sha256(said.encode()).hexdigest()
    failed = len(evidence.failed())
    held = f"{len(evidence.cases) - failed} of {len(evidence.cases)} hidden cases hold" if evidence.cases else ""
    cases = tuple(
        case.model_copy(update={"id": f"hidden::{number}", "message": ""})
        for number, case in enumerate(evidence.cases, start=1)
    )
    kept = Evidence(
        cases=cases,
        collected=evidence.collected,
        deselected=evidence.deselected,
        stdout_cut=evidence.stdout_cut + len(evidence.stdout),
        stderr_cut=evidence.stderr_cut + len(evidence.stderr),
        detail=f"{held or 'no verdict on the hidden tests'}; evidence withheld, sha256 {digest}",
        controls=evidence.controls.model_copy(update={"cannot_fail": ()}) if evidence.controls else None,
        crossings=Crossings(own_equality=evidence.crossings.own_equality) if evidence.crossings else None,
    )
    return observation.model_copy(update={"evidence": kept, "coverage": None})


class Firewall:
    """Watches one episode.

    Args:
        task: with its hidden tests, if it has any; without them nothing is looked for and nothing costs time.
    """

    def __init__(self, task: Task) -> None:
        self._task = task
        self.token = f"gwcanary{secrets.token_hex(16)}"
        """Planted into the copies of the hidden test files; it exists nowhere else."""
        self.own_lines: set[str] = set()
        """Lines of the hidden tests that a model wrote without having been shown them."""
        self._cleared: set[str] = set()
        self._seen: dict[str, bool] = {}
        self._canaries: tuple[str, ...] = ()
        self._lines: Mapping[str, tuple[str, ...]] = {}
        if task.hidden is not None:
            texts = list(texts_of(task.hidden.tree))
            self._canaries = (self.token, *canaries_in(texts))
            self._lines = _lines(texts)

    @property
    def active(self) -> bool:
        """True if there is anything to hide."""
        return self._task.hidden is not None

    def planted(self) -> Task:
        """The task with the token in the copies of its hidden test files, for the tool that judges them.

        It stands in a comment at the end of Python files that are tests or that the command names, so that no line of
        them moves; data files stay as they are.
        """
        hidden = self._task.hidden
        if hidden is None:
            return self._task
        comment = f"\n# {self.token}\n".encode()
        files = {
            path: content + comment if self._is_test(path) else content for path, content in hidden.tree.files.items()
        }
        return replace(self._task, hidden=replace(hidden, tree=Tree(files, hidden.tree.executable)))

    def _is_test(self, path: str) -> bool:
        hidden = self._task.hidden
        named = hidden is not None and path in hidden.command
        return path.endswith(".py") and (named or matches(path, ("**/test_*.py", "**/*_test.py")))

    def check_prompt(self, request: Request) -> None:
        """Before a request is sent.

        Raises:
            HiddenLeak: a message holds what is hidden.
        """
        if self.active:
            for message in request.messages:
                self._refuse(message.content, "a prompt", lines=True)

    def take_answer(self, completion: Completion) -> None:
        """Looks at what a model answered, and takes note of the hidden lines that it wrote by itself.

        Raises:
            HiddenLeak: it holds a canary, so it was shown what is hidden.
        """
        for text in (*completion.texts, *completion.thinking):
            self._refuse(text, "a model's answer", lines=False)
            self.own_lines |= {
                line
                for line, forms in self._lines.items()
                if any(form in text for form in forms) and not self._is_visible(line)
            }

    def check_candidate(self, candidate: Candidate) -> None:
        """Before a candidate is kept.

        Raises:
            HiddenLeak: one of its new lines holds what is hidden.
        """
        if self.active and candidate.digest not in self._cleared:
            for path, content in candidate.changes.items():
                old = set((self._task.tree.files.get(path) or b"").splitlines())
                new = b"\n".join(line for line in (content or b"").splitlines() if line not in old)
                self._refuse(f"{path}\n{new.decode('utf-8', 'replace')}", "a candidate", lines=True)
            self._cleared.add(candidate.digest)

    def check_record(self, record: Record) -> None:
        """Before a record is written.

        Raises:
            HiddenLeak: one of its texts holds a canary; or, where the text is no model's own answer, a hidden line.
        """
        if not self.active:
            return
        if isinstance(record, Artifact):
            if record.kind == "candidate" and record.digest not in self._cleared:
                self.check_candidate(Candidate.from_bytes(record.body))
            return
        if isinstance(record, Intent) and record.kind == "program":
            self._refuse(json.loads(record.body)["prompt"], "a program's prompt", lines=True)
        is_quote = isinstance(record, Signal | ModelCall | Intent)
        for text in _strings(record):
            self._refuse(text, f"the ledger ({type(record).__name__})", lines=not is_quote)

    def is_told_in(self, observation: Observation) -> bool:
        """True for an observation that holds what is hidden."""
        return any(self._found(text, lines=True) for text in _texts(observation))

    def let_through(self, lessons: Iterable[Lesson]) -> list[Lesson]:
        """The lessons without those that hold what is hidden."""
        return [lesson for lesson in lessons if not (self._found(lesson.text, lines=True) or self._found(lesson.raw))]

    def question(self, text: str) -> str:
        """What memory may be asked, which an embedding model may read: nothing, where it holds what is hidden."""
        return "" if self._found(text, lines=True) else text

    def _refuse(self, text: str, where: str, *, lines: bool) -> None:
        found = self._found(text, lines=lines)
        if found:
            digest = hashlib.sha256(found.encode()).hexdigest()[:16]
            raise HiddenLeak(
                f"Text of the hidden tests (sha256 {digest}…) was about to leave in {where}; it was held back.",
                do="Look where it came from: a copy in the project, in a lesson, or a program that can read it.",
            )

    def _found(self, text: str, *, lines: bool = False) -> str:
        for canary in self._canaries:
            if canary in text and not self._is_visible(canary):
                return canary
        if lines:
            for line, forms in self._lines.items():
                if any(form in text for form in forms) and line not in self.own_lines and not self._is_visible(line):
                    return line
        return ""

    def _is_visible(self, text: str) -> bool:
        """True for what a visible file or the task's own words hold; asked only of what was found, since it is slow."""
        if text not in self._seen:
            task = self._task
            commands = (task.command, task.hidden.command if task.hidden else ())
            words = (task.prompt, task.id, task.family, *(" ".join(c) for c in commands))
            self._seen[text] = any(text in known for known in chain(words, texts_of(task.tree)))
        return self._seen[text]


def _lines(texts: Iterable[str]) -> Mapping[str, tuple[str, ...]]:
    """The lines to look for, each with its forms: as it is, and as our prompts escape it."""
    return {line: tuple(dict.fromkeys((line, escape(line, quote=False)))) for line in telling_lines(texts)}


def _strings(record: Record) -> Iterator[str]:
    if isinstance(record, Signal):
        yield from _texts(record)
        return
    for field in fields(record):
        value: object = getattr(record, field.name)
        if isinstance(value, str):
            yield value
        elif isinstance(value, tuple):
            yield from (item for item in cast("tuple[object, ...]", value) if isinstance(item, str))


def _texts(seen: Observation | Signal) -> Iterator[str]:
    evidence = seen.evidence
    yield from (evidence.detail, evidence.stdout, evidence.stderr, evidence.note, *seen.command)
    for case in evidence.cases:
        yield case.id
        yield case.message
