"""Signals: what something outside the model observed about a candidate.

A tool returns an `Observation`. The runtime mints a `Signal` from it (`groundwire.core._seal`) and seals it; only a
sealed signal opens a gate. Text from a model can never become one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import StrEnum
from operator import attrgetter
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, ValidationInfo, model_validator

from groundwire.core._sandboxes import SandboxInfo


class Word(StrEnum):
    """A word of a fixed set. Pydantic asks for `value` whenever it writes one down, four times a signal, which `enum`
    would answer with a call of Python."""

    value = property(attrgetter("_value_"))  # pyright: ignore[reportIncompatibleMethodOverride]  # a property as well


class Verdict(Word):
    """What was observed about a candidate."""

    PASS = "pass"
    FAIL = "fail"
    NONE = "none"
    """Nothing can be said; the reason says why."""


class Origin(Word):
    """Where a signal came from."""

    HIDDEN_TESTS = "hidden_tests"
    """Judge once, at the end; can never open a gate."""
    TESTS = "tests"
    EXECUTION = "execution"
    ENVIRONMENT = "environment"
    TOOL_ERROR = "tool_error"
    VERIFIER = "verifier"
    RULE = "rule"
    """A deterministic rule about the loop itself (stagnation); escalates, never rewrites."""
    MODEL_TESTS = "model_tests"
    """Tests that a model wrote: may ask for another try, never declare success."""
    OTHER_MODEL = "other_model"
    """Another model's judgement; only where the graph names it."""
    HUMAN = "human"
    """A person's word; only where the graph names it."""


EXTERNAL_ORIGINS = frozenset(
    {
        Origin.TESTS,
        Origin.EXECUTION,
        Origin.ENVIRONMENT,
        Origin.TOOL_ERROR,
        Origin.VERIFIER,
        Origin.MODEL_TESTS,
    }
)
"""Origins whose FAIL may open `refine`; `other_model` and `human` join them only where a graph names them."""


class NoVerdict(Word):
    """Why there is no verdict."""

    GO_ON = "go_on"
    """An environment is still running: not a fault; what `advance` asks for."""
    NOTHING_COLLECTED = "nothing_collected"
    ALL_SKIPPED = "all_skipped"
    ALL_DESELECTED = "all_deselected"
    RUNNER_CRASHED = "runner_crashed"
    REPORT_MISSING = "report_missing"
    REPORT_MALFORMED = "report_malformed"
    COUNT_MISMATCH = "count_mismatch"
    """Collected is not reported plus deselected."""
    RUNNER_MISSING = "runner_missing"
    """The test runner or command is not there (pytest not installed, command not found)."""
    MODULE_MISSING = "module_missing"
    """The tests need a module that is neither in the project nor installed."""
    USAGE = "usage"
    """The runner did not understand its command line."""
    LIMIT_HIT = "limit_hit"
    """The runner itself hit a limit before any test had failed."""
    SANDBOX = "sandbox"
    """The sandbox broke."""
    FLAKY = "flaky"
    """The same candidate got different outcomes."""
    UNFIT = "unfit"
    """The candidate gives back what can't be judged from another box, where the base tree's own run does not."""
    SHADOWS = "shadows"
    """It passed in one process with a module that stands in the place of one which the tests or their runner import."""
    CHECK_CANNOT_FAIL = "check_cannot_fail"
    """The tests pass, and would whatever the candidate did: a control that had to fail did not, or too few could be
    run."""
    UNDECIDED = "undecided"
    """The tool could not tell, and asks for another one's word (`FeedbackGraph.refer`)."""
    CUT_OFF = "cut_off"
    """An earlier process ended while it did what can't be undone: it is not repeated, and a person has to look."""


class CaseResult(Word):
    """How one test case ended."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    """Set-up, tear-down or collection failed."""
    SKIPPED = "skipped"
    XFAILED = "xfailed"
    XPASSED = "xpassed"

    @property
    def ok(self) -> bool:
        """True where the case does not count against the candidate."""
        return self not in (CaseResult.FAILED, CaseResult.ERROR)


class Isolation(Word):
    """How far the assertions were from the code they judge."""

    IN_PROCESS = "in_process"
    """Same process: tamper-evident, not unforgeable."""
    PROCESS = "process"
    """The assertions ran in a process of their own, in one box with the candidate: same files, same user."""
    TWO_BOXES = "two_boxes"
    """The assertions ran in a box of their own, in which nothing of the candidate lies."""

    @property
    def in_words(self) -> str:
        """For people: where the assertions ran, and what that is worth."""
        return {
            Isolation.IN_PROCESS: "in one process: not unforgeable",
            Isolation.PROCESS: "one box: not unforgeable",
            Isolation.TWO_BOXES: "two boxes",
        }[self]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="strings")


class CaseOutcome(_Frozen):
    """One test case."""

    id: str
    """The runner's own name (`tests/test_x.py::test_edge[3]`)."""
    result: CaseResult
    message: str = ""
    """What failed, shortened: the assertion, the exception, the last frames."""
    duration_s: float = 0.0


class Controls(_Frozen):
    """Whether the cases that passed can fail: each was run once more with one of its assertions turned round.

    Counts are of cases.
    """

    changed_value: int = 0
    """Failed, as they had to, where an assertion expected another value than it does."""
    negation: int = 0
    """Failed where an assertion was negated; weaker, since an object that is equal to everything fails there too."""
    uncontrolled: int = 0
    """No assertion of theirs could be turned round, or another one failed first."""
    left_out: int = 0
    """Can't fail on the base tree either, so that nothing rests on them."""
    passed: int = 0
    """Passed though they had to fail."""
    cannot_fail: tuple[str, ...] = ()
    """Ids of the last two, where they may be told."""

    @property
    def share(self) -> float:
        """The part of the cases that was seen to be able to fail, 0 to 1; those that were left out do not count."""
        controlled = self.changed_value + self.negation
        every = controlled + self.uncontrolled + self.passed
        return controlled / every if every else 0.0


class Crossings(_Frozen):
    """What came from the candidate's box beside plain values, and where its own word decided something."""

    own_equality: int = 0
    """Cases in which a comparison that the candidate's own code made decided something: `==` between two of its
    objects, an order, a membership, a difference."""
    cases: tuple[str, ...] = ()
    """Ids of these, where they may be told."""
    classes: tuple[str, ...] = ()
    """Classes of the candidate whose objects the assertions asked, where they may be told; the first 100 by name."""


class Evidence(_Frozen):
    """What the verdict rests on."""

    cases: tuple[CaseOutcome, ...] = ()
    collected: int = 0
    """Cases the runner found before deselection."""
    deselected: int = 0
    stdout: str = ""
    """Standard output, head and tail kept."""
    stderr: str = ""
    stdout_cut: int = 0
    """Bytes of standard output that were dropped."""
    stderr_cut: int = 0
    detail: str = ""
    """One line for people: the counts, or why there is no verdict and what to do."""
    flaky: tuple[str, ...] = ()
    """Ids of the cases that ended differently on the same candidate: they count neither for nor against it."""
    late: tuple[str, ...] = ()
    """Ids of the cases that a limit of time ended: they hang, or are too slow for it."""
    note: str = ""
    """One line for people about how it was judged, where that was out of the ordinary."""
    controls: Controls | None = None
    """What controls showed of a PASS that was confirmed; None: there were none."""
    crossings: Crossings | None = None
    """What came from the candidate's box; None: nothing but plain values, or there was no such box."""
    again: int = 0
    """Times that it was seen to pass before, within the same judging: in one process, before it did in two boxes."""

    def passed(self) -> frozenset[str]:
        """Ids of the cases that count for the candidate."""
        return frozenset(c.id for c in self.cases if c.result.ok and c.id not in self.flaky)

    def failed(self) -> tuple[CaseOutcome, ...]:
        """The cases that count against the candidate, in the runner's order."""
        return tuple(c for c in self.cases if not c.result.ok and c.id not in self.flaky)

    @property
    def output(self) -> tuple[str, str]:
        """Standard output and error, for whoever works on the failure.

        Empty where a case was flaky: output is nobody's in particular, so with it such a case would be read after all.
        """
        return ("", "") if self.flaky else (self.stdout, self.stderr)


class Observation(_Frozen):
    """What a tool saw. Not sealed: it opens nothing until the runtime has minted a signal from it."""

    verdict: Verdict
    origin: Origin
    reason: NoVerdict | None = None
    """Set exactly when the verdict is NONE."""
    command: tuple[str, ...] = ()
    exit_code: int | None = None
    duration_s: float = 0.0
    sandbox: SandboxInfo | None = None
    evidence: Evidence = Evidence()
    partial: bool = False
    """True where the runner stopped before all cases had run."""
    oracle: bool = False
    """True if the answer key was used."""
    isolation: Isolation = Isolation.IN_PROCESS
    coverage: Mapping[str, Mapping[str, tuple[int, ...]]] | None = None
    """Case id → path → 1-based lines that ran; None where it was not asked for. Not part of the signal."""
    taken_from: str = ""
    """Where nothing was run: the id of the recorded signal that this repeats, as a policy allowed, or the place in a
    published log; else empty."""

    @model_validator(mode="after")
    def _reason_goes_with_none(self) -> Self:
        if (self.verdict is Verdict.NONE) != (self.reason is not None):
            raise ValueError("a reason is given exactly when the verdict is none")
        return self


_MINT = object()
_LATER = ("flaky", "late", "note", "controls", "crossings", "again")
"""What evidence did not have from the first version on."""


class Signal(_Frozen):
    """A sealed observation about one candidate.

    The seal (an Ed25519 signature of the canonical JSON, see `groundwire.core._signing`) is the guarantee and is
    verified at every use.
    That a signal can't be constructed outside the mint is only a convenience.
    """

    id: str
    run_id: str
    episode_id: str
    trial: int
    origin: Origin
    verdict: Verdict
    reason: NoVerdict | None
    issuer: str
    """The tool node that observed it."""
    candidate_digest: str
    command: tuple[str, ...]
    exit_code: int | None
    duration_s: float
    sandbox: SandboxInfo | None
    evidence: Evidence
    partial: bool
    oracle: bool
    isolation: Isolation
    created_at: str
    taken_from: str = ""
    """See `Observation.taken_from`."""
    seal: str = ""

    @model_validator(mode="before")
    @classmethod
    def _only_from_the_mint(cls, data: object, info: ValidationInfo) -> object:
        if info.context is not _MINT:
            raise ValueError("a Signal comes from the mint or the ledger, not from a constructor")
        return data

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> Self:
        """For the mint: builds an unsealed signal."""
        return cls.model_validate(fields, context=_MINT)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Reads a signal back from the ledger. It proves nothing until its seal is verified.

        Raises:
            pydantic.ValidationError: the text is not a signal.
        """
        return cls.model_validate_json(text, context=_MINT)

    def to_json(self) -> str:
        """The canonical JSON, seal included."""
        return canonical(self._fields({}))

    def body(self) -> str:
        """The canonical JSON that the seal covers: everything but the seal."""
        return canonical(self._fields({"seal": True}))

    def _fields(self, left_out: dict[str, Any]) -> dict[str, Any]:
        # signals sealed before there were these in the evidence, any that were taken, or a network keep their
        # canonical form
        unsaid = {name: True for name in _LATER if not getattr(self.evidence, name)}
        if unsaid:
            left_out = {**left_out, "evidence": unsaid}
        if not self.taken_from:
            left_out = {**left_out, "taken_from": True}
        if self.sandbox and not self.sandbox.network:
            left_out = {**left_out, "sandbox": {"network": True}}
        return self.model_dump(mode="json", exclude=left_out)


_ENCODER = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False, check_circular=False
)


def canonical(value: object) -> str:
    """JSON with sorted keys, no spaces and ASCII only: the same value gives the same bytes everywhere."""
    return _ENCODER.encode(value)
