"""Going on with an answer of which the beginning is kept: how a model is asked to, and what of its text is new.

A model whose backend continues a begun answer writes on where it stands. Any other is told to, in a turn of its own,
and may begin again all the same: with "Continuing:", with a fence, or with what is kept.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from groundwire.agents.prompting._templates import load_prompt
from groundwire.core._models import Backend, Message
from groundwire.core._prompt_text import inert, unfence
from groundwire.core._reasoning_text import without_reasoning
from groundwire.core._reply_parts import ANNOUNCEMENT
from groundwire.core._traits import BackendTraits

_FENCE = re.compile(r"[ \t]{0,3}(?:`{3,}|~{3,})[^\n`]{0,40}")
DISTINCT = 12
"""Characters from which on one line alone is taken for a repetition of the last one that is kept."""


def gone_on(kept: str, text: str, *, is_whole: bool = True) -> str:
    """What of a model's text follows what is kept: thinking, announcements, fences and repetition left out.

    Repeated is what begins with all that is kept, or with its last lines. Lines are compared without the blanks and the
    emphasis around them; those that stay are the model's own, byte for byte.

    Args:
        kept: what stands before; whole lines, or empty.
        text: what the model wrote.
        is_whole: False while it still writes: then what may yet turn out to be repetition is held back.
    """
    lines = _announced(unfence(without_reasoning(text)).splitlines(keepends=True), is_whole=is_whole)
    own = [line for line in _lines_of(kept) if line]
    said = [place for place, line in enumerate(lines) if _plain_line(line) and (is_whole or line.endswith("\n"))]
    shown = [_plain_line(lines[place]) for place in said]
    if not own:
        return "".join(lines)
    if not is_whole and _may_repeat(own, shown):
        return ""
    repeated = max((n for n in range(1, min(len(own), len(shown)) + 1) if own[-n:] == shown[:n]), default=0)
    if own[: len(own)] == shown[: len(own)]:
        repeated = len(own)
    elif repeated == 1 and len(own) > 1 and len(own[-1]) < DISTINCT:
        repeated = 0  # two short steps may well be the same
    new = "".join(lines[said[repeated - 1] + 1 :] if repeated else lines)
    # chat templates strip what they end with, so that a model may write the line's end once more
    return new.lstrip("\n") if kept.endswith("\n") else new


def _may_repeat(own: Sequence[str], shown: Sequence[str]) -> bool:
    """True while all that was written stands within what is kept, and not at its end."""
    return not shown or any(list(own[at : at + len(shown)]) == list(shown) for at in range(len(own) - len(shown)))


def _announced(lines: list[str], *, is_whole: bool) -> list[str]:
    """Without what announces the text and the fence around it."""
    says = next((at for at, line in enumerate(lines) if line.strip()), 0)
    while lines and ANNOUNCEMENT.fullmatch(lines[says].rstrip("\n")):
        lines = lines[says + 1 :]
        says = next((at for at, line in enumerate(lines) if line.strip()), 0)
        lines, says = lines[says:], 0
    if lines and _is_announcement(lines[says]):
        lines = lines[says:]
    if lines and (begins := ANNOUNCEMENT.match(lines[0])) and begins[0].rstrip(" \t*_").endswith(":"):
        lines = [lines[0][begins.end() :], *lines[1:]]
    if lines and not is_whole and len(lines) == 1 and not lines[0].endswith("\n") and _is_announcement(lines[0]):
        return []
    if lines and _FENCE.fullmatch(lines[0].rstrip("\n")):
        mark = lines[0].strip()[:3]
        end = next((at for at, line in enumerate(lines[1:], 1) if line.strip().startswith(mark)), len(lines))
        lines = lines[1:end]
    return lines


def _is_announcement(line: str) -> bool:
    return bool(ANNOUNCEMENT.match(line) or _FENCE.match(line))


def _lines_of(text: str) -> list[str]:
    return [_plain_line(line) for line in text.splitlines()]


def _plain_line(line: str) -> str:
    return " ".join(line.strip().strip("*_`").split())


def asks_to_go_on(
    messages: Sequence[Message], begun: str, backend: Backend, *, prompt: str = "go_on_v1", **values: str
) -> tuple[Message, ...]:
    """A conversation that asks for what follows the beginning of an answer.

    Where the backend continues a begun answer (`BackendTraits.continues`) it ends with that beginning; else the model
    is told, by a prompt file, to go on behind it.

    Args:
        messages: what was asked; a last one of the assistant's begins the answer already.
        begun: the beginning that is kept.
        backend: what will answer.
        prompt: the file that tells it to go on.
        **values: that file's.
    """
    *before, last = messages
    if last.role == "assistant":
        written = (*before, last.model_copy(update={"content": last.content + inert(begun)}))
    else:
        written = (*messages, Message(role="assistant", content=inert(begun)))
    return written if BackendTraits.of(backend).continues else (*written, *load_prompt(prompt).messages(**values))
