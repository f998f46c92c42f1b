"""What a reader is told first, in one sentence an arm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from groundwire.core._text import plural
from groundwire.evaluation._comparing import Comparison, Conclusion, compare, sign_test
from groundwire.evaluation._measuring import Measured, measure
from groundwire.evaluation._reading import Arm
from groundwire.evaluation._wording import ADVICE, CodeHint

RESAMPLING = "resampling"
"""The control that tries again blindly, with as many tokens."""
WHAT_A_CONTROL_LACKS = {"": "reflection", RESAMPLING: "reflection", "without_memory": "memory"}
"""By the kind of control, what the other arm has and it has not; of all others it is the outside signal."""


@dataclass(frozen=True)
class Said:
    """A sentence for people.

    Args:
        text: the sentence; it may hold hostile text.
        answer: what it says; None where it is a remark.
    """

    text: str
    answer: Conclusion | None = None


@dataclass(frozen=True, kw_only=True)
class Against:
    """An arm beside one of its controls.

    Args:
        control: the control's label.
        what: what the arm has and the control has not.
        comparison: how they compare.
    """

    control: str
    what: str
    comparison: Comparison

    @property
    def said(self) -> Said:
        """Whether it helped."""
        return Said(self.comparison.sentence(self.what), self.comparison.answer)


@dataclass(frozen=True, kw_only=True)
class ArmReport:
    """An arm, what was measured of it, and how it compares with its controls.

    Args:
        arm: the arm.
        label: `A`, `B` …
        measured: all metrics.
        against: its controls, blind resampling first.
        verdict: what is told first.
        remarks: what the numbers have to be read with.
    """

    arm: Arm
    label: str
    measured: Measured
    against: Sequence[Against]
    verdict: Said
    remarks: Sequence[Said]


@dataclass(frozen=True)
class Report:
    """Several arms side by side."""

    arms: Sequence[ArmReport]


def report_on(arms: Sequence[Arm], *, control: str = "") -> Report:
    """Measures arms and compares each with its control.

    Args:
        arms: in the order in which they are shown.
        control: name of the arm that all others are compared with; default: each with those that say, in their runs'
            configs, that they are its control (`control_of`).
    """
    labels = [_label(at) for at in range(len(arms))]
    reports: list[ArmReport] = []
    for arm, label in zip(arms, labels, strict=True):
        against = [_against(arm, arms[at], labels[at]) for at in _controls_of(arm, arms, control)]
        measured = measure(arm.trials)
        is_control = bool(arm.facts.control_of) or (bool(control) and arm.name == control)
        reports.append(
            ArmReport(
                arm=arm,
                label=label,
                measured=measured,
                against=against,
                verdict=_verdict(measured, against, is_control=is_control),
                remarks=[*(Said(f"beside {a.control}: {a.said.text}") for a in against[1:]), *_remarks(arm, measured)],
            )
        )
    return Report(reports)


def what_it_lacks(control: Arm) -> str:
    """What a comparison with this control is about."""
    return WHAT_A_CONTROL_LACKS.get(control.facts.control, "the outside signal")


def _label(at: int) -> str:
    return chr(ord("A") + at) if at < 26 else f"{chr(ord('A') + at // 26 - 1)}{chr(ord('A') + at % 26)}"


def _controls_of(arm: Arm, arms: Sequence[Arm], control: str) -> Sequence[int]:
    """Places of an arm's controls, blind resampling first."""
    found = [
        at
        for at, other in enumerate(arms)
        if other is not arm and (other.name == control if control else other.facts.control_of == arm.name)
    ]
    return sorted(found, key=lambda at: arms[at].facts.control != RESAMPLING)


def _against(arm: Arm, control: Arm, label: str) -> Against:
    return Against(control=label, what=what_it_lacks(control), comparison=compared(arm, control))


def compared(arm: Arm, control: Arm) -> Comparison:
    """How an arm compares with its control, by what the runs of both say that their episodes might use."""
    return compare(
        arm.trials,
        control.trials,
        allowed=arm.facts.allowed,
        control_allowed=control.facts.allowed,
        held_to=control.facts.held_to,
    )


def _verdict(measured: Measured, against: Sequence[Against], *, is_control: bool) -> Said:
    if against:
        return against[0].said
    if is_control:
        return Said("this is a control arm: see the comparison with it")
    n = measured.outcome.final.whole
    return Said(
        f"can't tell if reflection helped (n = {n}): there is no control arm to compare with", Conclusion.CANT_TELL
    )


def _remarks(arm: Arm, measured: Measured) -> Sequence[Said]:
    outcome, changed = measured.outcome, measured.correction
    said = [_change(measured)]
    if outcome.first_unknown.part:
        said.append(
            f"counted as wrong: {plural(outcome.first_unknown.part, 'first try')} judged by a model's tests, opinions,"
            " or visible tests alone where there are hidden ones, so rates of first tries and rounds are lower bounds"
        )
    if changed.false_passes:
        share = f"{100 * changed.false_passes / changed.claimed:.1f} %"
        said.append(
            f"{changed.false_passes} of {plural(changed.claimed, 'answer')} that passed"
            f" failed the hidden tests ({share})"
        )
    if measured.signal.fn:
        said.append(f"failed the steering checks and pass the hidden tests: {plural(measured.signal.fn, 'candidate')}")
    if not changed.judged and not outcome.unjudged.part:
        said.append('no hidden tests judged an answer: "right" means that the steering checks passed')
    if outcome.unjudged.part:
        passed = plural(outcome.unjudged.part, "answer")
        said.append(f"counted as unsolved: {passed} that passed and that the hidden tests never judged")
    if outcome.unverified.part:
        said.append(
            f"counted as unsolved: {plural(outcome.unverified.part, 'answer')} that passed only a model's tests"
        )
    if outcome.no_verdict.part:
        said.append(f"counted as unsolved: {plural(outcome.no_verdict.part, 'episode')} that ended without a verdict")
    if outcome.already_passing:
        said.append(f"in no rate: {plural(outcome.already_passing, 'task')} that passed before anything was tried")
    if measured.drift.alarm is not None:
        said.append(f"alarm: from round {measured.drift.alarm} on, no less is accepted and less of it is right")
    for hint, right in measured.hints.items():
        asked = f"{plural(right.whole, 'task')} {ADVICE[CodeHint(hint)]}"
        said.append(f"{hint}: {asked}, {right.part} right; let the model write code, and a tool run it")
    if aside := arm.facts.put_aside.episodes:
        said.append(
            f"not counted: {plural(aside, 'earlier episode')} of tasks that were run once more, the last of which"
            f" counts; {arm.facts.put_aside.tokens:,} tokens were paid for beside those below"
        )
    if arm.facts.imported:
        said.append(f"taken from the published log {arm.facts.imported}: nothing was run here")
    if not arm.facts.grounded:
        said.append("NOT grounded: a loop of this graph needed no signal from outside the model")
    if measured.provenance.oracle.part:
        said.append("oracle: the answer key was used; don't compare this with a run that did not use it")
    if arm.facts.trust:
        said.append(f"opinions were trusted here: {', '.join(arm.facts.trust)}")
    return [Said(text) for text in said]


def _change(measured: Measured) -> str:
    changed, final = measured.correction, measured.outcome.final
    if final.value is None:
        return "nothing was tried, so there is no success rate"
    right = f"{100 * final.value:.1f} % of {final.whole} answers are right"
    if not measured.provenance.ungrounded.whole:
        return f"{right}; nothing was tried twice"
    before, after, flips = changed.scores.acc1, changed.scores.acc2, changed.fixes + changed.breaks
    if before is None or after is None or (not flips and changed.episodes < final.whole):
        return f"{right}; how many were right on the first try is not known"
    which = "all" if changed.episodes == final.whole else f"where both are known, {changed.episodes} of"
    p = sign_test(changed.fixes, changed.breaks)
    return (
        f"from first try to answer, {which} {final.whole}: {100 * before:.1f} % → {100 * after:.1f} %,"
        f" {changed.fixes} fixed, {changed.breaks} broken (exact p = {p:.2g}); more tries alone could do that"
    )
