"""Import mode: the target's module is imported in a process of its own, never in ours."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from groundwire_audit._errors import AuditError, ImportFailed
from groundwire_audit._report import AuditReport
from groundwire_audit.live._guards import GuardedEnd, GuardedJob, find_guard

OUT = "audit.json"
NO_REPORT = "the process that imported it gave no report that can be read"
# ours comes last, so that an installed groundwire-audit is the one that the target gets
BOOT = """
import os, sys
sys.path.append(os.environ["GROUNDWIRE_SUPPORT"])
from groundwire_audit.live.guest import run
run(sys.argv[1], os.path.join(os.environ["GROUNDWIRE_OUT"], "audit.json"))
"""
TRACE_BOOT = (
    "import sys; sys.path.append(sys.argv[1]); from groundwire_audit.live.guest import run; run(*sys.argv[2:4])"
)


@dataclass(frozen=True)
class ImportJob:
    """What is imported.

    Args:
        module: dotted name, or empty where `file` is given.
        file: path relative to `root`.
        name: of the graph inside; empty: its only one.
        call: the name is called to get the graph.
        root: the current folder of the process; its files are what the process sees.
        roles: node or tool → declared role.
        target: how the target was named.
        timeout_s: seconds of wall time.
        python: the interpreter; None: the current one.
        sandbox: kind of sandbox; None: the strongest that works, else a plain process without a network guard.
        env: variables that are passed on; all others are not.
    """

    module: str = ""
    file: str = ""
    name: str = ""
    call: bool = False
    root: Path = field(default_factory=Path.cwd)
    roles: Mapping[str, str] = field(default_factory=dict[str, str])
    target: str = ""
    timeout_s: float = 60.0
    python: Path | None = None
    sandbox: str | None = None
    env: Sequence[str] = ()

    def text(self, **more: object) -> str:
        """What the process is told."""
        body = {"module": self.module, "file": self.file, "name": self.name, "call": self.call}
        return json.dumps({**body, "roles": dict(self.roles), "target": self.target, **more})


def audit_imported(job: ImportJob) -> tuple[AuditReport, str]:
    """Audits a graph that its own process imported.

    Returns:
        The report, and a sentence on how the process was guarded.

    Raises:
        ImportFailed: it could not be imported within the limits, or there is no such graph.
        AuditError: there is no such sandbox, or something to pass on to it is missing.
        GuardUnavailable: the sandbox that was named does not work here.
    """
    ended = find_guard()(
        GuardedJob(
            script=BOOT,
            arguments=[job.text()],
            files=_files(job.root),
            support=_ours(),
            collect=OUT,
            env={**_passed_on(job.env), "PYTHONDONTWRITEBYTECODE": "1"},
            wall_s=job.timeout_s,
            python=job.python,
        ),
        job.sandbox,
    )
    if ended.collected is None:
        raise ImportFailed(_how_it_ended(ended, job))
    outcome = _read(ended.collected)
    try:
        return AuditReport.from_data(cast("Mapping[str, Any]", outcome["report"])), ended.guard
    except (ValueError, KeyError) as error:
        raise ImportFailed(NO_REPORT) from error


def _passed_on(names: Sequence[str]) -> dict[str, str]:
    missing = [n for n in names if n not in os.environ]
    if missing:
        raise AuditError(
            f"{', '.join(missing)} is not set, so it can't be passed on.", do="Set it, or leave --env out."
        )
    return {n: os.environ[n] for n in names}


SKIPPED = frozenset(
    {".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", "venv", ".tox", ".mypy_cache", ".ruff_cache"}
)
SECRET = (".env", ".pem", ".key", ".p12", ".pfx")
MAX_FILE_BYTES, MAX_BYTES, MAX_FILES = 4 << 20, 128 << 20, 20_000


def _files(root: Path) -> dict[str, bytes]:
    """What the process sees of the folder: no large files, no virtual environments, nothing that looks like a secret.

    Raises:
        AuditError: the folder holds too much.
    """
    found: dict[str, bytes] = {}
    total, pending = 0, [root.resolve()]
    while pending:
        for path in _children(pending.pop()):
            if path.is_symlink() or path.name in SKIPPED or path.name.startswith(".env") or path.suffix in SECRET:
                continue
            if path.is_dir():
                if not os.path.lexists(path / "pyvenv.cfg"):
                    pending.append(path)
            elif path.is_file() and path.stat().st_size <= MAX_FILE_BYTES and os.access(path, os.R_OK):
                found[path.relative_to(root.resolve()).as_posix()] = content = path.read_bytes()
                total += len(content)
                if total > MAX_BYTES or len(found) > MAX_FILES:
                    raise AuditError(
                        f"{root} holds too much for an import in a sandbox.",
                        do="Go to the project's own folder, or audit from the source with --source.",
                    )
    return found


def _children(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []  # what we may not read, the import can't need


def _ours() -> dict[str, bytes]:
    """This package, for an interpreter that may not have it."""
    package = Path(__file__).parents[1]
    return {
        f"{package.name}/{path.relative_to(package).as_posix()}": path.read_bytes()
        for path in sorted(package.rglob("*.py"))
    }


def _read(body: bytes) -> Mapping[str, object]:
    try:
        outcome: object = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise ImportFailed(NO_REPORT) from error
    if not isinstance(outcome, dict):
        raise ImportFailed(NO_REPORT)
    found = cast("dict[str, object]", outcome)
    if found.get("ok") is not True:
        raise ImportFailed(str(found.get("why", ""))[:1000], stage=str(found.get("stage", "import")))
    return found


def _how_it_ended(ended: GuardedEnd, job: ImportJob) -> str:
    if ended.limit_hit == "wall_s":
        return f"importing it took longer than {job.timeout_s:g} s"
    if ended.limit_hit:
        return f"importing it hit the limit {ended.limit_hit}"
    said = ended.stderr.decode("utf-8", "replace").strip().splitlines()
    return f"the process ended with {ended.exit_code}: {said[-1][:300] if said else 'without a word'}"


def trace_imported(job: ImportJob, inputs: str) -> dict[str, Any]:
    """Runs the graph in a process of its own, with this environment, and follows its events.

    Args:
        job: the graph. Sandbox and `env` do not count: a real run needs its keys and its network.
        inputs: `module:function` that gives the input, or a list of them.

    Raises:
        ImportFailed: it could not be imported or ended otherwise; says how.
    """
    package = Path(__file__).parents[2]
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / OUT
        python = str(job.python or sys.executable)
        process = subprocess.Popen(
            [python, "-c", TRACE_BOOT, str(package), job.text(inputs=inputs), str(out)],
            cwd=job.root,
            stdin=subprocess.DEVNULL,
            stdout=sys.stderr,
            start_new_session=True,
        )
        try:
            process.wait(job.timeout_s)
        except subprocess.TimeoutExpired:
            raise ImportFailed(f"the run took longer than {job.timeout_s:g} s") from None
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        if not out.exists():
            raise ImportFailed(f"the process ended with {process.returncode}")
        return cast("dict[str, Any]", _read(out.read_bytes())["trace"])
