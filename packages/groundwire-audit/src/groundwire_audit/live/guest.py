"""Runs in a process of its own: imports the target there, audits or traces its graph, and writes what it found."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import json
import os
import sys
import warnings
from collections.abc import Coroutine, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from groundwire_audit._report import Mode
from groundwire_audit.live._graphs import audit_object, is_graph


class TargetRefused(Exception):
    """What was asked for can't be done; says why, and what to do."""


def main(job: Mapping[str, Any], out: Path) -> None:
    """Does one job and writes the outcome, whatever happens.

    Args:
        job: `module` or `file`, `name`, `call`, `roles`, `target`, and `inputs` (`module:function`) for a trace.
        out: the file that is written.
    """
    warnings.simplefilter("ignore")
    try:
        outcome = {"ok": True, **_done(job)}
    except TargetRefused as refused:
        outcome = {"ok": False, "stage": "target", "why": str(refused)}
    except BaseException as error:  # also what a module does with sys.exit at import
        outcome = {"ok": False, "stage": "import", "why": f"{type(error).__name__}: {str(error)[:500]}"}
    out.write_text(json.dumps(outcome), encoding="utf-8")


def _done(job: Mapping[str, Any]) -> dict[str, Any]:
    for folder in ("src", "."):
        if Path(folder).is_dir():
            sys.path.insert(0, str(Path(folder).resolve()))
    graph = find_graph(_module(job), str(job.get("name") or ""), call=bool(job.get("call")))
    if job.get("inputs"):
        from groundwire_audit.live._tracing import trace

        return {"trace": trace(graph, _inputs(str(job["inputs"]))).as_data()}
    report = audit_object(graph, roles=job.get("roles"), mode=Mode.IMPORT, target=str(job.get("target", "")))
    return {"report": report.as_data()}


def _module(job: Mapping[str, Any]) -> ModuleType:
    if job.get("module"):
        return importlib.import_module(str(job["module"]))
    path = Path(str(job["file"]))
    # as a script sees it, so that the files beside it can be imported
    sys.path.insert(0, str(path.resolve().parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise TargetRefused(f"{path} can't be imported; audit it from its source.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def find_graph(module: ModuleType, name: str, *, call: bool) -> Any:
    """The graph of a module.

    Args:
        module: the imported module.
        name: dotted name inside it; empty: its only graph.
        call: what the name stands for is called, without arguments, to get it.

    Raises:
        Refused: it is not there, or is no graph; says what to do.
    """
    if not name:
        return _only(module)
    found: Any = module
    for part in name.split("."):
        if not hasattr(found, part):
            graphs = ", ".join(sorted(k for k, v in vars(module).items() if is_graph(v))) or "none"
            raise TargetRefused(f"{module.__name__} has no {name!r}. Graphs there: {graphs}.")
        found = getattr(found, part)
    if is_graph(found) and not isinstance(found, type):
        return found
    if not call:
        if callable(found):
            raise TargetRefused(f"{name} is a function or class, not a graph: add --call to audit what it returns.")
        raise TargetRefused(f"{name} is a {type(found).__name__}, not a graph.")
    return _made_by(found, name)


def _made_by(maker: Any, name: str) -> Any:
    """The graph that a function returns, or the one that the object it returns holds."""
    made: Any = maker()
    if inspect.iscoroutine(made):
        import asyncio

        made = asyncio.run(cast("Coroutine[Any, Any, Any]", made))
    if is_graph(made):
        return made
    attributes: dict[str, Any] = getattr(made, "__dict__", {})
    held = [v for v in attributes.values() if is_graph(v)]
    if len(held) != 1:
        raise TargetRefused(f"{name}() returned a {type(made).__name__}, not a graph.")
    return held[0]


def _only(module: ModuleType) -> Any:
    """The one graph of a module; where builder and compiled graph are both there, the compiled one."""
    graphs = {k: v for k, v in vars(module).items() if is_graph(v) and not isinstance(v, type)}
    builders = {id(getattr(v, "builder", None)) for v in graphs.values()}
    distinct = {k: v for k, v in graphs.items() if id(v) not in builders}
    if len({id(v) for v in distinct.values()}) == 1:
        return next(iter(distinct.values()))
    names = ", ".join(sorted(distinct)) or "none"
    raise TargetRefused(
        f"Name the graph, as in {module.__name__}:{next(iter(distinct), 'graph')}. Graphs there: {names}."
    )


def _inputs(where: str) -> Any:
    module, _, name = where.partition(":")
    if not name:
        raise TargetRefused(f"{where!r} names no function: write it as module:function.")
    function = getattr(importlib.import_module(module), name, None)
    if not callable(function):
        raise TargetRefused(f"{module} has no function {name!r} that gives inputs.")
    made: Any = function()
    return list(made) if inspect.isgenerator(made) else made


def run(job_text: str, out: str) -> None:
    """Entry of the process: the job as JSON text, and the file that is written."""
    main(json.loads(job_text), Path(out))
    sys.stdout.flush()
    # threads or event loops that a module started at import must not keep the process alive
    os._exit(0)
