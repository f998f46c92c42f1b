"""`groundwire export`: the command and its flags; what it does is in `groundwire.cli._export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from groundwire.cli._checks import check_exists, check_into, loading, settled
from groundwire.cli.commands._options import Json, Ledger, Unverified, flags_in, spelt_out

INTERCHANGE = ("atif", "harbor", "inspect")
"""What is no row of training data: a run as another framework's trajectories or log, tasks as its tasks."""


@spelt_out
def export(
    runs: Annotated[
        list[str] | None,
        typer.Argument(help="The runs' ids, or any unique beginnings; for harbor: task folders.", metavar="RUN..."),
    ] = None,
    format: Annotated[
        str,
        typer.Option(
            help="sft, dpo, kto, prm, grpo, rlvr, trajectory, or a method; --list names all. For other frameworks: atif"
            " or inspect, of runs; harbor, of task folders."
        ),
    ] = "",
    out: Annotated[
        Path | None,
        typer.Option(
            help="File to write: .jsonl or .parquet; for inspect .eval or .json, for atif and harbor a folder."
        ),
    ] = None,
    target_model: Annotated[
        str, typer.Option(help="Model that is to be trained; rows that another one wrote are marked off-policy.")
    ] = "",
    keep_failed: Annotated[
        bool | None,
        typer.Option(
            "--keep-failed/--only-passed",
            help="Keep answers that failed an executed check.  [default: kept, except by sft, which imitates]",
            show_default=False,
        ),
    ] = None,
    keep_model_only: Annotated[
        bool, typer.Option("--keep-model-only", help="Keep rows that nothing but a model stands behind.")
    ] = False,
    allow_mixed_revisions: Annotated[
        bool, typer.Option("--allow-mixed-revisions", help="Export runs that several models or revisions wrote.")
    ] = False,
    allow_truncated: Annotated[
        bool, typer.Option("--allow-truncated", help="Export episodes that were cut off, or lack records.")
    ] = False,
    allow_unverified: Annotated[
        bool, typer.Option("--allow-unverified", help="Export though the run's key is not here to verify its seals.")
    ] = False,
    unverified: Unverified = False,
    gold: Annotated[
        Path | None,
        typer.Option(help='JSON lines, each {"task": id, "answers": [...]}: rows that show one of these are left out.'),
    ] = None,
    min_agreement: Annotated[
        float | None,
        typer.Option(help="Share of the answers to the same question that must say the same, 0 to 1."),
    ] = None,
    min_answers: Annotated[int, typer.Option(help="How many answers a question must have to agree.")] = 5,
    min_group: Annotated[
        int, typer.Option(min=1, help="How many answers a group of grpo must have: one alone has no advantage.")
    ] = 2,
    min_continuations: Annotated[
        int,
        typer.Option(min=1, help="Walks that must have gone on from a step (intervention), or make a tree (glad)."),
    ] = 2,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=NUMBER",
            help="A number of one format: agent_r_alpha, agent_r_beta, intervention_pass, match_tir_discount, empg_k,"
            " empg_k_next, empg_zeta, score_alpha, rise_tau, lambda_ratio, lambda_alpha. Again for another one.",
        ),
    ] = None,
    same_answer: Annotated[
        Path | None,
        typer.Option(help='JSON lines, each {"tasks": [id, id]}: tasks whose answers must agree, as a+b and b+a.'),
    ] = None,
    near_duplicates: Annotated[
        float | None,
        typer.Option(help="Leave out rows this similar to an earlier one, 0.5 to 1 (Jaccard).", metavar="SIMILARITY"),
    ] = None,
    losses: Annotated[
        Path | None,
        typer.Option(help='JSON lines, each {"turn": id, "answer_given_prompt": nats}: under the model to be trained.'),
    ] = None,
    max_ppl: Annotated[
        float | None, typer.Option(help="Highest perplexity of an answer by --losses; unknown ones are left out.")
    ] = None,
    rounds: Annotated[
        bool, typer.Option("--rounds", help="The runs are rounds of self-training, in this order: compare them.")
    ] = False,
    schema: Annotated[str, typer.Option(metavar="FORMAT", help="Print the JSON Schema of a format, and exit.")] = "",
    list_: Annotated[bool, typer.Option("--list", help="List all formats, and exit.")] = False,
    *,
    ledger: Ledger,
    json: Json = False,
) -> None:
    """Export runs as training data: rewards come from executed checks alone, and every part says where it is from."""
    if format in INTERCHANGE and not (schema or list_):
        flags = flags_in(ledger)
        settled(flags)
        with loading():
            from groundwire.cli._interchange import run_interchange

        raise typer.Exit(run_interchange(runs or (), format, out, flags, as_it_is=unverified, as_json=json))
    if format or schema:
        from groundwire.training._catalogue import check_name

        check_name(schema or format)
    if not schema and not list_:
        check_exists(gold, same_answer, losses, do="Name a file of JSON lines.")
        check_into(out)
        settled(flags_in(ledger))
    with loading():
        from groundwire.cli._export import AskedFilters, ExportRequest, list_forms, print_schema, run_export

    if list_:
        raise typer.Exit(list_forms(as_json=json))
    if schema:
        raise typer.Exit(print_schema(schema))
    asked = ExportRequest(
        runs=tuple(runs or ()),
        form=format,
        out=out,
        target_model=target_model,
        keep_failed=keep_failed,
        keep_model_only=keep_model_only,
        mixed_revisions=allow_mixed_revisions,
        truncated=allow_truncated,
        unverified=allow_unverified,
        as_it_is=unverified,
        gold=gold,
        filters=AskedFilters(
            min_agreement=min_agreement,
            min_answers=min_answers,
            same_answer=same_answer,
            near_duplicates=near_duplicates,
            losses=losses,
            max_ppl=max_ppl,
            rounds=rounds,
        ),
        least_group=min_group,
        least_continuations=min_continuations,
        thresholds=tuple(set_ or ()),
        as_json=json,
    )
    raise typer.Exit(run_export(asked, flags_in(ledger)))
