"""What must not be seen: secrets, taken out at the sink, and the texts of hidden tests, known by their strings.

    sk-proj-Ab3…                                  →  [masked key]
    postgresql://ann:hunter2@db/lessons           →  postgresql://ann:[masked password]@db/lessons
    Authorization: Bearer eyJhbGciOi…             →  Authorization: Bearer [masked secret]
    the value of $OPENAI_API_KEY, wherever it is  →  [masked OPENAI_API_KEY]
    AccountKey=Eby8vdM02x…==;                     →  AccountKey=[masked secret];

Secrets are known by their shapes, and by the values of this process's own environment variables whose names say that
they are secret: as they stand, percent-encoded, in base64, or broken over two lines. A secret of no known shape that
stands in no such variable is not found. Masking what is masked already changes nothing.
"""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, cast
from urllib.parse import quote, quote_plus

from groundwire.core._candidates import Tree

# Secrets out of text, at the sink: what is written to a ledger holds none of these.

SECRET_NAMES = re.compile(r"(?i)(?:^|_)(?:API_?KEY|KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?)(?:$|_)")
"""Names of environment variables whose values are secret."""
SHORTEST_VALUE = 8
"""Shorter values of such variables turn up in ordinary text, so masking them would only do harm."""
SHORTEST_SECRET = 8
"""Characters: a URL with a password (`ab://:p@`); no pattern and no value is shorter."""
MARK = "[masked "

_KEYS = (
    r"sk-(?:ant-|proj-|or-|svcacct-|admin-)?[A-Za-z0-9_-]{16,300}",  # OpenAI, Anthropic, OpenRouter
    r"(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{16,200}",  # Stripe
    r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}",  # AWS
    r"gh[pousr]_[A-Za-z0-9]{30,260}",  # GitHub
    r"github_pat_[A-Za-z0-9_]{22,260}",
    r"glpat-[A-Za-z0-9_-]{20,100}",  # GitLab
    r"xox[abeoprs]-[A-Za-z0-9-]{10,260}",  # Slack
    r"AIza[A-Za-z0-9_-]{35}",  # Google
    r"ya29\.[A-Za-z0-9_-]{20,400}",
    r"hf_[A-Za-z0-9]{30,100}",  # Hugging Face
    r"npm_[A-Za-z0-9]{36}",
    r"pypi-[A-Za-z0-9_-]{50,400}",
    r"gsk_[A-Za-z0-9]{40,100}",  # Groq
    r"xai-[A-Za-z0-9]{40,120}",
    r"SG\.[A-Za-z0-9_-]{16,40}\.[A-Za-z0-9_-]{30,60}",  # SendGrid
    r"dop_v1_[a-f0-9]{64}",  # DigitalOcean
)
_BREAK = r"[ \t]{0,8}[\"']?[ \t]{0,8}\\?\r?\n[ \t]{0,40}[\"']?"
"""Where a long line is broken in two: in a string, a shell's command, a folded value."""
_REST = rf"(?:{_BREAK}(?=[A-Za-z0-9_-]{{0,100}}[0-9])[A-Za-z0-9_-]{{8,300}}(?![A-Za-z0-9_-]))?"
_JWT = r"eyJ[A-Za-z0-9_-]{8,2000}\.eyJ[A-Za-z0-9_-]{8,8000}\.[A-Za-z0-9_-]{8,2000}"
_PRIVATE_KEY = re.compile(
    r"-----BEGIN (?P<kind>[A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?)-----"
    r"(?:.{0,20000}?-----END (?P=kind)-----|[A-Za-z0-9+/=\s\\:,-]{0,20000})",  # the second where the end was cut off
    re.DOTALL,
)
_KEY = re.compile(rf"(?<![A-Za-z0-9_])(?:{'|'.join(_KEYS)}|{_JWT}){_REST}")
_OF_BREAKS = dict.fromkeys(map(ord, " \t\"'\\\r\n"))
"""All that a break can be made of: where a value is not even in the text without these, it is not broken in it."""
_URL = re.compile(
    r"(?P<head>[A-Za-z][A-Za-z0-9+.-]{1,30}://[^\s/?#:@'\"<>\[\]]{0,200}:)(?P<password>[^\s/?#@'\"<>]{1,300})(?=@)"
)
_HEADER = re.compile(
    r"(?i)(?P<head>\b(?:authorization|proxy-authorization)[\"']?\s{0,3}[:=]\s{0,3}[\"']?(?:bearer|basic|token)\s{1,3}"
    r"|\bbearer\s{1,3})(?P<value>[A-Za-z0-9._~+/=-]{12,4000})"
)
_NAMED = re.compile(
    r"(?i)(?P<head>(?:api[_-]?key|access[_-]?key|secret[_-]?key|client[_-]?secret|auth[_-]?token|access[_-]?token"
    r"|refresh[_-]?token|x-api-key|account[_-]?key|password|passwd|secret|token)[\"']?\s{0,3}[:=]\s{0,3}[\"']?)"
    r"(?P<value>(?=[A-Za-z0-9+/_.~-]{0,200}[0-9])(?=[A-Za-z0-9+/_.~-]{0,200}[A-Za-z])[A-Za-z0-9+/_.~-]{16,500}={0,2})"
    r"(?![A-Za-z0-9+/_.~(\[-])"
)
_MAY_BE_NAMED = re.compile(r"(?:key|secret|token|passw(?:or)?d)[\"']?\s{0,3}[:=]\s{0,3}[\"']?[a-z0-9+/_.~-]{16}")
"""In lower case: where this is not found, `_NAMED` finds nothing, and takes three times as long."""
_CUT_OFF = re.compile(
    r"(?P<head>\u2026 \d{1,15} (?:characters|bytes) cut \u2026\n)"
    r"(?P<value>(?=[A-Za-z0-9+/_=.~-]{0,300}[0-9])(?=[A-Za-z0-9+/_=.~-]{0,300}[A-Za-z])[A-Za-z0-9+/_=.~-]{16,8000})"
)
"""What may be the rest of a secret whose beginning was in the middle that was cut out of a long output."""

_KEY_HINTS = (
    ("-", ("sk-", "glpat-", "xox", "pypi-", "xai-")),
    ("gh", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_")),
    ("_", ("_live_", "_test_", "github_pat_", "hf_", "npm_", "gsk_", "dop_v1_")),
    (".", ("ya29.", "SG.", "eyJ")),
    ("A", ("AKIA", "ASIA", "ABIA", "ACCA", "AIza")),
)
"""What a key holds, by a character or two that it holds too and that are found at once, where a text holds none."""


class Masker:
    """Masks by the secrets that are known at the time it is made; cheap to make, so make one for each piece of work."""

    def __init__(self) -> None:
        self._secrets = _environment()

    def __call__(self, text: str) -> str:
        """`text` with every secret that is recognised replaced by a mark that says what it was."""
        if len(text) < SHORTEST_SECRET:
            return text
        if _may_hold_key(text):
            text = _KEY.sub("[masked key]", text)
        if "PRIVATE KEY" in text:
            text = _PRIVATE_KEY.sub("[masked private key]", text)
        if " cut \u2026\n" in text:
            text = _CUT_OFF.sub(_masked_value, text)
        if "://" in text:
            text = _URL.sub(_masked_password, text)
        lowered = text.lower()
        if "bearer" in lowered or "authorization" in lowered:
            text = _HEADER.sub(_masked_value, text)
        if _may_hold_name(lowered) and _MAY_BE_NAMED.search(lowered):
            text = _NAMED.sub(_masked_value, text)
        for name, value in self._secrets:
            if value in text:
                text = text.replace(value, f"{MARK}{name}]")
        if self._secrets and "\n" in text:
            text = self._without_broken(text)
        return text

    def _without_broken(self, text: str) -> str:
        """Masks known values that are broken over two lines."""
        whole = text.translate(_OF_BREAKS)
        for name, value in self._secrets:
            if value.translate(_OF_BREAKS) in whole:
                text = _broken(value).sub(lambda _found, name=name: f"{MARK}{name}]", text)
        return text

    def data(self, value: Any) -> Any:
        """The same for every string in what `json.loads` gave, keys among them."""
        if isinstance(value, str):
            return self(value)
        if isinstance(value, dict):
            return {self(key): self.data(item) for key, item in cast("dict[str, Any]", value).items()}
        if isinstance(value, list):
            return [self.data(item) for item in cast("list[Any]", value)]
        return value

    def json(self, text: str) -> str:
        """The same for every string in a JSON text, whose own form stays canonical; any other text as it is."""
        if "\\" not in text and self(text) == text:
            return text  # nothing is escaped, so each string stands there as it is
        try:
            value = json.loads(text)
            if self.finds_none(strings_in(value)):
                return text
            masked = self.data(value)
        except (ValueError, RecursionError):
            return self(text)
        return text if masked == value else json.dumps(masked, sort_keys=True, separators=(",", ":"))

    def finds_none(self, texts: Iterable[str]) -> bool:
        """True where none of the texts holds a secret; one look at all of them together."""
        each = [text for text in texts if len(text) >= SHORTEST_SECRET]
        whole = "\n\n".join(each)
        if "PRIVATE KEY" in whole:
            # how far such a key goes depends on what follows it
            return all(self(text) == text for text in each)
        return self(whole) == whole


def mask(text: str) -> str:
    """`text` with every secret that is recognised replaced by a mark that says what it was."""
    return Masker()(text)


def _may_hold_name(lowered: str) -> bool:
    # written out: to go through four hints one by one takes three times as long, and this is asked of every text
    return "key" in lowered or "token" in lowered or "secret" in lowered or "passw" in lowered


def _may_hold_key(text: str) -> bool:
    for part, hints in _KEY_HINTS:
        if part in text:
            for hint in hints:
                if hint in text:
                    return True
    return False


def strings_in(value: Any) -> Sequence[str]:
    """Every string in what `json.loads` gave, keys among them, in no order that means anything."""
    found: list[str] = []
    waiting: list[Any] = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            found.append(item)
        elif isinstance(item, dict):
            fields = cast("dict[str, Any]", item)
            found += fields
            waiting += fields.values()
        elif isinstance(item, list):
            waiting += cast("list[Any]", item)
    return found


def _masked_password(match: re.Match[str]) -> str:
    return match[0] if match["password"].startswith(MARK) else f"{match['head']}{MARK}password]"


def _masked_value(match: re.Match[str]) -> str:
    return f"{match['head']}{MARK}secret]"


def _environment() -> tuple[tuple[str, str], ...]:
    """Secret variables of this process, as they are now."""
    # reading os.environ decodes every name; what it keeps them in tells in a fiftieth of that whether one has changed
    global _last_look  # one for as long as no variable changes
    raw: dict[bytes, bytes] | None = getattr(os.environ, "_data", None)
    if raw is None:
        return _secrets(os.environ.items())
    look = _last_look
    if look is None or look[0] != raw:
        then = dict(raw)
        look = then, _secrets((os.fsdecode(name), os.fsdecode(value)) for name, value in then.items())
        _last_look = look
    return look[1]


_last_look: tuple[dict[bytes, bytes], tuple[tuple[str, str], ...]] | None = None


def _secrets(variables: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Names and values, the longest value first, so that a value that holds another is masked whole."""
    found = [(name, value) for name, value in variables if SECRET_NAMES.search(name)]
    known = [(name, value) for name, value in found if len(value) >= SHORTEST_VALUE and not value.startswith(MARK)]
    written = {(name, form) for name, value in known for form in (value, *_forms(value))}
    return tuple(sorted(written, key=lambda item: (-len(item[1]), item[0], item[1])))


def _forms(value: str) -> Iterator[str]:
    """How else a value is written: in a URL, and in base64, alone or anywhere within a longer text."""
    yield from (quote(value, safe=""), quote_plus(value), quote(value))
    body = value.encode("utf-8", "surrogatepass")
    for offset in range(3):
        # of three bytes that stand in the same four letters, those are left out that others have a part in
        start, end = (0, 2, 3)[offset], (len(body) + offset) * 8 // 6
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            form = encode(b"\0" * offset + body).decode()[start:end]
            if len(form) >= SHORTEST_VALUE:
                yield form


@lru_cache(maxsize=64)
def _broken(value: str) -> re.Pattern[str]:
    return re.compile(f"(?:{_BREAK})?".join(map(re.escape, value)))


# By which strings the text of hidden tests is known, wherever it turns up.

LEAST_LINE_CHARS = 24
MOST_LINES = 512
"""Lines that are looked for; the longest, since they are the surest."""
MAX_FILE_BYTES = 1024 * 1024
LEAST_CANARY_CHARS = 12
CANARY = re.compile(r"[\w.:-]*canary[\w.:-]*", re.IGNORECASE)
HOLDS_A_VALUE = re.compile(r"""\d|["'].+["']""")
COMMONPLACE = ("import ", "from ", "def ", "async def ", "class ", "@", "if __name__")
"""Lines that begin so say little and are written by everybody."""


def texts_of(tree: Tree) -> Iterator[str]:
    """The text files of a tree; large ones and those that are no text are passed over."""
    for content in tree.files.values():
        if len(content) <= MAX_FILE_BYTES and b"\0" not in content:
            yield content.decode("utf-8", "replace")


def canaries_in(texts: Iterable[str]) -> tuple[str, ...]:
    """Tokens that texts hold so that they can be recognised: whatever contains the word "canary"."""
    found = {word for text in texts for word in CANARY.findall(text) if len(word) >= LEAST_CANARY_CHARS}
    return tuple(sorted(found))


def telling_lines(texts: Iterable[str]) -> list[str]:
    """Lines that hold a value and are long enough to be nobody's coincidence, the longest first."""
    found = {line.strip() for text in texts for line in text.splitlines()}
    telling = (
        line
        for line in found
        if len(line) >= LEAST_LINE_CHARS and HOLDS_A_VALUE.search(line) and not line.startswith(COMMONPLACE)
    )
    return sorted(telling, key=lambda line: (-len(line), line))[:MOST_LINES]
