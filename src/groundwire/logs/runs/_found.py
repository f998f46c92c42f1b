"""Which runs lie in a file or a folder of published logs: by the names that those who published them gave."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from groundwire.core._errors import RecordingError
from groundwire.core._paths import expand_user
from groundwire.logs.runs import _commands as commands
from groundwire.logs.runs import _environments as environments
from groundwire.logs.runs import _inspect as inspect
from groundwire.logs.runs import _programs as programs
from groundwire.logs.runs import _questions as questions
from groundwire.logs.runs._logged import LoggedEpisode, LoggedRun

_WORLDS = re.compile(r"(?P<run>(?P<arm>base|reflexion)(?:_\d+)?)_trial_(?P<trial>\d+)\.json(?:\.gz)?")
_QUESTIONS = re.compile(
    r"(?P<kind>react|cot_\w*?context)_(?P<arm>base|last_trial|reflexion)_(?P<trials>\d+)trials\.txt(?:\.gz)?"
)
_PROGRAMS = re.compile(r"(?P<arm>simple|reflexion)_\w*\.jsonl(?:\.gz)?")
_LDB = re.compile(r"(?P<set>humaneval|mbpp)_(?P<model>\w+)\.jsonl\.gz")
_INTERCODE = re.compile(r"(?P<run>(?:bash|python|sql)_(?P<model>gpt\d+)_\w+)\.json(?:\.gz)?")
_MODEL = re.compile(r"gpt\d+|davinci\d+|codellama|starcoder")

Read = Callable[[], Iterable[LoggedEpisode]]


def runs_in(path: str | Path) -> Sequence[LoggedRun]:
    """The logged runs of a folder, or the one that a file belongs to; a control after the runs that it is one of.

    Args:
        path: a folder of Reflexion's (ALFWorld, WebShop, HotpotQA, HumanEval, MBPP), LDB's, InterCode's or
            inspect_ai's logs, or one file of it.

    Raises:
        RecordingError: nothing of that kind is there.
    """
    place = expand_user(path).resolve()
    folder = place if place.is_dir() else place.parent
    try:
        files = sorted(file for file in folder.iterdir() if file.is_file())
    except OSError as error:
        raise RecordingError(f"{place} can't be read: {error.strerror}.", do="Name a folder of logs.") from error
    found = [*_worlds(folder, files), *filter(None, (_single(folder, file) for file in files))]
    if place.is_file():
        found = [run for run in found if place.name in dict(run.files)]
    if not found:
        raise RecordingError(
            f"{place} holds no log that is known here.",
            do="Keep the names of the published files: reflexion_trial_00.json, NAME.eval, …",
        )
    names = {run.name for run in found}
    paired = [replace(run, control=run.control if run.control in names else "") for run in found]
    return sorted(paired, key=lambda run: (not run.control, run.name))


def _worlds(folder: Path, files: Sequence[Path]) -> list[LoggedRun]:
    of_run: dict[str, list[Path]] = {}
    for file in files:
        if match := _WORLDS.fullmatch(file.name):
            of_run.setdefault(match["run"], []).append(file)
    found: list[LoggedRun] = []
    for run, mine in of_run.items():
        reflects = run.startswith("reflexion")
        read = partial(environments.episodes_of, mine, family=folder.name, reflects=reflects)
        base = _longest([other for other in of_run if other.startswith("base")], of_run) if reflects else ""
        told = _run(folder, run, "reflexion-environments", mine, read, control=base)
        found.append(replace(told, allowed_trials=len(mine)))
    return found


def _longest(names: Sequence[str], files: dict[str, list[Path]]) -> str:
    """The run with most trials: one with fewer can't be compared with later trials."""
    return max(names, key=lambda name: (len(files[name]), name), default="")


def _single(folder: Path, file: Path) -> LoggedRun | None:
    """A run that is one file."""
    family = folder.name
    if match := _QUESTIONS.fullmatch(file.name):
        name = f"{match['kind']}_{match['arm']}"
        base = "base" if match["kind"] != "cot_context" else "last_trial"
        read: Read = partial(questions.episodes_of, file, family=family)
        control = f"{match['kind']}_{base}" if match["arm"] == "reflexion" else ""
        told = _run(folder, name, "reflexion-hotpotqa", [file], read, control=control)
        return replace(told, allowed_trials=int(match["trials"]))
    name = file.name.partition(".")[0]
    if _INTERCODE.fullmatch(file.name):
        read = partial(commands.episodes_of, file, family=f"{family}/{name.partition('_')[0]}")
        return _run(folder, name, "intercode", [file], read)
    if _PROGRAMS.fullmatch(file.name):
        return _run(folder, name, "reflexion-programs", [file], partial(programs.reflexion_episodes, file))
    if _LDB.fullmatch(file.name):
        return _run(folder, name, "ldb", [file], partial(programs.ldb_episodes, file))
    if inspect.is_inspect_log(file):
        found = _run(folder, name, "inspect_ai", [file], partial(inspect.episodes_of, file))
        return replace(found, model=inspect.read_inspect_log(file).eval.model)
    return None


def _run(folder: Path, name: str, log: str, files: Sequence[Path], read: Read, *, control: str = "") -> LoggedRun:
    model = _MODEL.search(name)
    return LoggedRun(
        name=f"{folder.name}/{name}",
        log=log,
        files=tuple((file.name, hashlib.sha256(file.read_bytes()).hexdigest()) for file in files),
        read=read,
        model=model[0] if model else "",
        control=f"{folder.name}/{control}" if control else "",
    )
