"""What is made of the declared options: flags, rows of a table, what is refused, and a command that runs each graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields, make_dataclass
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import typer

from groundwire.cli.graph_options._declared import OPTIONS, AnswerOptions, Flag
from groundwire.core._errors import ConfigError


@dataclass(frozen=True)
class GraphOption:
    """One option of one graph, for a table.

    Args:
        name: the field's.
        kind: its values in words.
        default: where it is not given.
        help: what it is.
    """

    name: str
    kind: str
    default: str
    help: str

    @property
    def flag(self) -> str:
        """As it is written on a command line."""
        return f"--{self.name.replace('_', '-')}"


def options_of(graph: str) -> tuple[GraphOption, ...]:
    """The options of a graph of the library, in their order."""
    kind = OPTIONS[graph]
    hints = get_type_hints(kind, include_extras=True)
    found: list[GraphOption] = []
    for one in fields(kind):
        told, flag = get_args(hints[one.name])[0], _flag_of(hints[one.name])
        default = flag.unless or ("" if one.default in (None, False, MISSING) else str(one.default))
        found.append(GraphOption(one.name, _words(told), default, flag.help))
    return tuple(found)


def checked_options(graph: str, given: Mapping[str, Any]) -> Any:
    """A graph's options, of its own class.

    Args:
        graph: of the library.
        given: by name; a value of None was not given.

    Raises:
        ConfigError: it has no such option, or the value is none of it.
    """
    kind = OPTIONS[graph]
    wanted = {name: value for name, value in given.items() if value is not None}
    known = {one.name for one in fields(kind)}
    if unknown := sorted(wanted.keys() - known):
        has = ", ".join(option.flag for option in options_of(graph)) or "none of its own"
        raise ConfigError(f"{graph} has no option --{unknown[0].replace('_', '-')}.", do=f"It has {has}.")
    hints = get_type_hints(kind, include_extras=True)
    for name, value in wanted.items():
        _check(graph, name, value, hints[name])
    return kind(**wanted)


def _check(graph: str, name: str, value: Any, hint: Any) -> None:
    told, flag = get_args(hint)[0], _flag_of(hint)
    written = f"--{name.replace('_', '-')}"
    if get_origin(told) is Literal and value not in get_args(told):
        raise ConfigError(
            f"{written} {value!s:.60} is none of {graph}'s.", do=f"Use one of {', '.join(get_args(told))}."
        )
    if isinstance(value, int | float) and not isinstance(value, bool):
        low, high = flag.least is not None and value < flag.least, flag.most is not None and value > flag.most
        if low or high:
            raise ConfigError(f"{written} {value:g} is out of range.", do=f"Use {_range(flag)}.")


def _range(flag: Flag) -> str:
    if flag.most is None:
        return f"{flag.least:g} or more"
    return f"{flag.least or 0:g} to {flag.most:g}"


def _flag_of(hint: Any) -> Flag:
    return next(one for one in get_args(hint)[1:] if isinstance(one, Flag))


def _words(told: Any) -> str:
    if get_origin(told) is Literal:
        return ", ".join(map(str, get_args(told)))
    if get_origin(told) in (Union, UnionType):
        return " or ".join(_words(one) for one in get_args(told) if one is not type(None))
    if get_origin(told) is list:
        return "texts"
    return {bool: "flag", int: "whole number", float: "number", str: "text", Path: "file"}[told]


def every_flag() -> type[Any]:
    """One group with the flags of all graphs, for Typer: none is given unless it is.

    Raises:
        TypeError: two graphs mean different things by one name.
    """
    found: dict[str, tuple[Any, Flag, list[str]]] = {}
    for graph, kind in OPTIONS.items():
        hints = get_type_hints(kind, include_extras=True)
        for one in fields(kind):
            told, flag = get_args(hints[one.name])[0], _flag_of(hints[one.name])
            known = found.setdefault(one.name, (told, flag, []))
            if known[:2] != (told, flag):
                raise TypeError(f"{graph} means something else by {one.name}")
            known[2].append(graph)
    return make_dataclass(
        "GraphFlags",
        [(name, *_spelt(name, told, flag, graphs)) for name, (told, flag, graphs) in found.items()],
        frozen=True,
        kw_only=True,
    )


def _spelt(name: str, told: Any, flag: Flag, graphs: list[str]) -> tuple[Any, Any]:
    least = flag.least if told is not int or flag.least is None else int(flag.least)
    of = "wide graphs" if len(graphs) > FEW else ", ".join(graphs)
    option = typer.Option(f"--{name.replace('_', '-')}", help=f"{flag.help}  [{of}]", min=least, max=flag.most)
    return Annotated[told | None, option], None


FEW = 6
"""Graphs that are named in a flag's help; more are no help."""


ACTING = ("episodic", "plan_ahead", "trajectory_factory")
"""Graphs that act in a world."""
WRITING = (
    "verified_steps",
    "step_beam",
    *(name for name, kind in OPTIONS.items() if issubclass(kind, AnswerOptions)),
)
"""Graphs that write one answer, which may be all actions in a world."""
LEARNER = "tabular"
"""What acts in a world where no model is named."""

MODEL, OTHER = "openai/gpt-5-mini", "openai/gpt-5"
QUESTION = '--ask "How much is 17 times 24?" --expect 408'
STORES = '--tools groundwire.demo:STORES --ask "How many bolts do both stores hold, north and south?" --expect 42'
FICTION = '--corpus fiction --ask "In which year was the Velmar lighthouse built?" --expect 1873'
CHOICE = '--ask "Which of these is prime?\nA. 51\nB. 53\nC. 57" --expect B'
EXAMPLES: Mapping[str, str] = {
    "code_repair": ". --model {model}",
    "episodic": "--world maze --episodes 3",
    "tool_recovery": STORES + " --model {model}",
    "preflight": STORES + " --reviewer {other} --model {model}",
    "search_judge": FICTION + " --model {model}",
    "plan_ahead": "--world sudoku",
    "verified_steps": "--world game24 --model {model}",
    "step_beam": "--world game24 --depth 3 --model {model}",
    "correction_memory": QUESTION + " --model {model}",
    "perturb_vote": CHOICE + " --versions 3 --model {model}",
    "round_table": QUESTION + " --seat {other} --model {model}",
    "refined_best_of_n": QUESTION + " --judge {other} --model {model}",
    "side_by_side_judge": QUESTION + " --judge {other} --model {model}",
    "trajectory_factory": "--world game24 --trials 4 --model {model}",
}
"""How each is begun, behind `groundwire run NAME`; those that are not named are asked a question."""


def example(graph: str, *, model: str = MODEL, other: str = OTHER) -> str:
    """A command that runs a graph as it stands, in any folder; `code_repair` in a project's.

    Args:
        graph: of the library.
        model: the model that writes.
        other: a second one, where the graph wants it.
    """
    told = EXAMPLES.get(graph, QUESTION + " --model {model}").format(model=model, other=other)
    return f"groundwire run {graph} {told}"
