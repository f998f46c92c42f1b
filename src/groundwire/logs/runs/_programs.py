"""Logs of function synthesis as runs: LDB's, which hold every program, and Reflexion's, which hold one a task."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from groundwire.core._candidates import Candidate
from groundwire.core._signals import CaseOutcome, CaseResult, Evidence, NoVerdict, Observation, Origin, Verdict
from groundwire.core._tasks import Task
from groundwire.logs._functions import SOLUTION
from groundwire.logs._ldb import LdbRow, read_ldb
from groundwire.logs._reflexion import ReflexionRow, read_reflexion
from groundwire.logs.runs._logged import LoggedEpisode, LoggedTrial, seen

NOT_LOGGED = b"# program %d is not in the log\n"


def ldb_episodes(file: Path) -> Iterator[LoggedEpisode]:
    """The episodes of an LDB log: a trial a program.

    Raises:
        RecordingError: the file is no such log.
    """
    for row in read_ldb(file):
        task = row.task()
        yield LoggedEpisode(task, tuple(_ldb_trials(task, row, file.name)))


def _ldb_trials(task: Task, row: LdbRow, file: str) -> Iterator[LoggedTrial]:
    for number, (program, failed) in enumerate(zip(row.programs, row.feedback, strict=True), start=1):
        place = f"{file}, {row.task_id}, program {number}"
        candidate = Candidate(task.tree.digest, {SOLUTION: program.encode()})
        judged = [(candidate, _by_asserts(row, failed, place))]
        if number == len(row.programs):
            judged.append((candidate, _hidden(row.logged_solved, place)))
        yield LoggedTrial(number, tuple(judged), answers=(program,))


def reflexion_episodes(file: Path) -> Iterator[LoggedEpisode]:
    """The episodes of a Reflexion log: a trial a reflection, and the one after it with the program that was kept.

    The agent's own tests said when to stop. They are not in the log: that they failed is known of each trial with a
    reflection, and of the last one where it had as many as any in the file.

    Raises:
        RecordingError: the file is no such log.
    """
    rows = list(read_reflexion(file))
    most = max((len(row.reflections) for row in rows), default=0)
    for row in rows:
        task = row.task()
        yield LoggedEpisode(task, tuple(_reflexion_trials(task, row, most, file.name)))


def _reflexion_trials(task: Task, row: ReflexionRow, most: int, file: str) -> Iterator[LoggedTrial]:
    place = f"{file}, {row.task_id}"
    for number, text in enumerate(row.reflections, start=1):
        lost = seen(Verdict.FAIL, place, origin=Origin.MODEL_TESTS, evidence=Evidence(detail="its own tests failed"))
        yield LoggedTrial(
            number,
            ((Candidate(task.tree.digest, {SOLUTION: NOT_LOGGED % number}), lost),),
            given=tuple(row.reflections[: number - 1]),
            reflections=(text,),
        )
    tried = len(row.reflections)
    if not most:
        own = seen(Verdict.NONE, place, origin=Origin.TESTS, reason=NoVerdict.NOTHING_COLLECTED)
    elif tried == most:
        own = seen(Verdict.FAIL, place, origin=Origin.MODEL_TESTS, evidence=Evidence(detail="its own tests failed"))
    else:
        own = seen(Verdict.PASS, place, origin=Origin.MODEL_TESTS, evidence=Evidence(detail="its own tests passed"))
    candidate = Candidate(task.tree.digest, {SOLUTION: row.program.encode()})
    yield LoggedTrial(
        tried + 1,
        ((candidate, own), (candidate, _hidden(row.logged_solved, place))),
        answers=(row.solution,),
        given=tuple(row.reflections),
    )


def _by_asserts(row: LdbRow, failed: list[str], place: str) -> Observation:
    if not row.used_tests:
        return seen(Verdict.NONE, place, origin=Origin.TESTS, reason=NoVerdict.NOTHING_COLLECTED)
    cases = tuple(
        CaseOutcome(id=f"assert {number}", result=CaseResult.FAILED, message=text)
        for number, text in enumerate(failed, start=1)
    )
    evidence = Evidence(cases=cases, detail=f"{len(failed)} of {len(row.used_tests)} visible asserts failed")
    return seen(Verdict.FAIL if failed else Verdict.PASS, place, origin=Origin.TESTS, evidence=evidence)


def _hidden(solved: bool, place: str) -> Observation:
    verdict = Verdict.PASS if solved else Verdict.FAIL
    return seen(verdict, place, origin=Origin.HIDDEN_TESTS)
