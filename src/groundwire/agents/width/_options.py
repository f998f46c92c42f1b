"""The options of a multiple-choice question, in the forms in which such questions are written."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from groundwire.core._answers import plain_answer

_BEGINS_LINE = re.compile(
    r"^[ \t]{0,8}(?:[-*+•>][ \t]{1,4})?[*_]{0,3}[(\[]?(?P<label>[A-Za-z]|\d{1,2}|[ivx]{1,4})"
    r"(?:(?:[)\].:]{1,2}[*_]{0,3}|[*_]{1,3}[).:]?)[ \t]{1,4}|[ \t]{1,2}[-–—=|][ \t]{1,4})(?P<text>\S[^\n]{0,2000})$",
    re.MULTILINE,
)
_IN_LINE = re.compile(
    r"(?<![\w(\[])[(\[]?(?P<label>[A-Za-z])[)\].:]{1,2}[ \t]{1,4}"
    r"(?![(\[]?[A-Za-z][)\].:]{1,2}[ \t])"
    r"(?P<text>\S(?:(?![ \t,;]{1,4}(?:(?:and|or)[ ])?[(\[]?[A-Za-z][)\].:]{1,2}[ \t])[^\n]){0,400})"
)
_NAMED = re.compile(
    r"(?:(?:the[ ])?(?:correct[ ]|right[ ])?(?:option|choice)(?:[ ]is)?[ :]{1,3})?[(\[*_]{0,4}"
    r"(?P<label>[A-Za-z]|\d{1,2}|[ivx]{1,4})(?P<end>[)\].:*_]{1,5}|(?=[ \t,;–—-])|\Z)",
    re.IGNORECASE,
)
_ROMAN = ("i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "xi", "xii")
_LETTERS = tuple("abcdefghijklmnopqrstuvwxyz")
_NUMBERS = tuple(map(str, range(1, 27)))


@dataclass(frozen=True)
class ChoiceOption:
    """One option.

    Args:
        label: its letter or number, as the question writes it.
        text: what it says.
        start: where its text begins in the question.
    """

    label: str
    text: str
    start: int

    @property
    def end(self) -> int:
        """Where its text ends."""
        return self.start + len(self.text)


def options_in(question: str) -> Sequence[ChoiceOption]:
    """The options that a question lists, in order; the last list, where there are several.

    Read are `A. …`, `(a) …`, `B) …`, `C: …`, `D - …`, `1. …`, `ii) …`, `- **A.** …`, one a line, and letters several on
    a line (`A) four B) six`). Nothing where there are fewer than two, or their labels do not follow one another.
    """
    lines = [_option(found) for found in _BEGINS_LINE.finditer(question)]
    if any(_IN_LINE.search(option.text) for option in lines):
        lines = []  # the first of several on its line
    inside = [_option(found) for found in _IN_LINE.finditer(question)]
    return (
        _list_of(lines, str.isupper, _LETTERS)
        or _list_of(lines, str.islower, _LETTERS)
        or _list_of(inside, str.isupper, _LETTERS)
        or _list_of(inside, str.islower, _LETTERS)
        or _list_of(lines, str.isdecimal, _NUMBERS)
        or _list_of(lines, str.isalpha, _ROMAN)
    )


def _option(found: re.Match[str]) -> ChoiceOption:
    return ChoiceOption(found["label"], found["text"].rstrip(" \t,;"), found.start("text"))


def _list_of(
    found: Iterable[ChoiceOption], is_of: Callable[[str], bool], labels: Sequence[str]
) -> Sequence[ChoiceOption]:
    """The last of the lists whose labels are of one kind and follow one another from the first on."""
    lists: list[list[ChoiceOption]] = []
    for option in found:
        label = option.label.casefold()
        if not is_of(option.label):
            continue
        if label == labels[0]:
            lists.append([option])
        elif lists and len(lists[-1]) < len(labels) and label == labels[len(lists[-1])]:
            lists[-1].append(option)
    return next((listed for listed in reversed(lists) if len(listed) > 1), ())


def named_option(answer: str, options: Sequence[ChoiceOption]) -> tuple[ChoiceOption, str] | None:
    """The option that an answer begins by naming, whatever its case and brackets, and what stands behind its label.

    None where it names none; words that only begin with the letter (`a cat`) name none.
    """
    found = _NAMED.match(answer.strip())
    if not found:
        return None
    label, rest = found["label"], answer.strip()[found.end() :]
    is_word = not found["end"] and label.islower() and rest.lstrip(" \t")[:1].isalpha()
    named = [option for option in options if option.label.casefold() == label.casefold()]
    return (named[0], rest) if named and not is_word else None


def chosen_option(answer: str, options: Sequence[ChoiceOption]) -> ChoiceOption | None:
    """The one option that an answer takes: by its label, by its text, or by both.

    None where it takes none, or where label and text are those of different ones.
    """
    form = plain_answer(answer)
    named = named_option(answer, options)
    if named is None:
        by_text = [option for option in options if plain_answer(option.text) == form]
        return by_text[0] if len(by_text) == 1 else None
    option, rest = named
    said = plain_answer(rest.lstrip(" \t-–—,;:|"))
    another = [other for other in options if other is not option and plain_answer(other.text) in (said or form, form)]
    return None if another else option
