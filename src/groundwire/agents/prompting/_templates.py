"""Versioned prompt files, known by digest, and the options of the calls that they are sent with.

A prompt file holds a part `# System` and a part `# User`. Its placeholders are `$name`, as in `string.Template`; values
are put in as they are and never looked at again, so a `$` or `{}` in untrusted text does nothing. A published file is
never edited: a change is a new version.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from string import Template

from groundwire.core._errors import ConfigError
from groundwire.core._models import Message

# Versioned prompt files: loaded from the package, known by digest, filled in one pass.


@dataclass(frozen=True)
class Prompt:
    """One version of a prompt.

    Args:
        name: the file's name without `.md`, with its version.
        digest: sha256 of the file, as hex.
        system: the system part.
        user: the user part.
    """

    name: str
    digest: str
    system: str
    user: str

    def fields(self) -> frozenset[str]:
        """Names of the placeholders."""
        return frozenset(Template(self.system).get_identifiers() + Template(self.user).get_identifiers())

    def messages(self, **values: str) -> tuple[Message, ...]:
        """The messages, filled; lines that an empty value leaves empty are closed up.

        Raises:
            TypeError: a placeholder has no value, or a value no placeholder.
        """
        if values.keys() != self.fields():
            odd = ", ".join(sorted(values.keys() ^ self.fields()))
            raise TypeError(f"prompt {self.name}: values and placeholders differ in {odd}")
        parts = (("system", self.system), ("user", self.user))
        return tuple(
            Message(role="system" if role == "system" else "user", content=_fill(text, values))
            for role, text in parts
            if text
        )


def with_more(messages: tuple[Message, ...], digest: str, more: Prompt) -> tuple[tuple[Message, ...], str]:
    """Filled messages with another file's text at their end, and the digest that stands for both files.

    Args:
        messages: of the first file.
        digest: that file's.
        more: the other one; it has no placeholders and no system part.
    """
    last = messages[-1]
    longer = last.model_copy(update={"content": f"{last.content}\n\n{more.user}"})
    return (*messages[:-1], longer), hashlib.sha256(f"{digest} {more.digest}".encode()).hexdigest()


def digest_with(digest: str, instructions: str) -> str:
    """What stands for a prompt with a user's instructions in it: the prompt's own digest where there are none."""
    return hashlib.sha256(f"{digest} {instructions}".encode()).hexdigest() if instructions else digest


def instructed(messages: tuple[Message, ...], digest: str, instructions: str) -> tuple[tuple[Message, ...], str]:
    """Filled messages that a user's instructions open, and the digest that stands for both; as they are without any.

    Args:
        messages: of a prompt; the first one is the system's, or one is put there.
        digest: the prompt's.
        instructions: the user's, trusted as the prompt file is; empty: none.
    """
    if not instructions:
        return messages, digest
    first, *rest = messages
    if first.role == "system":
        opening = first.model_copy(update={"content": f"{instructions}\n\n{first.content}"})
    else:
        opening, rest = Message(role="system", content=instructions), [first, *rest]
    return (opening, *rest), digest_with(digest, instructions)


def _fill(text: str, values: dict[str, str]) -> str:
    # paragraphs of the file, not of the filled text: what was put in keeps its own empty lines
    paragraphs = (Template(paragraph).substitute(values) for paragraph in text.split("\n\n"))
    return "\n\n".join(paragraph for paragraph in paragraphs if paragraph.strip())


@cache
def load_prompt(name: str) -> Prompt:
    """The prompt file `agents/prompts/<name>.md`.

    Args:
        name: with its version, for example `repair_edits_v2`.

    Raises:
        FileNotFoundError: there is none.
        ValueError: it has no user part.
    """
    content = files("groundwire.agents").joinpath("prompts", f"{name}.md").read_bytes()
    system, mark, user = content.decode().partition("# User\n")
    if not mark:
        raise ValueError(f"prompt {name} has no part '# User'")
    return Prompt(
        name, hashlib.sha256(content).hexdigest(), system.strip().removeprefix("# System").strip(), user.strip()
    )


# Options of model calls that actors and critics share: their range and their warmth.

TEMPERATURE_STEP = 0.15
TEMPERATURE_CAP = 1.5
"""Progressive temperature: 0.15 a round up to 1.5, from "Feedback Friction", arXiv 2506.11930."""


def risen(start: float, rounds: int) -> float:
    """The temperature of a call at its `rounds`-th renewal, 0 at first; a start above the cap stays as it is."""
    return min(start + TEMPERATURE_STEP * rounds, max(TEMPERATURE_CAP, start))


def check_range(who: str, *, temperature: float, max_tokens: int) -> None:
    """Refuses what no model can be asked for.

    Args:
        who: whose options they are, for the message.
        temperature: of the calls.
        max_tokens: tokens of an answer.

    Raises:
        ConfigError: one of them is out of range.
    """
    if max_tokens < 1 or temperature < 0:
        raise ConfigError(
            f"{who} got an argument out of range.", do="Use max_tokens of 1 or more, temperature of 0 or more."
        )
