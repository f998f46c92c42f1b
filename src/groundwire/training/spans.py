"""Who wrote which part of a prompt.

Our prompts show what others wrote between tags that the text inside can't close (`<`, `>` and `&` are escaped there),
and files between fences. So each character has an author: the innermost tag says which. In prompts of somebody's own,
texts that the ledger knows are looked for; what is left is the person's who wrote the prompt.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from html import escape
from typing import NamedTuple

from groundwire.training.trajectories import Author, Span

__all__ = ["Known", "spans_by_known_texts", "spans_by_tags"]

AUTHORS: Mapping[str, Author] = {
    **dict.fromkeys(("task", "policy", "not_shown", "stuck", "left_out"), Author.HUMAN),
    **dict.fromkeys(
        ("evidence", "case", "also_failed", "detail", "stdout", "stderr", "output", "scene", "can_do", "tool_error"),
        Author.ENV,
    ),
    "step": Author.ENV,
}
"""By tag; what stands in any other one is a model's, or may be."""
PROMPT = "prompt"
FILE = "file"
STEP = "step"
SHORTEST_KNOWN = 12
"""Characters; shorter texts turn up by chance."""

_TOKEN = re.compile(
    r"^(?P<fence>`{3,})[^\n`]*\n.*?^(?P=fence)`*[ \t]*$"  # CommonMark 0.31 section 4.5
    r"|<(?P<close>/?)(?P<tag>[a-z_]{2,40})(?: [^<>\n]{0,1200})?>",
    re.DOTALL | re.MULTILINE,
)


class Known(NamedTuple):
    """A text of the ledger."""

    text: str
    author: Author
    what: str


def spans_by_tags(content: str, *, files: Author) -> tuple[Span, ...]:
    """The spans of a message that one of our prompt files made.

    Args:
        content: the message.
        files: who wrote the files that it shows; a model, once it may have changed them.
    """
    pieces: list[tuple[int, Author, str]] = []
    stack: list[tuple[str, Author]] = []
    done = 0
    for match in _TOKEN.finditer(content):
        author, what = (stack[-1][1], stack[-1][0]) if stack else (Author.HUMAN, PROMPT)
        pieces.append((match.start(), author, what))
        if match["fence"]:
            inside_author, inside_what = (author, what) if stack and what != FILE else (files, FILE)
            pieces.append((match.end(), inside_author, inside_what))
        elif match["close"]:
            # tags are ours, and so are those that nobody opened: they are named in the prompt's own words
            while stack and any(tag == match["tag"] for tag, _ in stack):
                if stack.pop()[0] == match["tag"]:
                    break
            pieces.append((match.end(), Author.HUMAN, PROMPT))
        elif content.find(f"</{match['tag']}>", match.end()) >= 0:
            tag = match["tag"]
            stack.append((tag, files if tag == FILE else AUTHORS.get(tag, Author.MODEL)))
            # what stands in a tag itself is named by whoever wrote what is in it; a step names the action
            opening_author, opening = (Author.MODEL, "action") if tag == STEP else (stack[-1][1], tag)
            pieces.append((match.end(), opening_author, opening))
        else:
            pieces.append((match.end(), author, what))
        done = match.end()
    author, what = (stack[-1][1], stack[-1][0]) if stack else (Author.HUMAN, PROMPT)
    if done < len(content):
        pieces.append((len(content), author, what))
    return tuple(_joined(pieces))


def spans_by_known_texts(content: str, known: Iterable[Known], rest: Author = Author.HUMAN) -> tuple[Span, ...]:
    """The spans of any other message: each text of the ledger that stands in it, longest first, and the rest.

    Args:
        content: the message.
        known: texts of the ledger that were there before the message was written.
        rest: who wrote what is in none of them.
    """
    taken: list[tuple[int, int, Known]] = []
    for one in sorted(known, key=lambda k: -len(k.text)):
        for form in dict.fromkeys((one.text, escape(one.text, quote=False))):
            if len(form.strip()) < SHORTEST_KNOWN and form != content:
                continue
            start = content.find(form) if form else -1
            while start >= 0:
                end = start + len(form)
                if all(end <= begun or start >= ended for begun, ended, _ in taken):
                    taken.append((start, end, one))
                start = content.find(form, end)
    pieces: list[tuple[int, Author, str]] = []
    for start, end, one in sorted(taken, key=lambda t: t[:2]):
        pieces += [(start, rest, PROMPT), (end, one.author, one.what)]
    pieces.append((len(content), rest, PROMPT))
    return tuple(_joined(pieces))


def _joined(pieces: Iterable[tuple[int, Author, str]]) -> Iterator[Span]:
    """Spans from places where one ends; neighbours that are alike become one."""
    start, end = 0, 0
    last: tuple[Author, str] | None = None
    for until, author, what in pieces:
        if until <= end:
            continue
        if last is not None and last != (author, what):
            yield Span(start=start, end=end, author=last[0], what=last[1])
            start = end
        last, end = (author, what), until
    if last is not None:
        yield Span(start=start, end=end, author=last[0], what=last[1])
