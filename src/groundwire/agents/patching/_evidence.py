"""What failed, as labelled data for a prompt: one signal's cases and output, shortened."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

from groundwire.core._candidates import Tree
from groundwire.core._contexts import ActorContext, Judged, Lesson
from groundwire.core._prompt_text import data, head_tail, plain, steady, tagged
from groundwire.core._signals import Origin, Signal, Verdict

MAX_CASES = 8
MAX_NAMES = 40
CASE_CHARS = 2000
OUTPUT_CHARS = 1200
OUTPUT_CHARS_ALONE = 4000
DETAIL_CHARS = 500
LESSON_CHARS = 2000
REFLECTION_CHARS = 2000
MAX_LESSONS = 8
DIFF_CHARS = 6000
DIFF_CONTEXT_LINES = 2
MAX_DIFF_LINES = 2000


def may_be_shown(signal: Signal) -> bool:
    """False for what an actor or critic must not learn from: hidden tests, and signals that used the answer key."""
    return signal.origin is not Origin.HIDDEN_TESTS and not signal.oracle


def failing_evidence(signal: Signal) -> str:
    """The failing cases with their messages, then the output's head and tail; only the verdict if nothing more may
    be shown."""
    evidence = signal.evidence
    failed = evidence.failed()
    if not may_be_shown(signal):
        return data("evidence", "", verdict=signal.verdict.value, origin=signal.origin.value)
    parts = [data("detail", head_tail(evidence.detail, DETAIL_CHARS))] if evidence.detail else []
    parts += [
        data("case", head_tail(steady(case.message), CASE_CHARS), id=case.id, result=case.result.value)
        for case in failed[:MAX_CASES]
    ]
    others = failed[MAX_CASES:]
    if others:
        names = "\n".join(plain(case.id, 300) for case in others[:MAX_NAMES])
        parts.append(data("also_failed", names, count=len(others)))
    room = OUTPUT_CHARS if any(case.message for case in failed) else OUTPUT_CHARS_ALONE
    stdout, stderr = evidence.output
    for name, text, cut in (("stdout", stdout, evidence.stdout_cut), ("stderr", stderr, evidence.stderr_cut)):
        if text.strip():
            parts.append(data(name, head_tail(steady(text), room), bytes_cut=cut))
    counts: dict[str, str | int] = {"failed": len(failed)}
    if evidence.cases:
        counts["passed"] = len(evidence.passed())
    if signal.partial:
        counts["stopped_early"] = "yes"
    return tagged("evidence", "\n".join(parts), verdict=signal.verdict.value, origin=signal.origin.value, **counts)


def failing_of(context: ActorContext) -> Judged | None:
    """What an actor works against: what the gate admitted, else the best so far if that fails."""
    if context.failing:
        return context.failing
    best = context.best
    return best if best and best.signal.verdict is Verdict.FAIL else None


def attempt_as_data(context: ActorContext) -> str:
    """The change that was judged last and failed, against the tree that is shown; empty if there is none."""
    failing = failing_of(context)
    if failing is None or failing.candidate.is_base:
        return ""
    base = context.task.tree
    apart = difference(failing, context.tree, base)
    return data("attempt", apart or difference(failing, base, base), applied="no" if apart else "yes")


def reflection_as_data(context: ActorContext) -> str:
    """The critic's text on the failure, in its own labelled element."""
    reflection = context.reflection
    return data("reflection", head_tail(reflection.text, REFLECTION_CHARS)) if reflection else ""


def lessons_to_show(context: ActorContext) -> Sequence[Lesson]:
    """The lessons, but for the reflection that is shown anyway: memory recalls that too."""
    reflection = context.reflection
    return [lesson for lesson in context.lessons if not reflection or lesson.text != reflection.text][:MAX_LESSONS]


def lessons_as_data(lessons: Sequence[Lesson]) -> str:
    """Recalled lessons, each in its own labelled element; their ids, which differ in every run, are in the ledger."""
    shown = [
        data("lesson", head_tail(lesson.text, LESSON_CHARS), task=lesson.task_id) for lesson in lessons[:MAX_LESSONS]
    ]
    return "\n".join(shown)


def difference(judged: Judged, shown: Tree, base: Tree) -> str:
    """How the judged candidate differs from the tree that is shown, as a unified diff; empty if it does not."""
    after = judged.candidate.applied_to(base)
    parts: list[str] = []
    for path in sorted({*after.files, *shown.files}):
        old, new = shown.files.get(path, b""), after.files.get(path, b"")
        if old != new:
            parts += [f"{line}\n" for line in _unified(path, _lines(old), _lines(new))]
        if (
            path in after.files
            and path in judged.candidate.modes
            and (path in shown.executable) != (path in after.executable)
        ):
            parts.append(f"{plain(path, 200)} {'is now' if path in after.executable else 'is no longer'} executable\n")
    return head_tail("".join(parts), DIFF_CHARS)


def _lines(content: bytes) -> list[str]:
    return content.decode("utf-8", "replace").split("\n")


def _unified(path: str, old: list[str], new: list[str]) -> Iterable[str]:
    """A unified diff that difflib can make in time: hostile files of thousands of equal lines take it minutes."""
    same = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    start = max(0, same - DIFF_CONTEXT_LINES)
    old, new = old[start:], new[start:]
    pairs = zip(reversed(old), reversed(new), strict=False)
    same = next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(old), len(new)))
    drop = max(0, same - DIFF_CONTEXT_LINES)
    old, new = old[: len(old) - drop], new[: len(new) - drop]
    if max(len(old), len(new)) > MAX_DIFF_LINES:
        return [f"{path}: {len(old)} lines from line {start + 1} on became {len(new)} others"]
    return difflib.unified_diff(old, new, path, f"{path} (from line {start + 1})", n=DIFF_CONTEXT_LINES, lineterm="")
