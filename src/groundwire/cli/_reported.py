"""`groundwire verify REPORT`: the tests of an ordinary run of pytest again, in the sandbox, and whether they agree.

What a run reports of itself (`pytest --groundwire`) has the origin `reported`: it is compared with, and never rests
anything.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import shlex
import sys
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from rich.console import Console
from rich.text import Text

from groundwire.cli._repair import open_store
from groundwire.core._errors import ConfigError
from groundwire.core._settings import Settings
from groundwire.core._signals import CaseResult, Isolation, Verdict
from groundwire.core._text import plain, plural

REPORT_MARK = b'"format": "groundwire-pytest-report-'
HEAD_BYTES = 64
MOST_REPORT_BYTES = 256 * 1024 * 1024
NAMES_SHOWN = 10
NO_VERDICT = 3
_WITH_VALUE = ("-n", "--numprocesses", "--maxprocesses", "--dist", "--tx", "--cov-report", "--cov-config", "--junitxml",
               "--junit-xml", "--html", "--css", "--report-log", "--color", "--log-file")  # fmt: skip
_ALONE = ("--cov", "--no-cov", "--cov-branch", "--cov-append", "--self-contained-html", "--cov-context")
"""Of pytest and its plugins: how a run is spread and reported, which says nothing about what it comes to."""


class ReportedCase(BaseModel):
    """One case, as the run reported it."""

    model_config = ConfigDict(extra="ignore")

    id: str = Field(max_length=10_000)
    result: CaseResult


class PytestReport(BaseModel):
    """What `pytest --groundwire` writes, as far as it is compared."""

    model_config = ConfigDict(extra="ignore")

    format: Literal["groundwire-pytest-report-1"]
    origin: Literal["reported"]
    root: str
    arguments: list[str]
    exit_code: int
    cases: list[ReportedCase]
    files: dict[str, str] = {}

    @classmethod
    def read(cls, path: Path) -> PytestReport:
        """Reads a report.

        Raises:
            ConfigError: it is none.
        """
        try:
            if path.stat().st_size > MOST_REPORT_BYTES:
                raise ConfigError(f"{path} is longer than a report is.", do="Write a new one:  pytest --groundwire")
            return cls.model_validate_json(path.read_bytes())
        except OSError as error:
            raise ConfigError(f"{path} can't be read: {error.strerror}.", do="Name a report.") from error
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            raise ConfigError(
                f"{path} is no report of pytest: {plain(where)}: {first['msg']}.",
                do="Write a new one:  pytest --groundwire",
            ) from error


def is_report(head: bytes) -> bool:
    """True if a file that begins so is a report of pytest."""
    return REPORT_MARK in head[:HEAD_BYTES]


def again(arguments: Sequence[str]) -> list[str]:
    """The arguments of a run without those that only say how it was spread over processes, and reported."""
    kept: list[str] = []
    drops_next = False
    for given in arguments:
        name = given.partition("=")[0]
        if drops_next:
            drops_next = False
        elif name in _WITH_VALUE:
            drops_next = name == given
        elif name not in _ALONE and not (given.startswith("-n") and given[2:].isdecimal()):
            kept.append(given)
    return kept


@dataclass(frozen=True)
class _Compared:
    """Where what was reported and what was seen differ.

    Args:
        otherwise: id, as reported, as seen.
        unseen: ids that were reported, and did not come up.
        new: ids that came up, and were not reported.
    """

    otherwise: Sequence[tuple[str, str, str]]
    unseen: Sequence[str]
    new: Sequence[str]

    @property
    def agrees(self) -> bool:
        return not (self.otherwise or self.unseen or self.new)


def verify_report(path: Path, flags: Mapping[str, Any], *, project: Path | None, as_json: bool) -> int:
    """Runs the tests of a report again, and compares.

    Args:
        path: the report.
        flags: where the ledger is.
        project: the project's root; None: where the report says, else the folder that the report lies in.
        as_json: print JSON.

    Returns:
        0 if what was reported is so, pass or fail; 1 if not; 3 without a verdict.

    Raises:
        ConfigError, TaskError: the report or the project can't be used.
    """
    # here, since most that verify something else run nothing
    from groundwire.cli.coding_agents._judge_once import judge_once
    from groundwire.cli.coding_agents._work_tree import WorkTree

    report = PytestReport.read(path)
    said_root = Path(report.root) if "\0" not in report.root else path.parent
    root = (project or (said_root if said_root.is_dir() else path.parent)).resolve()
    command = shlex.join(["python", "-m", "pytest", *again(report.arguments)])
    told = {"by": "verify", "folder": str(root), "reported": hashlib.sha256(path.read_bytes()).hexdigest()}

    async def judge() -> Any:
        work = WorkTree.read(root, {**flags, "test": command})
        async with aclosing(open_store(Settings.resolve(flags))) as store:
            return await judge_once(work, store, asked=told)

    judged = asyncio.run(judge())
    signal = judged.signal
    seen = {case.id: case.result for case in signal.evidence.cases} if signal is not None else {}
    compared = _compare(report, seen)
    changed = sorted(name for name, digest in report.files.items() if _differs(root / name, digest))
    decided = judged.result.verdict is not Verdict.NONE
    code = NO_VERDICT if not decided else 0 if compared.agrees else 1
    if as_json:
        data = {
            "agrees": compared.agrees if decided else None,
            "verdict": judged.result.verdict,
            "detail": judged.result.detail,
            "signal_id": signal.id if signal else None,
            "run_id": judged.result.run_id,
            "isolation": judged.result.isolation,
            "reported": {"cases": len(report.cases), "exit_code": report.exit_code, "origin": report.origin},
            "otherwise": [{"id": i, "reported": r, "seen": s} for i, r, s in compared.otherwise],
            "unseen": list(compared.unseen),
            "new": list(compared.new),
            "changed_files": changed,
        }
        json.dump(data, sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        _print(Console(highlight=False), report, judged, compared if decided else None, changed)
    return code


def _compare(report: PytestReport, seen: Mapping[str, CaseResult]) -> _Compared:
    reported = {case.id: case.result for case in report.cases}
    otherwise = [
        (name, str(result), str(seen[name]))
        for name, result in reported.items()
        if name in seen and seen[name].ok is not result.ok
    ]
    return _Compared(
        otherwise,
        [name for name in reported if name not in seen],
        [name for name in seen if name not in reported],
    )


def _differs(path: Path, digest: str) -> bool:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest() != digest
    except (OSError, ValueError):
        return True


def _print(
    console: Console, report: PytestReport, judged: Any, compared: _Compared | None, changed: Sequence[str]
) -> None:
    passed = sum(case.result.ok for case in report.cases)
    console.print(Text(f"reported: {passed} of {plural(len(report.cases), 'case')} pass   (proves nothing by itself)"))
    result, signal = judged.result, judged.signal
    style = {Verdict.PASS: "bold green", Verdict.FAIL: "bold red", Verdict.NONE: "bold yellow"}[result.verdict]
    line = Text(f"seen:     {result.verdict}", style=style)
    line.append(f"   {plain(result.detail, limit=300)}", style="default")
    isolation: Isolation | None = result.isolation
    line.append(f"   {isolation.in_words}" if isolation else "", style="dim")
    console.print(line, soft_wrap=True)
    if compared is None:
        console.print(Text("nothing can be said of the report", style="yellow"))
    elif compared.agrees:
        console.print(Text("agrees, case by case", style="green"))
    else:
        console.print(Text("DIFFERS", style="bold red"))
        for name, said, saw in compared.otherwise[:NAMES_SHOWN]:
            console.print(Text(f"  {plain(name, limit=200)}: reported {said}, seen {saw}"), soft_wrap=True)
        for names, what in ((compared.unseen, "reported, and did not come up"), (compared.new, "was not reported")):
            for name in names[:NAMES_SHOWN]:
                console.print(Text(f"  {plain(name, limit=200)}: {what}"), soft_wrap=True)
        more = sum(max(0, len(n) - NAMES_SHOWN) for n in (compared.otherwise, compared.unseen, compared.new))
        if more:
            console.print(Text(f"  … {more} more: --json has them all"))
    if changed:
        shown = ", ".join(changed[:NAMES_SHOWN])
        console.print(Text(f"changed since the report: {plain(shown, limit=400)}", style="yellow"), soft_wrap=True)
    console.print(Text(f"signal {signal.id if signal else '-'}   groundwire show {result.run_id[:13]}", style="dim"))
