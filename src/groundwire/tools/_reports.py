"""Reads the report that our runners wrote inside the sandbox, and checks that nobody else wrote in it."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from groundwire.core._contexts import Coverage
from groundwire.core._signals import CaseOutcome, CaseResult, NoVerdict
from groundwire.tools._summaries import harmless, shorten

MESSAGE_CHARS = 2000
OUTSIDE = -1
MAX_DURATION_S = 1e6
MAX_KINDS = 1000


class ReportProblem(Exception):
    """The report can't be used.

    Args:
        reason: what there is instead of a verdict.
        detail: one line for people.
        forged: somebody else wrote in it.
    """

    def __init__(self, reason: NoVerdict, detail: str, *, forged: bool = False) -> None:
        super().__init__(detail)
        self.forged = forged
        self.reason = reason
        self.detail = detail


@dataclass(frozen=True)
class CaseControl:
    """What was seen of one case in a run with controls.

    Args:
        turned: the assertion that was turned round, as `path:line:column`; empty where none was.
        kind: how: `changed_value` or `negation`.
        came: `failed` in that assertion, `passed`, or `elsewhere`. Where none was turned, and the case passed: one that
            failed was `caught`, or all were `unreached`; else empty.
        deceived: an assertion that held, and would have held for another value; empty where there is none.
    """

    turned: str = ""
    kind: str = ""
    came: str = ""
    deceived: str = ""


@dataclass(frozen=True)
class RunReport:
    """What a runner said about one run.

    Args:
        selected: ids of the cases that were to run; None where collection never ended.
        deselected: how many were left out on purpose.
        cases: how they ended, in the order in which they did.
        unrun: selected cases that ended without an outcome.
        unfinished: the case that was running when the report ended.
        broke_off: why the runner left that case, where it could still say so.
        broken: what could not be collected.
        passed_over: files that skipped themselves while they were collected.
        skipped_by: id → the project's file that raised the skip or expected failure.
        cpu_s: id → processor seconds that the case took, where the runner says so.
        late: ids of the cases that our clock ended.
        collecting: the file that was read last.
        stopped: why the runner stopped early; empty if it did not.
        internal: how the runner itself broke; empty if it did not.
        missing: what is not installed; empty if all is there.
        usage: True if the runner did not understand its command line.
        canary: False if a case that must fail passed.
        replaced: functions of the runner that were replaced → the file of the new one.
        touched: fixed files that were not as they had been laid when pytest read them → how.
        left_touched: the same, seen at the end of the run.
        elsewhere: modules that the project holds and that were imported from an installed copy → its file.
        status: the exit status that the runner announced; None if it never came to that.
        unfit: why the tests can't be run apart from the candidate; empty if they can.
        own_equality: ids of the cases in which a comparison that the candidate's own code made decided something.
        undecided: ids of the cases in which such a comparison was not asked, and its object taken for unequal.
        kinds: classes of the candidate whose objects the tests have seen.
        controls: by case, what came of its control; empty where the run had none.
    """

    selected: tuple[str, ...] | None = None
    deselected: int = 0
    cases: tuple[CaseOutcome, ...] = ()
    unrun: tuple[str, ...] = ()
    unfinished: str | None = None
    broke_off: str = ""
    broken: tuple[CaseOutcome, ...] = ()
    passed_over: tuple[CaseOutcome, ...] = ()
    skipped_by: Mapping[str, str] = field(default_factory=dict[str, str])
    cpu_s: Mapping[str, float] = field(default_factory=dict[str, float])
    late: frozenset[str] = frozenset()
    collecting: str = ""
    stopped: str = ""
    internal: str = ""
    missing: str = ""
    usage: bool = False
    canary: bool = True
    replaced: Mapping[str, str] = field(default_factory=dict[str, str])
    touched: Mapping[str, str] = field(default_factory=dict[str, str])
    left_touched: Mapping[str, str] = field(default_factory=dict[str, str])
    elsewhere: Mapping[str, str] = field(default_factory=dict[str, str])
    status: int | None = None
    unfit: str = ""
    own_equality: frozenset[str] = frozenset()
    undecided: frozenset[str] = frozenset()
    kinds: frozenset[str] = frozenset()
    controls: Mapping[str, CaseControl] = field(default_factory=dict[str, CaseControl])


def unique(ids: Iterable[str]) -> Iterator[str]:
    """Tells equal ids apart, in a stable way: the second `x` becomes `x#2`."""
    seen: Counter[str] = Counter()
    for name in ids:
        seen[name] += 1
        yield name if seen[name] == 1 else f"{name}#{seen[name]}"


def read_report(body: bytes, key: bytes) -> RunReport:
    """Reads a sealed report. A last line that was cut off is left out; anything else that is wrong is a problem.

    Args:
        body: the report file.
        key: the run's nonce.

    Raises:
        ReportProblem: a line is not sealed with the nonce, or is not what our runners write.
    """
    reader = _Reader()
    try:
        for event in _events(body, key):
            reader.take(event)
        return reader.report()
    except ReportProblem:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, OverflowError, RecursionError) as error:
        detail = f"The report can't be read ({type(error).__name__}: {error})."
        raise ReportProblem(NoVerdict.REPORT_MALFORMED, harmless(detail)) from error


def _events(body: bytes, key: bytes) -> Iterator[dict[str, Any]]:
    mac = b""
    for line in body.split(b"\n")[:-1]:  # what follows the last newline was cut off
        found, _, content = line.partition(b" ")
        mac = hashlib.blake2b(mac + content, key=key, digest_size=16).hexdigest().encode()
        if not hmac.compare_digest(found, mac):
            raise ReportProblem(
                NoVerdict.REPORT_MALFORMED,
                "The report holds a line that our plugin did not write: something else wrote or changed it.",
                forged=True,
            )
        yield cast("dict[str, Any]", json.loads(content))


class _Reader:
    """Folds events into a report."""

    def __init__(self) -> None:
        self.fields: dict[str, Any] = {}
        self.ids: tuple[str, ...] = ()
        self.cases: list[CaseOutcome] = []
        self.lists: dict[str, list[CaseOutcome]] = {"broken": [], "passed_over": []}
        self.unrun: list[str] = []
        self.skipped_by: dict[str, str] = {}
        self.controls: dict[str, CaseControl] = {}
        self.cpu_s: dict[str, float] = {}
        self.late: set[str] = set()
        self.own_equality: set[str] = set()
        self.undecided: set[str] = set()
        self.kinds: set[str] = set()
        self.touched: dict[str, str] = {}
        self.left_touched: dict[str, str] = {}
        self.running: str | None = None
        self.over = False

    def take(self, event: dict[str, Any]) -> None:
        """One event."""
        kind = event["e"]
        if self.over:
            raise ValueError("an event after the end")
        getattr(self, f"_on_{kind}")(event)

    def report(self) -> RunReport:
        """All events together."""
        return RunReport(
            **self.fields,
            cases=tuple(self.cases),
            broken=tuple(self.lists["broken"]),
            passed_over=tuple(self.lists["passed_over"]),
            unrun=tuple(self.unrun),
            unfinished=self.running,
            skipped_by=self.skipped_by,
            controls=self.controls,
            cpu_s=self.cpu_s,
            late=frozenset(self.late),
            own_equality=frozenset(self.own_equality),
            undecided=frozenset(self.undecided),
            kinds=frozenset(self.kinds),
            touched=self.touched,
            left_touched=self.left_touched,
        )

    def _id(self, event: dict[str, Any]) -> str:
        number = int(event["i"])
        return self.ids[number] if 0 <= number < len(self.ids) else "(a case that was not collected)"

    def _on_begin(self, event: dict[str, Any]) -> None:
        pass

    def _on_missing(self, event: dict[str, Any]) -> None:
        self.fields["missing"] = shorten(str(event["m"]), 300)

    def _on_usage(self, event: dict[str, Any]) -> None:
        self.fields["usage"] = True

    def _on_unfit(self, event: dict[str, Any]) -> None:
        self.fields["unfit"] = shorten(str(event["m"]), 300) or "unknown"

    def _on_own_equality(self, event: dict[str, Any]) -> None:
        if self.running is not None:
            self.own_equality.add(self.running)

    def _on_undecided(self, event: dict[str, Any]) -> None:
        if self.running is not None:
            self.undecided.add(self.running)

    def _on_kind(self, event: dict[str, Any]) -> None:
        if len(self.kinds) < MAX_KINDS:
            self.kinds.add(shorten(str(event["id"]), 200))

    def _on_collecting(self, event: dict[str, Any]) -> None:
        self.fields["collecting"] = harmless(str(event["id"]))

    def _on_broken(self, event: dict[str, Any]) -> None:
        self._note("broken", CaseResult.ERROR, event)

    def _on_passed_over(self, event: dict[str, Any]) -> None:
        self._note("passed_over", CaseResult.SKIPPED, event)

    def _note(self, kind: str, result: CaseResult, event: dict[str, Any]) -> None:
        name = harmless(str(event["id"])) or "(collection)"
        message = shorten(str(event["m"]), MESSAGE_CHARS)
        self.lists[kind].append(CaseOutcome(id=name, result=result, message=message))

    def _on_collected(self, event: dict[str, Any]) -> None:
        if "selected" in self.fields:
            raise ValueError("collected twice")
        self.ids = tuple(unique(harmless(str(i)) for i in event["ids"]))
        self.fields["selected"] = self.ids
        self.fields["deselected"] = int(event["deselected"])

    def _on_start(self, event: dict[str, Any]) -> None:
        self.running = self._id(event)

    def _on_case(self, event: dict[str, Any]) -> None:
        name = self._id(event)
        self.running = None
        if event["r"] == "unrun":
            self.unrun.append(name)
            return
        seconds = float(event["d"])
        if not 0.0 <= seconds <= MAX_DURATION_S:
            seconds = 0.0
        message = shorten(str(event["m"]), MESSAGE_CHARS)
        self.cases.append(CaseOutcome(id=name, result=CaseResult(event["r"]), message=message, duration_s=seconds))
        self.cpu_s[name] = min(max(0.0, float(event.get("cpu", seconds))), MAX_DURATION_S)
        if event.get("late"):
            self.late.add(name)
        if event.get("w"):
            self.skipped_by[name] = str(event["w"])

    def _on_control(self, event: dict[str, Any]) -> None:
        said = {name: harmless(str(event.get(name, ""))) for name in ("turned", "k", "c", "deceived")}
        self.controls[self._id(event)] = CaseControl(said["turned"], said["k"], said["c"], said["deceived"])

    def _on_broke_off(self, event: dict[str, Any]) -> None:
        self.running = self._id(event)
        self.fields["broke_off"] = shorten(str(event["m"]), MESSAGE_CHARS)

    def _on_touched(self, event: dict[str, Any]) -> None:
        seen = self.left_touched if event["late"] else self.touched
        seen[harmless(str(event["id"]))] = shorten(str(event["m"]), 100)

    def _on_abandoned(self, event: dict[str, Any]) -> None:
        self.running = None

    def _on_internal(self, event: dict[str, Any]) -> None:
        self.fields["internal"] = shorten(str(event["m"]), MESSAGE_CHARS)

    def _on_checked(self, event: dict[str, Any]) -> None:
        self.fields["canary"] = event["canary"] is True
        self.fields["replaced"] = {str(name): str(file) for name, file in event["replaced"].items()}

    def _on_elsewhere(self, event: dict[str, Any]) -> None:
        self.fields["elsewhere"] = {harmless(str(n)): shorten(str(file), 300) for n, file in event["modules"].items()}

    def _on_finish(self, event: dict[str, Any]) -> None:
        self.fields["stopped"] = shorten(str(event["stopped"]), 300)

    def _on_exit(self, event: dict[str, Any]) -> None:
        self.fields["status"] = int(event["status"])
        self.over = True


def read_coverage(body: bytes, ids: tuple[str, ...]) -> Coverage:
    """Reads which lines each case ran; lines that can't be read are left out, since nothing rests on them.

    Args:
        body: the file that the runner wrote.
        ids: ids of the cases, in the order of the report.

    Returns:
        Case id → path → lines; the id is empty for what ran outside of all cases.
    """
    found: dict[str, dict[str, set[int]]] = {}
    for line in body.split(b"\n"):
        try:
            number, files = cast("tuple[int, dict[str, list[int]]]", json.loads(line))
            case = "" if number == OUTSIDE else ids[number]
            for path, lines in files.items():
                found.setdefault(case, {}).setdefault(path, set()).update(int(n) for n in lines)
        except (ValueError, TypeError, AttributeError, IndexError, RecursionError):
            continue
    return {case: {p: tuple(sorted(lines)) for p, lines in files.items()} for case, files in found.items()}
