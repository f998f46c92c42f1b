"""What a Harbor verifier left behind, and what that says: `reward.json`, `reward.txt`, and the tests' own report."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from groundwire.core._sandboxes import ExecResult
from groundwire.core._signals import CaseOutcome, CaseResult, Evidence, NoVerdict, Verdict
from groundwire.tools._reports import MESSAGE_CHARS, unique
from groundwire.tools._summaries import harmless, shorten

REWARD_JSON = "reward.json"
REWARD_TEXT = "reward.txt"
REWARD = "reward"
SOLVED = 1.0
"""From this reward on a task is solved."""
MOST_CASES = 10_000
_OF_REWARD = "reward::"
_CTRF = re.compile(r"(^|/)[\w.-]*ctrf[\w.-]*\.json$")
_STATES = {"passed": CaseResult.PASSED, "failed": CaseResult.FAILED}
_SUMMARY = re.compile(r"(?m)^=+ (?=.*\b(?:passed|failed|errors?)\b)(.*) in [\d.:]+s.*=+\s*$")
_COUNTED = re.compile(r"(\d+) (failed|errors?)\b")


@dataclass(frozen=True)
class RewardRuling:
    """What a verifier's run came to.

    Args:
        verdict: none where what it left can't be relied on.
        detail: one line for people.
        reason: why there is no verdict.
        cases: the rewards, then the tests that its report names.
        rewards: the numbers as written.
    """

    verdict: Verdict
    detail: str
    reason: NoVerdict | None = None
    cases: tuple[CaseOutcome, ...] = ()
    rewards: Mapping[str, float] = field(default_factory=dict[str, float])


class _Unusable(Exception):
    """A reward file is not what it should be."""


def ruling_on(end: ExecResult, *, fetches: str = "") -> RewardRuling:
    """The verdict of a verifier's run, by the files that it left in its logs.

    A reward of 1 or more is a PASS, less is a FAIL; of several the one called `reward` counts, else all of them. There
    is no verdict where the reward says solved and the tests' own report, or the script's exit status, says otherwise.

    Args:
        end: how the script ended, with the files of `/logs/verifier`.
        fetches: the line of the script that asks for a network, where it had none.
    """
    if end.limit_hit is not None and end.exit_code is None:
        return _none(NoVerdict.LIMIT_HIT, f"The verifier hit the limit {end.limit_hit} that the task sets.")
    try:
        rewards = _rewards(end.files)
    except _Unusable as problem:
        return _none(NoVerdict.REPORT_MALFORMED, str(problem))
    cases = _cases(end.files)
    if not rewards:
        if end.exit_code in (126, 127):
            return _none(
                NoVerdict.RUNNER_MISSING, "The test script, or what its first line names, is not in the environment."
            )
        wanted = f"The verifier wrote neither {REWARD_JSON} nor {REWARD_TEXT}; its exit status was {end.exit_code}."
        return _none(NoVerdict.REPORT_MISSING, wanted + (f" It has no network, and asks: {fetches}" if fetches else ""))
    solved = is_solved(rewards)
    if solved and (against := _against(end, cases)):
        return _none(
            NoVerdict.COUNT_MISMATCH, f"The reward says solved, and {against}: they contradict each other.", rewards
        )
    if not solved and fetches:
        return _none(
            NoVerdict.SANDBOX,
            f"The reward says not solved, but the script has no network here and asks for one: {fetches}",
            rewards,
        )
    said = ", ".join(f"{name} {value:g}" for name, value in rewards.items())
    own = tuple(_case(name, value) for name, value in rewards.items())
    return RewardRuling(Verdict.PASS if solved else Verdict.FAIL, said, None, (*own, *cases), rewards)


def is_reward(case: CaseOutcome) -> bool:
    """True if a case of a verifier's evidence is one of its rewards, and not a test of its report."""
    return case.id.startswith(_OF_REWARD)


def rewards_in(evidence: Evidence) -> Mapping[str, float]:
    """The rewards that a verifier gave, by name, out of what was kept of its verdict.

    Args:
        evidence: of a signal or an observation of it; empty where there was no verdict.
    """
    kept = (case for case in evidence.cases if is_reward(case))
    return {case.id.removeprefix(_OF_REWARD): float(case.message.partition(" of ")[0] or SOLVED) for case in kept}


def is_solved(rewards: Mapping[str, float]) -> bool:
    """True if rewards say that a task is solved: the one called `reward`, where there is one, else all of them."""
    return rewards[REWARD] >= SOLVED if REWARD in rewards else all(value >= SOLVED for value in rewards.values())


def _none(reason: NoVerdict, detail: str, rewards: Mapping[str, float] | None = None) -> RewardRuling:
    return RewardRuling(Verdict.NONE, harmless(detail), reason, (), rewards or {})


def _case(name: str, value: float) -> CaseOutcome:
    right = value >= SOLVED
    result = CaseResult.PASSED if right else CaseResult.FAILED
    return CaseOutcome(id=f"{_OF_REWARD}{name}", result=result, message=f"{value!r} of {SOLVED:g}")


def _against(end: ExecResult, cases: tuple[CaseOutcome, ...]) -> str:
    """What contradicts a reward that says solved."""
    if failed := [case.id for case in cases if not case.result.ok]:
        return f"{len(failed)} of the tests in its report failed ({failed[0]})"
    if end.exit_code != 0:
        return f"the script ended with exit status {end.exit_code}"
    summaries = _SUMMARY.findall(end.stdout.decode("utf-8", "replace"))
    counted = [found for found in _COUNTED.findall(summaries[-1]) if int(found[0])] if summaries else []
    return f"the test runner's last line says {counted[0][0]} {counted[0][1]}" if counted else ""


def _rewards(files: Mapping[str, bytes]) -> dict[str, float]:
    """The numbers, where there are any: of the JSON file, else of the text file, as Harbor has it."""
    if (body := files.get(REWARD_JSON)) is not None:
        try:
            found: object = json.loads(body)
        except (ValueError, RecursionError) as error:
            raise _Unusable(f"{REWARD_JSON} is no JSON: {error}.") from error
        if not isinstance(found, dict) or not found:
            raise _Unusable(f"{REWARD_JSON} holds no object with numbers.")
        return {harmless(str(name))[:100]: _number(value, REWARD_JSON) for name, value in cast("Any", found).items()}
    if (body := files.get(REWARD_TEXT)) is not None:
        try:
            return {REWARD: _number(float(body), REWARD_TEXT)}
        except ValueError as error:
            raise _Unusable(f"{REWARD_TEXT} holds no number: {body[:40]!r}.") from error
    return {}


def _number(value: object, where: str) -> float:
    try:
        number = float(value) if isinstance(value, int | float) else math.nan
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise _Unusable(f"{where} holds {value!r:.40}, which is no finite number.")
    return number


def _cases(files: Mapping[str, bytes]) -> tuple[CaseOutcome, ...]:
    """The tests of a report in the Common Test Report Format, where there is one that can be read."""
    name = next((name for name in sorted(files) if _CTRF.search(name)), "")
    try:
        tests: Any = json.loads(files[name])["results"]["tests"] if name else []
        told = [(str(one["name"]), str(one.get("status")), str(one.get("message") or "")) for one in tests[:MOST_CASES]]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return ()
    named = (harmless(name)[:500] or "(no name)" for name, _, _ in told)
    ids = unique(f"test {name}" if name.startswith(_OF_REWARD) else name for name in named)
    return tuple(
        CaseOutcome(id=id, result=_STATES.get(state, CaseResult.SKIPPED), message=shorten(message, MESSAGE_CHARS))
        for id, (_, state, message) in zip(ids, told, strict=True)
    )
