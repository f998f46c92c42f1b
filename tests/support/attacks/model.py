"""What an attack is: a program, the defence that stops it, and the proof that without that defence it succeeds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from groundwire.core._sandboxes import ExecResult

__all__ = ["BARE", "NO_FILTER", "Attack", "Prey", "breached", "without"]

BARE = "bare"
"""Undefended: a plain child process of ours, with our environment and descriptors."""
NO_FILTER = "no filter"
"""Undefended: bubblewrap without its system call filter."""


def without(limit: str, value: object) -> Mapping[str, object]:
    """Undefended: the same sandbox with one limit raised to `value`."""
    return {limit: value}


@dataclass(frozen=True)
class Prey:
    """What attacks are after, on the host.

    Args:
        words: by placeholder (`<PORT>`): what stands for it in an attack's program.
        received: what the host's listeners were told.
        secret: the text that must never come out.
        mark: stands in the command line of whatever an attack leaves behind.
        alive: says whether the victim process still lives, unharmed.
    """

    words: Mapping[str, str]
    received: list[bytes]
    secret: str
    mark: str
    alive: Callable[[], bool]


def breached(result: ExecResult, _prey: Prey) -> bool:
    """The program says so."""
    return b"BREACH" in result.stdout


@dataclass(frozen=True)
class Attack:
    """One mechanism.

    Args:
        name: what it does, in a few words.
        must: what has to happen instead.
        program: Python source; placeholders as in `Prey.words`.
        undefended: how it is run with its defence taken out: `BARE`, `NO_FILTER` or a raised limit.
        succeeded: looks at what came of it.
        limits: for the sandbox.
        collect: files it is asked for.
        holds: seen from the result where the attack was stopped; None: nothing more than that it did not succeed.
        root: undefended it needs to run as root.
        first: a program that runs before it, in the same sandbox.
    """

    name: str
    must: str
    program: str
    undefended: str | Mapping[str, object] = BARE
    succeeded: Callable[[ExecResult, Prey], bool] = breached
    limits: Mapping[str, Any] = field(default_factory=dict[str, Any])
    collect: tuple[str, ...] = ()
    holds: Callable[[ExecResult], bool] | None = None
    root: bool = False
    first: str = ""
