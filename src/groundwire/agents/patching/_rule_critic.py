"""A critic that needs no model: it says what the signal shows and what each change did, case by case."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from groundwire.agents.patching._evidence import may_be_shown
from groundwire.core._candidates import Candidate
from groundwire.core._contexts import CriticContext, Judged, Reflection
from groundwire.core._prompt_text import plain
from groundwire.core._signals import CaseOutcome, CaseResult
from groundwire.core._tasks import Task

# What each change did, case by case, against the tree as it was.

RAN = frozenset({CaseResult.PASSED, CaseResult.FAILED, CaseResult.ERROR})
"""A case that was skipped, or whose failure was expected, says nothing about a change."""
NOTHING: Mapping[str, bool] = {}


@dataclass(frozen=True)
class Effect:
    """What one candidate did to single cases.

    Args:
        candidate: the change.
        fixed: cases that failed before it and pass with it, in the runner's order.
        broke: cases that passed before it and fail with it.
    """

    candidate: Candidate
    fixed: tuple[str, ...]
    broke: tuple[str, ...]


def effects_of(judged: Sequence[Judged]) -> dict[str, Effect]:
    """The effects of all candidates that had one, by digest, in their order.

    Only what was seen counts: a case that did not run with the change, since the runner stopped early, is neither fixed
    nor broken. Empty where the base itself was not judged.

    Args:
        judged: of one episode, the base among them; candidates that were judged twice count as seen last.
    """
    seen = [j for j in judged if may_be_shown(j.signal)]
    before: Mapping[str, bool] = next((_results(j) for j in seen if j.candidate.is_base), NOTHING)
    effects: dict[str, Effect] = {}
    for one in seen:
        if one.candidate.is_base:
            continue
        after = _results(one)
        changed = [case for case, passed in after.items() if case in before and before[case] != passed]
        effect = Effect(
            one.candidate,
            fixed=tuple(case for case in changed if after[case]),
            broke=tuple(case for case in changed if not after[case]),
        )
        effects.pop(one.candidate.digest, None)
        if changed:
            effects[one.candidate.digest] = effect
    return effects


def _results(judged: Judged) -> Mapping[str, bool]:
    cases = judged.signal.evidence.cases
    return {case.id: case.result is CaseResult.PASSED for case in cases if case.result in RAN}


# A critic that needs no model: it says what the signal shows, in words a later trial can use.

CASES_NAMED = 4
EARLIER_NAMED = 3
NAME_CHARS = 60
NOTE_CHARS = 100
MESSAGE_CHARS = 160

COMPARED = re.compile(r"assert (?P<got>.{1,80}?) (?:==|is) (?P<wanted>.{1,80})$", re.MULTILINE)
RAISED = re.compile(r"^(?:E\s+)?(?P<name>[A-Z]\w*(?:Error|Exception|Exit|Interrupt|Iteration)\b.{0,100})", re.MULTILINE)
SOURCE_LINE = re.compile(r"^\s*\S{1,300}:\d{1,7}(?: in |: )")
"""A line that quotes a place in the code: what it says is source text, not values."""
FRAME = re.compile(r"(?P<path>[\w./-]{1,200}\.py):(?P<line>\d{1,7})")


class RuleCritic:
    """Reflects by rule: which cases fail, expected against got, where, what the candidate had changed, and which edits
    so far fixed or broke which cases."""

    async def reflect(self, context: CriticContext) -> Reflection:
        """One reflection; the same signal always gives the same text. See `groundwire.core._contexts.Critic`."""
        signal, candidate = context.failing.signal, context.failing.candidate
        failed = signal.evidence.failed()
        total = len(signal.evidence.cases)
        parts = [f"{len(failed)} of {total} cases fail" if total else "the run fails without naming a case"]
        parts += [_said(case) for case in failed[:CASES_NAMED]]
        if len(failed) > CASES_NAMED:
            parts.append(f"{len(failed) - CASES_NAMED} more fail")
        places = _places(failed, context.task)
        if places:
            parts.append(f"the failures pass through {', '.join(places)}")
        if not candidate.is_base:
            parts.append(f"this was not enough: {_named(candidate)}")
        parts += _effects(context)
        if signal.partial:
            parts.append("the run ended early, so other cases may fail too")
        return Reflection("; ".join(parts) + ".", by="rule")


def _said(case: CaseOutcome) -> str:
    """`test_x expected 3 but got 2`, or the exception, or the last line of the message."""
    name = case.id.rsplit("::", 1)[-1]
    lines = [line for line in case.message.strip().splitlines() if not SOURCE_LINE.match(line)]
    said = "\n".join(lines)
    compared = COMPARED.search(said)
    if compared:
        return f"{name} expected {compared['wanted'].strip()} but got {compared['got'].strip()}"
    raised = RAISED.search(said)
    if raised:
        return f"{name} raised {raised['name'].strip()}"
    return f"{name}: {lines[-1].strip()[:MESSAGE_CHARS]}" if lines else f"{name} {case.result}"


def _effects(context: CriticContext) -> list[str]:
    """What the failing candidate did to single cases, then the earlier ones that fixed most, then those that broke."""
    digest = context.failing.candidate.digest
    effects = effects_of([*context.judged, context.failing])
    own = effects.pop(digest, None)
    parts = [f"it {done}" for done in _done(own)] if own else []
    earlier = sorted(effects.values(), key=lambda e: (len(e.broke) - len(e.fixed), len(e.broke)))
    helped = [effect for effect in earlier if effect.fixed][:EARLIER_NAMED]
    broke = [effect for effect in reversed(earlier) if effect.broke and not effect.fixed][:EARLIER_NAMED]
    return parts + [f"before, {_named(e.candidate)} {' and '.join(_done(e))}" for e in [*helped, *broke]]


def _named(candidate: Candidate) -> str:
    return plain(candidate.note, NOTE_CHARS) or f"a change of {plain(', '.join(sorted(candidate.changes)), NOTE_CHARS)}"


def _done(effect: Effect) -> list[str]:
    return [f"{verb} {_cases(ids)}" for verb, ids in (("fixed", effect.fixed), ("broke", effect.broke)) if ids]


def _cases(ids: Sequence[str]) -> str:
    names = [plain(case_id.rsplit("::", 1)[-1], NAME_CHARS) for case_id in ids[:CASES_NAMED]]
    return ", ".join(names) + (f" and {len(ids) - CASES_NAMED} more" if len(ids) > CASES_NAMED else "")


def _places(failed: Sequence[CaseOutcome], task: Task) -> list[str]:
    """Lines of editable files that the messages name, each once, in order."""
    found: dict[str, None] = {}
    for case in failed:
        for frame in FRAME.finditer(case.message):
            if frame["path"] in task.tree.files and task.may_edit(frame["path"]):
                found.setdefault(f"{frame['path']}:{frame['line']}")
    return list(found)[:CASES_NAMED]
