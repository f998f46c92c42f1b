"""The forms in which a model may answer with a change, each with its prompt, its schema if any, and how it is read."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import PurePosixPath
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from groundwire.agents.patching._edit_blocks import (
    MAX_ANSWER_CHARS,
    MAX_EDITS,
    Edit,
    SearchReplace,
    WholeFile,
    clean_path,
    parse_answer,
)
from groundwire.agents.patching._stubs import defined_by, imports_beside, keeps_all, program_in
from groundwire.agents.prompting._structured import json_of
from groundwire.core._contradictions import said_in
from groundwire.core._errors import CandidateError, Contradiction
from groundwire.core._prompt_text import unfence
from groundwire.core._reply_parts import ANNOUNCEMENT, fenced_blocks

AnswerForm = Literal["auto", "edits", "whole", "schema", "text"]
FileForm = Literal["edits", "whole", "schema"]


class _Strict(BaseModel):
    # what providers with strict schemas ask for: no other fields, and none that may be left out
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class ProposedEdit(_Strict):
    """Lines to find in a file, once, and lines to put in their place."""

    path: str = Field(description="The file, relative to the project's root.")
    search: str = Field(description="Whole lines exactly as the file has them now; empty to make a new file.")
    replace: str = Field(description="The lines that take their place; empty to delete them.")


class ProposedChange(_Strict):
    """A whole answer."""

    cause: str = Field(description="What is wrong, in one or two sentences.")
    edits: tuple[ProposedEdit, ...] = Field(description="All edits that together fix it.")


class ChangeOrContradiction(ProposedChange):
    """A whole answer, where a model may also say that a test contradicts the task."""

    contradiction: str = Field(description="Id of the failed case that contradicts the task; as a rule empty.")


@dataclass(frozen=True)
class ReplyFormat:
    """One form of answer.

    Args:
        prompt: the prompt file that asks for it.
        read: a model's text → edits; raises CandidateError with words for the model.
        schema: the JSON schema that the request carries; None: free text.
        more: a prompt file whose text comes last; "": none.
    """

    prompt: str
    read: Callable[[str], tuple[Edit, ...]]
    schema: Mapping[str, Any] | None = None
    more: str = ""


def read_structured(answer: str, form: type[ProposedChange] = ProposedChange) -> tuple[Edit, ...]:
    """Reads an answer that is JSON in the form of `ProposedChange`. A provider's promise is not relied on.

    Raises:
        Contradiction: it says so in the place of edits.
        CandidateError: it is something else, or too much.
    """
    if len(answer) > MAX_ANSWER_CHARS:
        raise CandidateError(
            f"The answer has {len(answer)} characters; at most {MAX_ANSWER_CHARS} are read.",
            do="Give only the lines that change.",
        )
    try:
        change = form.model_validate_json(json_of(form, answer))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "the answer"
        raise CandidateError(
            f"The answer is not JSON of the form that was asked for; at {place}: {first['msg']}.",
            do="Answer with the JSON object alone.",
        ) from None
    if isinstance(change, ChangeOrContradiction) and change.contradiction.strip() and not change.edits:
        raise Contradiction(change.contradiction, change.cause)
    if not 0 < len(change.edits) <= MAX_EDITS:
        raise CandidateError(
            f"The answer holds {len(change.edits)} edits.", do=f"Give at least one and at most {MAX_EDITS}."
        )
    return tuple(SearchReplace(clean_path(e.path), _lines(e.search), _lines(e.replace)) for e in change.edits)


def _lines(text: str) -> str:
    plain = unfence(text.replace("\r\n", "\n"))
    return plain if not plain or plain.endswith("\n") else f"{plain}\n"


REPAIRING: Mapping[FileForm, str] = {
    "edits": "repair_edits_v2", "whole": "repair_whole_v2", "schema": "repair_schema_v1"
}  # fmt: skip
WRITING: Mapping[FileForm, str] = {"edits": "write_edits_v1", "whole": "write_whole_v1", "schema": "write_schema_v1"}
"""The prompts that repair, and those of which the task or the user says what is to be done."""
DO_THE_TASK = "You do what <task> asks for. Something outside of you checks what you hand in."


@cache
def form_named(name: FileForm, *, may_contradict: bool = False, writes: bool = False) -> ReplyFormat:
    """The form of that name.

    Args:
        name: its name.
        may_contradict: the model may say, in the place of edits, that a test contradicts the task.
        writes: its prompt has a place for instructions, and says nothing of repair.
    """
    prompt = (WRITING if writes else REPAIRING)[name]
    if name == "schema":
        schema = ChangeOrContradiction if may_contradict else ProposedChange
        more = "may_contradict_schema_v1" if may_contradict else ""
        return ReplyFormat(prompt, partial(read_structured, form=schema), schema.model_json_schema(), more)
    if may_contradict:
        return ReplyFormat(prompt, partial(_read_either, read=parse_answer), more="may_contradict_v1")
    return ReplyFormat(prompt, parse_answer)


def of_one_file(form: ReplyFormat, path: str, text: str) -> ReplyFormat:
    """The same where one file alone is shown that may be edited: models answer with a program, and don't name its file.
    One that defines whatever the file does is read as the file's new text.

    Args:
        form: reads files that are named.
        path: the file.
        text: as it is now.
    """
    module = program_in(text) if path.endswith(".py") else None
    if module is None or not defined_by(module):
        return form
    return replace(form, read=partial(_read_one_file, read=form.read, path=path, before=text))


def _read_one_file(answer: str, read: Callable[[str], tuple[Edit, ...]], path: str, before: str) -> tuple[Edit, ...]:
    try:
        return read(answer)
    except CandidateError:
        blocks = {block.text for block in fenced_blocks(answer) if block.is_closed and "FILE:" not in answer}
        programs = [(text, module) for text in sorted(blocks) if (module := program_in(text))]
        known = program_in(before)
        kept = [(text, module) for text, module in programs if known is not None and keeps_all(module, known)]
        whole = [f"{imports_beside(before, module)}{text}" for text, module in kept]
        if len(whole) != 1:
            raise
        return (WholeFile(path, whole[0]),)


def text_form(path: str, *, may_contradict: bool = False) -> ReplyFormat:
    """The form in which the answer is the new text of one file.

    Args:
        path: the file.
        may_contradict: as for `form_named`.
    """
    read = partial(read_text, path=path)
    if may_contradict:
        return ReplyFormat("write_text_v1", partial(_read_either, read=read), more="may_contradict_v1")
    return ReplyFormat("write_text_v1", read)


def read_text(answer: str, path: str) -> tuple[Edit, ...]:
    """Reads an answer that is a file's text. Models put a fence around it all the same, or name the file first.

    Raises:
        CandidateError: there is nothing in it, or too much.
    """
    if len(answer) > MAX_ANSWER_CHARS:
        raise CandidateError(
            f"The answer has {len(answer)} characters; at most {MAX_ANSWER_CHARS} are read.", do="Give a shorter one."
        )
    text = _lines(_without_frame(answer.replace("\r\n", "\n"), path))
    if not text.strip():
        raise CandidateError("The answer is empty.", do="Write the whole text of the file.")
    return (WholeFile(path, text),)


_PROSE = (".md", ".txt", ".rst", "")
"""Endings of files in which prose and fences may be what was asked for."""
MOST_BEHIND = 3
"""Lines that may stand behind what was announced and fenced: "Let me know if you need more." """


def _without_frame(text: str, path: str) -> str:
    """The text without a line that names the file, without what announces it (`Here is the list:`), and without the
    fence around it. Of a program, or of data, it is the one fenced block, whatever is said around it."""
    lines = text.strip().split("\n")
    names_file = re.fullmatch(r"[*` \t]*FILE:(.*)", lines[0])
    if names_file and clean_path(names_file[1]) == path:
        lines = "\n".join(lines[1:]).strip("\n").split("\n")
    blocks = fenced_blocks("\n".join(lines))
    if len(blocks) != 1:
        return "\n".join(lines)
    start, end = blocks[0].lines
    before, behind = [list(filter(str.strip, said)) for said in (lines[:start], lines[end:])]
    announced = all(line.rstrip().endswith(":") or ANNOUNCEMENT.match(line) for line in before)
    framed = announced and blocks[0].is_closed and len(behind) <= (MOST_BEHIND if before else 0)
    return blocks[0].text if framed or PurePosixPath(path).suffix not in _PROSE else "\n".join(lines)


def _read_either(answer: str, read: Callable[[str], tuple[Edit, ...]]) -> tuple[Edit, ...]:
    said = said_in(answer) if read is not parse_answer else None
    if said is not None:
        raise said  # a text may be anything, this among it
    try:
        return read(answer)
    except CandidateError as error:
        raise said_in(answer) or error from None
