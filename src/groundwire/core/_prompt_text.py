"""Untrusted text in prompts: made printable, shortened, and put between delimiters that it can't close.

Two ways to show text that others wrote:

- `data`: between tags of ours, with `<`, `>` and `&` escaped, so no tag inside is one. For test output, messages,
  lessons, reflections and diffs.
- `fenced`: verbatim between fences of backticks that are longer than any run of backticks inside (CommonMark 0.31
  section 4.5). For files, whose exact text an answer has to quote.
"""

from __future__ import annotations

import math
import re
from html import escape

CHARS_PER_TOKEN = 3.5
"""Stated rule for prompt budgets: code and English have about 3.5 to 4 characters a token."""

# control characters but tab, line feed and form feed; surrogates; marks that reorder or hide text (bidi controls, tag
# characters), with which a text can show people one thing and a model another
_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b\x0d-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\U000e0000-\U000e007f]"
)
_TERMINAL = re.compile(r"\x1b(?:\[[0-?]{0,32}[ -/]{0,8}[@-~]|[@-Z\\-_])")
ATTRIBUTE_LIMIT = 1100

_BACKTICKS = re.compile(r"`+")

_RAN_IN = re.compile(r" in \d[\d.]*s\b")
_SUMMARY = re.compile(r"^Ran \d+ test|\b(?:passed|failed|errors?|skipped|deselected)\b")
SUMMARY_CHARS = 200
_ADDRESS = re.compile(r"\bat 0x[0-9a-fA-F]+")

_CHAT_MARK = "<|"
_CHAT_MARK_SHOWN = "<\u2060|"


def estimate_tokens(text: str) -> int:
    """Tokens of `text` by the stated rule: characters divided by 3.5, rounded up."""
    return math.ceil(len(text) / CHARS_PER_TOKEN)


def printable(text: str) -> str:
    """`text` with terminal sequences dropped, CRLF as LF, and control, surrogate, bidi and tag characters replaced."""
    return _UNPRINTABLE.sub("\ufffd", _TERMINAL.sub("", text).replace("\r\n", "\n"))


def head_tail(text: str, limit: int) -> str:
    """`text` if it is at most `limit` characters, else its first and last halves around a note of what was left out."""
    if len(text) <= limit:
        return text
    head = limit // 2
    tail = limit - head
    return f"{text[:head]}\n[… {len(text) - limit} characters left out …]\n{text[len(text) - tail :]}"


def steady(text: str) -> str:
    """Test output without what differs in every run: the runner's own time, and addresses of objects.

    The same failure then makes the same prompt, so that a recorded answer is found again and a provider's cache hits.
    """
    lines = [
        _RAN_IN.sub(" in …s", line) if len(line) <= SUMMARY_CHARS and _SUMMARY.search(line) else line
        for line in text.split("\n")
    ]
    shown = "\n".join(lines)
    return _ADDRESS.sub("at 0x…", shown) if "at 0x" in shown else shown  # a flood is looked through quickly


def plain(text: str, limit: int) -> str:
    """One line of untrusted text: printable, without line breaks, at most `limit` characters."""
    return " ".join(printable(text[: limit * 4]).split())[:limit]


def tagged(tag: str, inner: str, **attributes: str | int) -> str:
    """`inner`, which is safe already, between tags of ours; the attributes' values are untrusted."""
    named = "".join(f' {key}="{escape(plain(str(value), ATTRIBUTE_LIMIT))}"' for key, value in attributes.items())
    return f"<{tag}{named}>\n{inner}\n</{tag}>"


def data(tag: str, text: str, **attributes: str | int) -> str:
    """Untrusted text between tags of ours, escaped so that it can't close them."""
    return tagged(tag, escape(printable(text), quote=False), **attributes)


def fenced(text: str) -> str:
    """Untrusted text, verbatim, in a fence it can't close.

    The text is made `inert`.
    """
    shown = inert(text)
    longest = max((len(run) for run in _BACKTICKS.findall(shown)), default=0)
    fence = "`" * max(3, longest + 1)
    end = "" if shown.endswith("\n") or not shown else "\n"
    return f"{fence}\n{shown}{end}{fence}"


def inert(text: str) -> str:
    """Printable, and with an invisible joiner in `<|`, which opens the control tokens of chat templates."""
    return printable(text).replace(_CHAT_MARK, _CHAT_MARK_SHOWN)


def unfence(text: str) -> str:
    """A model's text with the joiners of `inert` taken out."""
    return text.replace(_CHAT_MARK_SHOWN, _CHAT_MARK)
