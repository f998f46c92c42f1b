"""The program `groundwire-audit`: reads what was named, here or in a guarded process, and says what was found."""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from groundwire_audit._errors import AuditError, ImportFailed
from groundwire_audit._report import AuditReport, Finding, Level
from groundwire_audit._roles import roles_of_file, roles_of_flags, roles_of_project

ABOUT = "Say of each loop of a LangGraph graph whether anything outside the model decides it. Only --trace runs it."
CODES = (
    "Exit codes: 0 nothing ungrounded, 1 a loop is ungrounded, 2 usage, 3 something can't be seen."
    " Verdicts, roles and what is not said: docs/audit.md."
)
DISTRIBUTION = "groundwire-audit"
FORMATS = ("text", "json", "sarif", "github", "markdown")
INTERRUPTED = 130
DOTTED = re.compile(r"^[A-Za-z_][\w]*(\.[A-Za-z_][\w]*)*$")


@dataclass(frozen=True)
class Asked:
    """The command's arguments."""

    target: str
    call: bool = False
    source: bool = False
    import_: bool = False
    role: Sequence[str] = ()
    roles: Path | None = None
    as_json: bool = False
    sarif: Path | None = None
    mermaid: bool = False
    svg: Path | None = None
    html: Path | None = None
    strict: bool = False
    trace: str | None = None
    timeout_s: float = 60.0
    python: Path | None = None
    sandbox: str | None = None
    env: Sequence[str] = ()
    exclude: Sequence[str] = ()
    tests: bool = False
    form: str = "text"
    baseline: Path | None = None
    write_baseline: Path | None = None
    fail_on_new: bool = False
    fix: bool = False
    said: Sequence[str] = ()
    """All arguments but --python, as they were given."""


@dataclass(frozen=True)
class Target:
    """What is audited: a path, or a module to import; with a name inside it."""

    path: Path | None = None
    module: str = ""
    name: str = ""
    roles: dict[str, str] = field(default_factory=dict[str, str])


def main(arguments: Sequence[str] | None = None, *, program: str = "groundwire-audit") -> int:
    """The program: every error of ours is a message and an exit code, never a traceback.

    Args:
        arguments: as on a command line; None: those of this process.
        program: how it is called in its messages.

    Returns:
        The exit code: 0, 1 ungrounded, 2 usage, 3 unknown, 130 interrupted.
    """
    try:
        asked = _asked(arguments, program)
        code = _run(asked)
        sys.stdout.flush()
    except SystemExit as ended:  # argparse has said what is wrong, or what was asked for
        return ended.code if isinstance(ended.code, int) else 2
    except AuditError as error:
        return _fail(error)
    except BrokenPipeError:
        # whoever read it has seen enough; nothing is left to flush at the end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        return INTERRUPTED
    return code


def _fail(error: AuditError) -> int:
    from groundwire_audit.showing._terminal import plain

    sys.stderr.write(f"error: {plain(error.what, limit=2000)}\n")
    if error.do:
        sys.stderr.write(f"  {plain(error.do, limit=2000)}\n")
    return error.exit_code


def _asked(arguments: Sequence[str] | None, program: str) -> Asked:
    parser = argparse.ArgumentParser(program, description=ABOUT, epilog=CODES, allow_abbrev=False)
    add = parser.add_argument
    add("target", metavar="TARGET", help="A file, notebook or folder, FILE:NAME, or package.module:graph.")
    add("--call", action="store_true", help="The name is a function that makes the graph: call it.")
    add(
        "--source",
        action="store_true",
        help="Read the source only, also of a module.  [default for files and folders]",
    )
    add(
        "--import",
        action="store_true",
        dest="import_",
        help="Import the file in a guarded process.  [default for module:graph]",
    )
    add(
        "--role",
        action="append",
        default=[],
        metavar="NODE=ROLE",
        help="NODE=actor|critic|model|tool|world|human|pure; shown as declared.",
    )
    add("--roles", type=Path, metavar="PATH", help="TOML or JSON file with such roles.")
    add("--sarif", type=Path, metavar="PATH", help="Write SARIF 2.1.0 to this file.")
    add("--mermaid", action="store_true", help="Print a Mermaid chart instead of text.")
    add("--svg", type=Path, metavar="PATH", help="Write a picture to this file.")
    add("--html", type=Path, metavar="PATH", help="Write a page to this file: each loop, its lines, and the picture.")
    add(
        "--strict",
        action="store_true",
        help="Unknown and partly grounded loops, fixed rounds and warnings give 1 too.",
    )
    add(
        "--trace",
        metavar="MODULE:FUNCTION",
        help="module:function that gives the input: run the graph on it, and follow what it does.",
    )
    add(
        "--timeout",
        type=_seconds,
        default=60.0,
        dest="timeout_s",
        metavar="SECONDS",
        help="Seconds for reading, for an import or for a traced run.  [default: 60]",
    )
    add(
        "--python", type=Path, metavar="PATH", help="Interpreter that reads or imports the target.  [default: this one]"
    )
    add(
        "--sandbox",
        metavar="KIND",
        help="bubblewrap, landlock, docker or subprocess (no isolation); all but the last are part of groundwire."
        "  [default: the strongest without a daemon]",
    )
    add("--env", action="append", default=[], metavar="NAME", help="Pass this environment variable to the import.")
    add("--exclude", action="append", default=[], metavar="GLOB", help="Of a folder: leave out, as in a .gitignore.")
    add("--tests", action="store_true", help="Of a folder: tests too.  [default: they are left out]")
    add(
        "--format",
        choices=FORMATS,
        default="text",
        dest="form",
        help="text, json, sarif, github (annotations) or markdown.  [default: text]",
    )
    add("--json", action="store_true", dest="as_json", help="The same as --format json.")
    add("--baseline", type=Path, metavar="PATH", help="What this file knows is marked as known.")
    add("--write-baseline", type=Path, metavar="PATH", help="Write a baseline that knows all that is found now.")
    add("--fail-on-new", action="store_true", help="Only what the baseline does not know counts for the exit code.")
    add(
        "--fix",
        action="store_true",
        help="Print the smallest change that grounds each loop as a patch, where there is one.",
    )
    add("--version", action=_Version, nargs=0, default=argparse.SUPPRESS, help="Print the version.")
    asked = Asked(**vars(parser.parse_args(arguments)))
    if asked.fail_on_new and asked.baseline is None:
        parser.error("--fail-on-new needs --baseline PATH")
    given = list(sys.argv[1:] if arguments is None else arguments)
    asked = replace(asked, said=_without_python(given))
    return replace(asked, form="json") if asked.as_json else asked


def _without_python(given: Sequence[str]) -> list[str]:
    kept: list[str] = []
    skips = False
    for at, argument in enumerate(given):
        if argument == "--":
            return kept + list(given[at:])
        if not skips and not argument.startswith("--python="):
            skips = argument == "--python"
            kept += [] if skips else [argument]
        else:
            skips = False
    return kept


class _Version(argparse.Action):
    """Prints the version; what is installed is looked up only then."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        sys.stdout.write(f"{DISTRIBUTION} {_version()}\n")
        parser.exit(0)


def _version() -> str:
    try:
        return version(DISTRIBUTION)
    except PackageNotFoundError:  # it runs from a checkout, as a hook or an action
        return "0+checkout"


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 1 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds from 1 on")
    return value


def _run(asked: Asked) -> int:
    """Audits and prints; the exit code."""
    target = _target(asked)
    if asked.python is not None and _reads_source(asked, target):
        return _by_other_python(asked)
    report = _audited(asked, target)
    if asked.baseline is not None:
        from groundwire_audit._known import read_baseline, with_known

        report = with_known(report, read_baseline(asked.baseline))
    if asked.write_baseline is not None:
        from groundwire_audit._known import as_baseline

        _write(asked.write_baseline, as_baseline(report))
    traced = _traced(asked, target) if asked.trace else None
    if asked.sarif is not None:
        _write(asked.sarif, _as_sarif(report))
    if asked.svg is not None:
        from groundwire_audit.showing._pictures import as_svg

        _write(asked.svg, as_svg(report))
    if asked.html is not None:
        from groundwire_audit.showing._page import as_page

        _write(asked.html, as_page(report))
    code = report.exit_code(strict=asked.strict, only_new=asked.fail_on_new)
    _print(asked, report, traced, code)
    return code


def _print(asked: Asked, report: AuditReport, traced: dict[str, Any] | None, code: int) -> None:
    """Prints the report in the form that was asked for."""
    if asked.fix:
        from groundwire_audit._fixes import as_patch

        sys.stdout.write(as_patch(report))
    elif asked.mermaid:
        from groundwire_audit.showing._pictures import as_mermaid

        sys.stdout.write(as_mermaid(report))
    elif asked.form == "json":
        body = {**report.as_data(), "exit_code": code, **({"trace": traced} if traced is not None else {})}
        sys.stdout.write(json.dumps(body, indent=2) + "\n")
    elif asked.form == "sarif":
        sys.stdout.write(_as_sarif(report))
    elif asked.form in {"github", "markdown"}:
        from groundwire_audit.showing._annotations import as_github, as_markdown

        sys.stdout.write(as_github(report) if asked.form == "github" else as_markdown(report))
    else:
        from groundwire_audit.showing._terminal import show

        show(report, traced)


def _as_sarif(report: AuditReport) -> str:
    from groundwire_audit.showing._sarif import as_sarif

    return json.dumps(as_sarif(report, _version()), indent=2) + "\n"


def _reads_source(asked: Asked, target: Target) -> bool:
    return asked.source or (target.path is not None and not (asked.import_ or asked.call or asked.trace))


def _by_other_python(asked: Asked) -> int:
    """The same audit by another interpreter, which reads the syntax that it knows."""
    assert asked.python is not None
    try:
        ran = subprocess.run(
            [asked.python, "-P", "-c", ELSEWHERE, str(Path(__file__).parents[1]), *asked.said], check=False
        )
    except OSError as error:
        raise AuditError(
            f"{asked.python} can't be run: {error.strerror}.", do="Name a Python of 3.11 or later."
        ) from error
    if ran.returncode == TOO_OLD:
        raise AuditError(f"{asked.python} is older than Python 3.11.", do="Name a Python of 3.11 or later.")
    return ran.returncode


TOO_OLD = 97
ELSEWHERE = """
import sys
if sys.version_info < (3, 11):
    sys.exit(97)
sys.path.insert(0, sys.argv.pop(1))
from groundwire_audit import main
sys.exit(main(sys.argv[1:]))
"""


def _write(path: Path, content: str) -> None:
    try:
        path.write_text(content, encoding="utf-8")
    except OSError as error:
        raise AuditError(f"{path} can't be written: {error.strerror}.", do="Name another file.") from error


def _target(asked: Asked) -> Target:
    said = asked.target
    path, name = Path(said), ""
    if not path.exists():
        left, sign, right = said.rpartition(":")
        if sign and left and Path(left).exists():
            path, name = Path(left), right
        elif sign and DOTTED.match(left) and DOTTED.match(right):
            return Target(module=left, name=right, roles=_roles(asked, Path.cwd()))
        elif DOTTED.match(said) and not sign and _source_of(said) is not None:
            return Target(module=said, roles=_roles(asked, Path.cwd()))
        else:
            raise AuditError(
                f"{said} is neither a file, a folder nor module:graph.",
                do="Give  my_agent.py,  my_agent.py:graph,  a folder,  a notebook  or  package.module:graph",
            )
    if name and not DOTTED.match(name):
        raise AuditError(f"{name!r} can't be the name of a graph.", do="Write  my_agent.py:graph")
    if path.is_file() and path.suffix not in {".py", ".ipynb"}:
        what = f"{path} is neither a Python file nor a notebook."
        raise AuditError(what, do="Give a .py or .ipynb file, or a folder.")
    return Target(path=path, name=name, roles=_roles(asked, path))


def _roles(asked: Asked, start: Path) -> dict[str, str]:
    """Roles of the project, then those of the file, then those of the flags: the later ones win."""
    declared = roles_of_project(start)
    if asked.roles is not None:
        declared |= roles_of_file(asked.roles)
    return declared | roles_of_flags(asked.role)


def _source_of(module: str) -> Path | None:
    """The file of a module beside the current folder, found without importing it."""
    for root in (Path.cwd(), Path.cwd() / "src"):
        path = root.joinpath(*module.split("."))
        for candidate in (path.with_suffix(".py"), path / "__init__.py"):
            if candidate.is_file():
                return candidate
    return None


def _audited(asked: Asked, target: Target) -> AuditReport:
    if asked.source and (asked.import_ or asked.call):
        raise AuditError("--source imports nothing, so it goes with neither --import nor --call.", do="Leave one out.")
    if target.path is not None and not (asked.import_ or asked.call):
        return _from_source(target.path, target, asked)
    if target.module and asked.source:
        path = _source_of(target.module)
        if path is None:
            raise AuditError(f"The source of {target.module} is not below this folder.", do="Leave --source out.")
        return _from_source(path, target, asked)
    return _by_import(asked, target)


def _from_source(path: Path, target: Target, asked: Asked) -> AuditReport:
    from groundwire_audit._discover import audit_path

    return audit_path(
        path,
        wanted=target.name,
        roles=target.roles,
        target=asked.target,
        timeout_s=asked.timeout_s,
        exclude=asked.exclude,
        tests=asked.tests,
    )


def _by_import(asked: Asked, target: Target) -> AuditReport:
    """Imports the target; where that fails, its source still tells something."""
    from groundwire_audit.live._importing import audit_imported

    try:
        report, guard = audit_imported(_job(asked, target))
    except ImportFailed as failed:
        path = target.path or _source_of(target.module)
        if failed.stage == "target" or path is None or path.is_dir():
            raise AuditError(f"{asked.target} can't be audited: {_said(failed)}.", do=_cure(failed)) from failed
        read = _from_source(path, target, asked)
        note = f"the import failed ({_said(failed)}); audited from the source instead"
        finding = Finding("import-failed", f"{_said(failed)}. {_cure(failed)}.", level=Level.NOTE)
        return replace(read, findings=(*read.findings, finding), notes=(*read.notes, note))
    return replace(report, target=asked.target, notes=(*report.notes, guard))


def _said(failed: Exception) -> str:
    return str(failed).rstrip(". ")


def _cure(failed: Exception) -> str:
    if "--call" in str(failed) or "Name the graph" in str(failed):
        return "Change the target as it says"
    return "Pass what it needs with --env NAME, allow more time with --timeout, or name --sandbox subprocess"


def _job(asked: Asked, target: Target) -> Any:
    from groundwire_audit.live._importing import ImportJob

    root, file = Path.cwd(), ""
    if target.path is not None:
        if target.path.is_dir() or target.path.suffix != ".py":
            raise AuditError(f"{target.path} can't be imported.", do="Give a .py file, or leave --import out.")
        here = target.path.resolve()
        root = root if here.is_relative_to(root) else here.parent
        file = here.relative_to(root).as_posix()
    return ImportJob(
        module=target.module,
        file=file,
        name=target.name,
        call=asked.call,
        root=root,
        roles=target.roles,
        target=asked.target,
        timeout_s=asked.timeout_s,
        python=asked.python,
        sandbox=asked.sandbox,
        env=asked.env,
    )


def _traced(asked: Asked, target: Target) -> dict[str, Any]:
    from groundwire_audit.live._importing import trace_imported

    assert asked.trace is not None
    try:
        return trace_imported(_job(asked, target), asked.trace)
    except ImportFailed as failed:
        raise AuditError(f"The run of {asked.target} can't be followed: {_said(failed)}.", do=_cure(failed)) from failed
