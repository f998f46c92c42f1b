"""The forms in which a model may answer, each with its prompt, its schema if it has one, and how it is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from groundwire.agents.edit_blocks import (
    MAX_ANSWER_CHARS,
    MAX_EDITS,
    Edit,
    SearchReplace,
    clean_path,
    parse_answer,
)
from groundwire.agents.text import unfence
from groundwire.errors import CandidateError

__all__ = ["AnswerForm", "Form", "form_named", "read_structured"]

AnswerForm = Literal["auto", "edits", "whole", "schema"]


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


@dataclass(frozen=True)
class Form:
    """One form of answer.

    Args:
        prompt: the prompt file that asks for it.
        read: a model's text → edits; raises CandidateError with words for the model.
        schema: the JSON schema that the request carries; None: free text.
    """

    prompt: str
    read: Callable[[str], tuple[Edit, ...]]
    schema: Mapping[str, Any] | None = None


def read_structured(answer: str) -> tuple[Edit, ...]:
    """Reads an answer that is JSON in the form of `ProposedChange`. A provider's promise is not relied on.

    Raises:
        CandidateError: it is something else, or too much.
    """
    if len(answer) > MAX_ANSWER_CHARS:
        raise CandidateError(
            f"The answer has {len(answer)} characters; at most {MAX_ANSWER_CHARS} are read.",
            do="Give only the lines that change.",
        )
    try:
        change = ProposedChange.model_validate_json(answer)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "the answer"
        raise CandidateError(
            f"The answer is not JSON of the form that was asked for; at {place}: {first['msg']}.",
            do="Answer with the JSON object alone.",
        ) from None
    if not 0 < len(change.edits) <= MAX_EDITS:
        raise CandidateError(
            f"The answer holds {len(change.edits)} edits.", do=f"Give at least one and at most {MAX_EDITS}."
        )
    return tuple(SearchReplace(clean_path(e.path), _lines(e.search), _lines(e.replace)) for e in change.edits)


def _lines(text: str) -> str:
    plain = unfence(text.replace("\r\n", "\n"))
    return plain if not plain or plain.endswith("\n") else f"{plain}\n"


@cache
def form_named(name: Literal["edits", "whole", "schema"]) -> Form:
    """The form of that name."""
    if name == "schema":
        return Form("repair_schema_v1", read_structured, ProposedChange.model_json_schema())
    return Form("repair_whole_v2" if name == "whole" else "repair_edits_v2", parse_answer)
