"""What an actor asks a program to do, and what came of it. The actor's runs go through the ledger like model calls."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from groundwire.core._candidates import Candidate
from groundwire.core._signals import canonical


@dataclass(frozen=True, kw_only=True)
class ProgramRequest:
    """One run of a program that proposes.

    Args:
        command: program and arguments as the user gave them, placeholders unfilled.
        prompt: the text it is handed.
        prompt_digest: sha256 of the versioned prompt file behind that text.
        tree: digest of the files it may edit.
        attempt: which of several runs on the same evidence, counted from 0.
        seed: for programs that can be repeated.
        timeout_s: wall seconds it may take.
        isolated: True if it runs in a sandbox.
        env: names of the user's variables that are passed on; never their values.
    """

    command: tuple[str, ...]
    prompt: str = ""
    prompt_digest: str = ""
    tree: str = ""
    attempt: int = 0
    seed: int = 0
    timeout_s: float = 0.0
    isolated: bool = False
    env: tuple[str, ...] = ()

    def canonical(self) -> str:
        """The canonical JSON; its sha256 is the request's digest."""
        return canonical(asdict(self))


@dataclass(frozen=True, kw_only=True)
class ProgramResult:
    """What a program did.

    Args:
        candidate: what it changed and may change; None where there is no such thing.
        refused: what it changed beside that, each as `reason: path`.
        exit_code: the exit status; None if it was ended.
        ended_by: what ended it: `wall_s` or another limit, `signal 9`; empty if it ended by itself.
        stdout: standard output, head and tail kept.
        stdout_cut: bytes of standard output that were dropped.
        duration_s: wall seconds.
        sandbox: the kind it ran in.
        error: why it could not be run, or what came of it not be read; empty otherwise.
    """

    candidate: Candidate | None = None
    refused: tuple[str, ...] = ()
    exit_code: int | None = None
    ended_by: str = ""
    stdout: str = ""
    stderr: str = ""
    stdout_cut: int = 0
    stderr_cut: int = 0
    duration_s: float = 0.0
    sandbox: str = ""
    error: str = ""
