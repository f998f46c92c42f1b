"""What a policy's completion makes of a task: the candidate that is judged.

Models answer in many forms, whatever they were asked for. Read are, in this order: edits by `FILE:` lines, a program in
a fence or without one, the rest of a function that the prompt has begun. What holds none of these changes nothing, so
that the task's own tree is judged in its place.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from groundwire.agents.patching._edit_apply import candidate_from
from groundwire.agents.patching._edit_blocks import MAX_ANSWER_CHARS, WholeFile, parse_answer
from groundwire.agents.patching._reply_format import read_text
from groundwire.agents.patching._stubs import Stub, find_stub, imports_beside, program_in
from groundwire.core._candidates import Candidate
from groundwire.core._errors import CandidateError, TaskError
from groundwire.core._prompt_text import printable, unfence
from groundwire.core._reasoning_text import without_reasoning
from groundwire.core._reply_parts import fenced_blocks
from groundwire.core._tasks import Task

_EDITS = re.compile(r"^[ \t#*>-]{0,8}FILE:", re.MULTILINE)
MOST_CUT_OFF = 50_000
"""Characters of cut-off code that is looked into."""


@dataclass(frozen=True)
class ReadCompletion:
    """A completion, read.

    Args:
        candidate: what is judged; it changes nothing where nothing could be read.
        problem: why nothing could be read; empty where something was.
    """

    candidate: Candidate
    problem: str = ""


def text_of(message: object) -> str | None:
    """The text of a completion or a prompt as trainers hand them over: text, or chat messages; None: it is neither."""
    if isinstance(message, str):
        return message
    if isinstance(message, Mapping):
        return text_of(cast("Mapping[str, object]", message).get("content"))
    if isinstance(message, Sequence) and not isinstance(message, bytes | bytearray):
        texts = [_part(part) for part in cast("Sequence[object]", message)]
        return None if not texts or None in texts else "".join(cast("list[str]", texts))
    return None


def _part(part: object) -> str | None:
    """A message, or a part of one: `{"type": "text", "text": …}`."""
    if isinstance(part, Mapping):
        held = cast("Mapping[str, Any]", part)
        return text_of(held["text"]) if "text" in held else text_of(held.get("content"))
    return part if isinstance(part, str) else None


def begun_by(prompt: object) -> str:
    """What an answer was begun with: the text of an assistant's message that ends the prompt; empty where none does."""
    if isinstance(prompt, Sequence) and not isinstance(prompt, str | bytes) and prompt:
        last = cast("Sequence[object]", prompt)[-1]
        if isinstance(last, Mapping) and cast("Mapping[str, object]", last).get("role") == "assistant":
            return text_of(cast("object", last)) or ""
    return ""


def read_completion(text: str, task: Task, *, begun: str = "") -> ReadCompletion:
    """Reads a completion.

    Args:
        text: as the model wrote it; hostile.
        task: what it answers.
        begun: what the answer was begun with, which the completion goes on from.
    """
    nothing = Candidate(task.tree.digest, {})
    if len(text) + len(begun) > MAX_ANSWER_CHARS:
        return ReadCompletion(nothing, f"it has {len(text)} characters, and {MAX_ANSWER_CHARS} are read at most")
    said = unfence(printable(without_reasoning(begun + text)))
    try:
        if _EDITS.search(said):
            return ReadCompletion(candidate_from(parse_answer(said), task.tree, task))
        path = task.answer_file
        if not path.endswith(".py"):
            return ReadCompletion(candidate_from(read_text(said, path), task.tree, task))
        program = _program(said, unfence(printable(text)), task, path)
        if program is None:
            return ReadCompletion(nothing, "it holds no program")
        return ReadCompletion(candidate_from((WholeFile(path, program),), task.tree, task))
    except (CandidateError, TaskError) as error:
        return ReadCompletion(nothing, error.what)


def _program(said: str, rest: str, task: Task, path: str) -> str | None:
    """The new text of the task's one file; None where no program can be read."""
    before = task.tree.files.get(path, b"").decode("utf-8", "replace")
    stub = _stub(task, path)
    for code in _codes(said):
        module = program_in(code)
        if module is not None and _defines(module, stub):
            return f"{imports_beside(before, module)}{code.strip()}\n"
    if stub is not None:
        return stub.filled(rest)
    return None


def _stub(task: Task, path: str) -> Stub | None:
    try:
        stub = find_stub(task)
    except TaskError:
        return None
    return stub if stub.path == path else None


def _codes(said: str) -> Iterator[str]:
    """What may be a program, the likeliest first: the last fences said to be Python, other fences, the whole text."""
    fences = [(block.name, block.text) for block in fenced_blocks(said)]
    yield from (code for name, code in reversed(fences) if name.startswith(("py", "python")))
    yield from (code for name, code in reversed(fences) if not name.startswith(("py", "python")))
    if not fences:
        yield said
    elif (cut := _cut_off(fences[-1][1])) is not None:
        yield cut  # the answer was cut off within its last fence


def _cut_off(code: str) -> str | None:
    """The longest beginning of cut-off code that is a program."""
    lines = code.split("\n") if len(code) <= MOST_CUT_OFF else []
    for end in range(len(lines) - 1, max(0, len(lines) - 40), -1):
        if program_in("\n".join(lines[:end])) is not None:
            return "\n".join(lines[:end])
    return None


def _defines(module: ast.Module, stub: Stub | None) -> bool:
    """True for a program: the function that was asked for, or, where none is known, any function, class or value."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    if stub is None:
        return any(isinstance(node, (*kinds, ast.Assign, ast.AnnAssign)) for node in module.body)
    name = stub.name
    assigned = (target for node in module.body if isinstance(node, ast.Assign) for target in node.targets)
    return any(isinstance(node, kinds) and node.name == name for node in module.body) or any(
        isinstance(target, ast.Name) and target.id == name for target in assigned
    )
