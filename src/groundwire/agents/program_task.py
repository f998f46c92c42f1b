"""What a program is handed: the task and its evidence, once as text to read and once as JSON."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from typing import Any

from groundwire.agents.evidence import (
    attempt_as_data,
    failing_evidence,
    failing_of,
    lessons_as_data,
    lessons_to_show,
    may_be_shown,
    reflection_as_data,
)
from groundwire.agents.templates import load_prompt
from groundwire.agents.text import data, head_tail, plain, printable, tagged
from groundwire.contexts import ActorContext
from groundwire.signals import Signal

__all__ = ["HandOver", "hand_over"]

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


def hand_over(context: ActorContext, *, timeout_s: float) -> HandOver:
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
    return HandOver(_fitting(message.content), prompt.digest, _fields(context, failing.signal if failing else None))


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
