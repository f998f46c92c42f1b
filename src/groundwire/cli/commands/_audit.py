"""`groundwire audit`: the command and its flags; what it does is in `groundwire.cli._audit`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from groundwire.cli.commands._options import Json, SandboxKind


def audit(
    target: Annotated[
        str, typer.Argument(help="A file, notebook or folder, FILE:NAME, or package.module:graph.", metavar="TARGET")
    ],
    call: Annotated[bool, typer.Option("--call", help="The name is a function that makes the graph: call it.")] = False,
    source: Annotated[
        bool, typer.Option("--source", help="Read the source only, also of a module.  [default for files and folders]")
    ] = False,
    import_: Annotated[
        bool, typer.Option("--import", help="Import the file in a guarded process.  [default for module:graph]")
    ] = False,
    role: Annotated[
        list[str] | None, typer.Option(help="NODE=actor|critic|model|tool|world|human|pure; shown as declared.")
    ] = None,
    roles: Annotated[Path | None, typer.Option(help="TOML or JSON file with such roles.")] = None,
    sarif: Annotated[Path | None, typer.Option(help="Write SARIF 2.1.0 to this file.")] = None,
    mermaid: Annotated[bool, typer.Option("--mermaid", help="Print a Mermaid chart instead of text.")] = False,
    svg: Annotated[Path | None, typer.Option(help="Write a picture to this file.")] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Unknown and partly grounded loops, fixed rounds and warnings give 1 too.")
    ] = False,
    trace: Annotated[
        str | None,
        typer.Option(help="module:function that gives the input: run the graph on it, and follow what it does."),
    ] = None,
    timeout: Annotated[float, typer.Option(min=1, help="Seconds for an import or a traced run.")] = 60,
    python: Annotated[
        Path | None, typer.Option(help="Interpreter that imports the target.  [default: this one]")
    ] = None,
    sandbox: SandboxKind = None,
    env: Annotated[list[str] | None, typer.Option(help="Pass this environment variable to the import.")] = None,
    json: Json = False,
) -> None:
    """Say of each loop of a LangGraph graph if anything outside the model decides it. Only --trace runs it."""
    from groundwire.cli._audit import AuditRequest, run_audit

    asked = AuditRequest(
        target=target,
        call=call,
        source=source,
        import_=import_,
        role=role or (),
        roles=roles,
        as_json=json,
        sarif=sarif,
        mermaid=mermaid,
        svg=svg,
        strict=strict,
        trace=trace,
        timeout_s=timeout,
        python=python,
        sandbox=sandbox,
        env=env or (),
    )
    raise typer.Exit(run_audit(asked))
