"""An actor that lets any program edit the files, and what that program is handed: the task and its evidence."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Literal

from groundwire.agents.patching._evidence import (
    attempt_as_data,
    failing_evidence,
    failing_of,
    lessons_as_data,
    lessons_to_show,
    may_be_shown,
    reflection_as_data,
)
from groundwire.agents.programs._program_run import ChangeRefusal, ProgramExecution
from groundwire.agents.prompting._templates import load_prompt, with_more
from groundwire.core._candidates import Candidate, Tree
from groundwire.core._contexts import ActorContext
from groundwire.core._contradictions import contradicted, said_in
from groundwire.core._errors import CandidateError, ConfigError
from groundwire.core._ids import seed_in
from groundwire.core._programs import ProgramRequest, ProgramResult
from groundwire.core._prompt_text import data, head_tail, plain, printable, tagged
from groundwire.core._sandboxes import Limits, Network, Sandbox, canonical_destinations
from groundwire.core._signals import Signal
from groundwire.core._tasks import split_command

# What a program is handed: the task and its evidence, once as text to read and once as JSON.

FORMAT = 1
"""Version of the JSON; raised when a field changes its meaning or goes."""
MAX_PROMPT_BYTES = 120_000
"""Linux takes at most 128 KiB in one argument, and `{prompt}` may be one."""
TASK_CHARS = 20_000
MAX_CASES = 200
MESSAGE_CHARS = 4000
OUTPUT_CHARS = 16_000
LESSON_CHARS = 4000


@dataclass(frozen=True)
class HandOver:
    """What a program is told.

    Args:
        prompt: text with labelled data, for a model or a person.
        prompt_digest: sha256 of the prompt file behind it.
        fields: the same as JSON values, for programs.
    """

    prompt: str
    prompt_digest: str
    fields: dict[str, Any]

    def as_json(self, *, attempt: int, seed: int) -> str:
        """The JSON that one attempt gets."""
        return json.dumps({**self.fields, "attempt": attempt, "seed": seed}, indent=1)


def hand_over(context: ActorContext, *, timeout_s: float, may_contradict: bool = False) -> HandOver:
    """The task, the failing evidence, the reflection and the lessons; nothing hidden, and nothing of the answer key."""
    task = context.task.public()
    failing = failing_of(context)
    prompt = load_prompt("program_task_v1")
    (message,) = prompt.messages(
        editable=", ".join(plain(glob, 300) for glob in task.editable) or "Python files that are no tests",
        seconds=f"{timeout_s:.0f}",
        command=plain(shlex.join(task.command), 1000) or "not known",
        task=data("task", head_tail(task.prompt, TASK_CHARS), id=task.id),
        lessons=lessons_as_data(lessons_to_show(context)),
        attempt=attempt_as_data(context),
        evidence=failing_evidence(failing.signal) if failing else "",
        reflection=reflection_as_data(context),
        stuck=tagged("stuck", "", times=context.escalation) if context.escalation else "",
    )
    digest = prompt.digest
    if may_contradict:
        (message,), digest = with_more((message,), digest, load_prompt("may_contradict_v1"))
    return HandOver(_fitting(message.content), digest, _fields(context, failing.signal if failing else None))


def _fitting(text: str) -> str:
    limit = len(text)
    while len(text.encode()) > MAX_PROMPT_BYTES:
        limit = limit * 9 // 10
        text = head_tail(text, limit)
    return text


def _fields(context: ActorContext, signal: Signal | None) -> dict[str, Any]:
    task = context.task
    failing = failing_of(context)
    return {
        "format": FORMAT,
        "task": {"id": task.id, "family": task.family, "prompt": task.prompt, "command": list(task.command)},
        "editable": list(task.editable) or ["**/*.py"],
        "read_only": list(task.test_files),
        "trial": context.trial,
        "escalation": context.escalation,
        "failing": _evidence(signal) if signal else None,
        "tried": failing.candidate.note if failing else "",
        "reflection": context.reflection.text if context.reflection else "",
        "lessons": [
            {"id": lesson.id, "task": lesson.task_id, "text": head_tail(lesson.text, LESSON_CHARS)}
            for lesson in lessons_to_show(context)
        ],
    }


def _evidence(signal: Signal) -> dict[str, Any]:
    known = {"verdict": signal.verdict.value, "origin": signal.origin.value}
    if not may_be_shown(signal):
        return known
    evidence = signal.evidence
    failed = evidence.failed()
    stdout, stderr = evidence.output
    cases = [
        {"id": case.id, "result": case.result.value, "message": printable(head_tail(case.message, MESSAGE_CHARS))}
        for case in failed[:MAX_CASES]
    ]
    return {
        **known,
        "detail": evidence.detail,
        "failed": len(failed),
        "passed": len(evidence.passed()),
        "stopped_early": signal.partial,
        "cases": cases,
        "stdout": printable(head_tail(stdout, OUTPUT_CHARS)),
        "stderr": printable(head_tail(stderr, OUTPUT_CHARS)),
    }


# An actor that lets any program edit the files: another coding agent's command line, a script, a formatter.

MIB = 1024 * 1024
OUTPUT_BYTES = 64 * 1024
LIMITS = Limits(
    memory_bytes=4096 * MIB,
    processes=512,
    open_files=1024,
    file_bytes=256 * MIB,
    disk_bytes=1024 * MIB,
    output_bytes=OUTPUT_BYTES,
)
"""Other programs need more than tests do."""
FROM_HOST = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ")
"""All that a program on the host sees of the user's environment, unless more is named."""
OURS: Mapping[str, str] = {"TERM": "dumb", "NO_COLOR": "1", "COLUMNS": "120"}
IN_THE_SANDBOX = (
    "It runs in the sandbox, which has the system's programs and the project's Python: give a path that exists there,"
    " or run it as you (--no-actor-sandbox, isolated=False), where it can read what you can."
)
NO_NETWORK = (
    "it ran in the sandbox without network: --actor-network or --actor-host HOST:PORT lets it out, --no-actor-sandbox"
    " runs it as you"
)
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class CommandActor:
    """Proposes what a program makes of the files. See docs/actors.md for what the program is handed.

    Each run gets the files in a private folder, without anything hidden and without history; the task, the evidence,
    the reflection and the lessons come as files. What it has changed among the editable files when it ends is one
    candidate. Changes to tests are put back and recorded. Its command, output, exit status and time are in the ledger,
    however it ended; everything it started is ended with it.

    Args:
        command: program and arguments; a text is split as a shell would, and never given to one. `{prompt_file}`,
            `{prompt}`, `{task_file}`, `{workdir}`, `{trial}`, `{attempt}` and `{seed}` in it are filled in. A command
            without `{prompt_file}` and `{prompt}` gets the prompt on standard input.
        start: what it edits: the `best` files so far, or the task's own (`base`).
        samples: runs in a trial, each with an attempt number and a seed of its own; fewer where the graph wants fewer.
        at_once: runs at the same time.
        timeout_s: wall seconds of one run; then it is ended, and counts as one that failed.
        env: names of the user's variables that it sees beside `PATH` and the locale: API keys, `HOME`.
        isolated: runs it in the run's sandbox; False: as the user, in a temporary folder, with its own empty home.
        network: lets it reach the network from the sandbox, or only these `host:port`; without a sandbox it can anyway.
        git: puts the files into a fresh repository of one commit, for programs that ask for one.
        keep_failed: takes what it changed also where its exit status is not 0 or its time was over; the note says so.
        may_contradict: its prompt says how it can say, in the place of a change, that a test contradicts the task.
        limits: other ceilings; the wall time and the network are those named here.

    Raises:
        ConfigError: an argument is out of range, the command can't be split, or hosts are listed without a sandbox.
    """

    def __init__(
        self,
        command: str | Sequence[str],
        *,
        start: Literal["best", "base"] = "best",
        samples: int = 1,
        at_once: int = 1,
        timeout_s: float = 600.0,
        env: Sequence[str] = (),
        isolated: bool = False,
        network: bool | Sequence[str] = False,
        git: bool = False,
        keep_failed: bool = True,
        may_contradict: bool = False,
        limits: Limits = LIMITS,
    ) -> None:
        self._command = split_command(command) if isinstance(command, str) else tuple(command)
        if not self._command or not self._command[0] or any("\0" in part for part in self._command):
            raise ConfigError("CommandActor got no program to run.", do='Give one, like "my-agent {prompt_file}".')
        if min(samples, at_once) < 1 or not 0 < timeout_s < float("inf"):
            raise ConfigError(
                "CommandActor got an argument out of range.",
                do="samples and at_once are at least 1, timeout_s is more than 0 seconds.",
            )
        odd = [name for name in env if not NAME.fullmatch(name) or name.startswith("GROUNDWIRE_")]
        if odd:
            raise ConfigError(
                f"{odd[0]!r} can't be passed on to a program.",
                do="Name your own environment variables, like ANTHROPIC_API_KEY; groundwire sets its own.",
            )
        self._from_base = start == "base"
        self._samples = samples
        self._at_once = at_once
        self._timeout_s = timeout_s
        self._env = tuple(dict.fromkeys(env))
        self._isolated = isolated
        self._git = git
        self._keep_failed = keep_failed
        self._may_contradict = may_contradict
        opened = _opened(network, isolated=isolated)
        self._limits = limits.model_copy(update={"network": opened, "cpu_s": max(limits.cpu_s, timeout_s)})

    @property
    def name(self) -> str:
        """The program's name, as edit statistics know it."""
        return re.sub(r"[^A-Za-z0-9_-]", "_", PurePosixPath(self._command[0]).name)[:40]

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        """See `Actor`. Empty: no run changed anything.

        Raises:
            Contradiction: it changed nothing, and its output ends with the word that a test contradicts the task.
            CandidateError: the program changed only what it may not, or failed and changed nothing.
            ConfigError: the program is not there, a named variable is not set, or there is no sandbox to run it in.
            SandboxError: the sandbox failed.
            BudgetExceeded: no time is left.
        """
        wanted = min(n, self._samples)
        if wanted < 1:
            return ()
        if context.sandbox is None:
            raise ConfigError(
                "CommandActor runs programs, and there is no sandbox to run them in.",
                do="Use it in a graph, or give ActorContext(sandbox=…) an opener.",
            )
        environment = self._environment()
        sandbox = await context.sandbox(isolated=self._isolated)
        handed = hand_over(context, timeout_s=self._timeout_s, may_contradict=self._may_contradict)
        first = context.escalation * wanted
        runs = [self._run(context, sandbox, handed, environment, first + i) for i in range(wanted)]
        results = await self._all(context, runs)
        made = [r.candidate for r in results if r.candidate and (self._keep_failed or _succeeded(r))]
        if not made:
            if said := next((said for r in results if (said := said_in(r.stdout))), None):
                failing = failing_of(context)
                raise contradicted(said, failing.signal if failing else None)
            self._explain(results)
        return tuple({candidate.digest: candidate for candidate in made}.values())

    def _environment(self) -> dict[str, str]:
        missing = [name for name in self._env if name not in os.environ]
        if missing:
            raise ConfigError(
                f"{', '.join(missing)} is to be passed on to {self.name} and is not set.",
                do="Set it, or don't name it.",
            )
        names = self._env if self._isolated else (*FROM_HOST, *self._env)
        return {**OURS, **{name: os.environ[name] for name in names if name in os.environ}}

    def _run(
        self,
        context: ActorContext,
        sandbox: Sandbox,
        handed: HandOver,
        environment: Mapping[str, str],
        attempt: int,
    ) -> ProgramExecution:
        tree: Tree = context.task.tree if self._from_base else context.tree
        seed = seed_in(context, "program", sample=attempt)
        request = ProgramRequest(
            command=self._command,
            prompt=handed.prompt,
            prompt_digest=handed.prompt_digest,
            tree=tree.digest,
            attempt=attempt,
            seed=seed,
            timeout_s=self._timeout_s,
            isolated=self._isolated,
            env=self._env,
        )
        return ProgramExecution(
            request=request,
            task=context.task.public(),
            tree=tree,
            sandbox=sandbox,
            limits=self._limits,
            program=self.name,
            handed=handed.as_json(attempt=attempt, seed=seed),
            values={"trial": context.trial, "attempt": attempt, "seed": seed},
            env=environment,
            secrets={name: os.environ[name] for name in self._env},
            git=self._git,
        )

    async def _all(self, context: ActorContext, runs: Sequence[ProgramExecution]) -> list[ProgramResult]:
        slots = asyncio.Semaphore(self._at_once)

        async def one(run: ProgramExecution) -> ProgramResult:
            async with slots:
                return await context.program(run.request, run)

        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(one(run)) for run in runs]
        except BaseExceptionGroup as failures:
            raise failures.exceptions[0] from None
        return [task.result() for task in tasks]

    def _explain(self, results: Sequence[ProgramResult]) -> None:
        """Says why no run gave a candidate; nothing to say where all ended well and changed nothing."""
        missing = next((r for r in results if r.error and r.exit_code in (126, 127)), None)
        if missing:
            raise ConfigError(
                f"The program can't be run: {missing.error}.",
                do=IN_THE_SANDBOX if self._isolated else "Give its full path, or put it on the PATH.",
            )
        touched = next((r for r in results if any(text.startswith(ChangeRefusal.TESTS) for text in r.refused)), None)
        odd = touched or next((r for r in results if r.refused or r.error or not _succeeded(r)), None)
        if odd is None:
            return
        why = [f"ended by {odd.ended_by}" if odd.ended_by else f"exit status {odd.exit_code}"]
        why += [odd.error] if odd.error else []
        why += [f"refused: {', '.join(odd.refused[:3])}"] if odd.refused else []
        said = plain(odd.stderr.strip().rpartition("\n")[2], 200)
        why += [f"it said: {said}"] if said and not _succeeded(odd) else []
        if self._isolated and not self._limits.network and not _succeeded(odd):
            why.append(NO_NETWORK)
        raise CandidateError(
            f"{self.name} made no candidate ({'; '.join(why)}).",
            do="Its whole output is in the ledger:  groundwire show RUN --json",
        )


def _succeeded(result: ProgramResult) -> bool:
    return result.exit_code == 0 and not result.ended_by


def _opened(network: bool | Sequence[str], *, isolated: bool) -> Network:
    if isinstance(network, bool):
        return network
    if not isolated:
        raise ConfigError(
            "Only a sandbox holds a program to a list of hosts, and this one would run as you.",
            do="Run it in the sandbox (isolated=True; --actor-sandbox), or list no hosts.",
        )
    try:
        return canonical_destinations((network,) if isinstance(network, str) else network) or False
    except ValueError as error:
        raise ConfigError(f"The hosts that the program may reach are wrong: {error}", do="Correct the list.") from error
