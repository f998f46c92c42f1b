"""`groundwire graphs`: the ready-made graphs, and what a person reads before choosing one."""

from __future__ import annotations

import inspect
import json
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from groundwire.cli.graph_options._flags import example, options_of
from groundwire.graphs.library._card import GraphCard
from groundwire.graphs.library._catalogue import builder, card, cards, drawing

WIDE = 120
"""Columns of a terminal from which on four columns can be read side by side."""


def list_graphs(*, as_json: bool) -> int:
    """Lists all graphs, one a row."""
    if as_json:
        print(json.dumps([_data(one) for one in cards()]))
        return 0
    console = Console()
    is_wide = console.width >= WIDE
    more = ["signals from", "cost"] if is_wide else []
    table = Table(Column("graph", no_wrap=True), "what", *more, box=None, header_style="bold", pad_edge=False)
    for one in cards():
        # that a control is one is the first word of what it does
        about = [Text(_origins(one)), Text(one.cost)] if is_wide else []
        table.add_row(Text(one.name, style="bold"), Text(one.does), *about)
    console.print(table)
    console.print("\nwhat steers one, what it costs, and when not to use it:  groundwire graphs NAME")
    return 0


def show_graph(name: str, *, as_json: bool) -> int:
    """Shows one graph.

    Raises:
        ConfigError: there is none of that name.
    """
    one = card(name)
    if as_json:
        print(json.dumps(_data(one)))
        return 0
    console = Console(highlight=False)
    console.print(Text.assemble((one.name, "bold"), f": {one.does}\n"))
    console.print(Text(drawing(name)), soft_wrap=True)
    rows = [
        ("after", ", ".join(one.sources)),
        ("signals from", _origins(one)),
        ("cost", one.cost),
        ("use it when", one.use),
        ("not when", one.avoid),
        ("build it", f"from groundwire.graphs import {name}"),
        ("", _call(name)),
        ("read", f"docs/graphs/{name}.md"),
    ]
    grid = Table.grid("", "", padding=(0, 2))
    for label, said in rows:
        grid.add_row(Text(label, style="bold"), Text(said))
    console.print()
    console.print(grid)
    console.print(Text("\nrun it", style="bold"))
    console.print(Text(example(name)), soft_wrap=True)
    console.print(Text("\nits options, beside those of every run (groundwire run --help)", style="bold"))
    table = Table.grid("", "", padding=(0, 2))
    for option in options_of(name):
        default = f"  [{option.default}]" if option.default else ""
        table.add_row(Text(f"{option.flag} {option.kind}".removesuffix(" flag")), Text(f"{option.help}{default}"))
    console.print(table if options_of(name) else Text("none"))
    return 0


def _origins(one: GraphCard) -> str:
    return ", ".join(origin.value for origin in one.origins) or "nothing outside: a control"


def _call(name: str) -> str:
    """The builder's call: what must be given, then the names of what may be."""
    parameters = inspect.signature(builder(name)).parameters.values()
    return f"{name}({', '.join(p.name if p.default is p.empty else f'{p.name}=…' for p in parameters)})"


def _data(one: GraphCard) -> dict[str, Any]:
    return {
        **asdict(one),
        "drawing": drawing(one.name),
        "call": _call(one.name),
        "page": f"docs/graphs/{one.name}.md",
        "command": example(one.name),
        "options": [{"flag": option.flag, **asdict(option)} for option in options_of(one.name)],
    }
