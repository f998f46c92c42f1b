"""Pages that are made of the code: the commands, the public names, the examples, and what was measured."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import typer
from typer.cli import get_docs_for_click
from typer.main import get_command

ROOT = Path(__file__).parents[2]
PACKAGES = (
    "groundwire", "groundwire.agents", "groundwire.benchmarks", "groundwire.core", "groundwire.evaluation",
    "groundwire.graphs", "groundwire.integrations.gated", "groundwire.integrations.harbor",
    "groundwire.integrations.inspect", "groundwire.integrations.rl", "groundwire.logs", "groundwire.memory",
    "groundwire.models", "groundwire.sandbox", "groundwire.telemetry", "groundwire.tools", "groundwire.training",
    "groundwire_audit",
)  # fmt: skip
"""The public pages of the code."""


def pages() -> dict[str, str]:
    """Path below the docs folder → Markdown."""
    made = {**_commands(), **_python(), **_examples(), **_results()}
    made["reference/index.md"] = _index(made)
    return made


def _index(made: Mapping[str, str]) -> str:
    lines = ["# Reference", "", "Made of the code's own docstrings and help texts.", "", "## Python", ""]
    for package in PACKAGES:
        first = (importlib.import_module(package).__doc__ or "").partition("\n")[0]
        lines.append(f"- [`{package}`](python/{package}.md): {first}")
    lines += ["", "## Commands", ""]
    for path, text in made.items():
        if path.startswith("reference/cli/"):
            name = path.removeprefix("reference/cli/").removesuffix(".md")
            said = next((line for line in text.splitlines()[1:] if line.strip()), "")
            lines.append(f"- [`groundwire {name}`](cli/{name}.md): {said}")
    return "\n".join(lines) + "\n"


# Commands, from typer.


def _commands() -> dict[str, str]:
    from groundwire.cli.commands import app

    group: Any = get_command(app)
    context = typer.Context(group, info_name="groundwire")
    return {
        f"reference/cli/{name}.md": _command(group.get_command(context, name), context, name)
        for name in group.list_commands(context)
    }


def _command(command: Any, context: Any, name: str) -> str:
    text = get_docs_for_click(obj=command, ctx=context, name=f"groundwire {name}", call_prefix="")
    lines: list[str] = []
    for line in text.replace("\b\nExamples:\n", "Examples:\n\n").splitlines():
        if line.startswith("  groundwire "):
            lines.append(f"  {line}")  # an example, as code
            continue
        # help texts are plain: what looks like a tag or a rule of Markdown is no such thing
        fenced = line.startswith(("```", "$ ", "# ", "## ", "### ", "* `"))
        lines.append(line if fenced else re.sub(r"<(?=[a-zA-Z/])", "&lt;", line))
    title = re.sub(r"^# `?(.*?)`?$", r"# groundwire " + name, lines[0]) if lines else f"# groundwire {name}"
    return "\n".join([title, *lines[1:]]) + "\n"


# Public names, from their docstrings.


def _python() -> dict[str, str]:
    return {f"reference/python/{package}.md": _package(package) for package in PACKAGES}


def _package(package: str) -> str:
    module = importlib.import_module(package)
    names = sorted(module.__all__, key=lambda name: (not name[0].isupper(), name.casefold()))
    doc = inspect.cleandoc(module.__doc__ or "")
    lines = [f"# {package}", "", doc.partition("\n\n")[0], ""]
    for name in names:
        lines += [f"::: {package}.{name}", ""]
    return "\n".join(lines)


def plain_reference(package: str) -> str:
    """The same page without a renderer: each name, its signature and its docstring."""
    module = importlib.import_module(package)
    lines = [f"# {package}", "", inspect.cleandoc(module.__doc__ or ""), ""]
    for name in sorted(module.__all__):
        value = getattr(module, name)
        lines += [f"## {name}", ""]
        if callable(value):
            with suppress(TypeError, ValueError):
                lines += ["```python", f"{name}{inspect.signature(value)}", "```", ""]
        if isinstance(value, type) or inspect.isfunction(value):
            lines += [inspect.cleandoc(value.__doc__ or ""), ""]
    return "\n".join(lines)


# Examples, each with its own words on top.


def _examples() -> dict[str, str]:
    made: dict[str, str] = {}
    index = ["# Examples", "", "Each is a program of its own that CI runs as it stands.", ""]
    for path in sorted((ROOT / "examples").glob("*.py")):
        source = path.read_text()
        doc = ast.get_docstring(ast.parse(source)) or path.stem
        first = doc.partition("\n\n")[0].replace("\n", " ")
        made[f"examples/{path.stem}.md"] = f"# {path.name}\n\n{first}\n\n```python\n{source.strip()}\n```\n"
        index.append(f"- [{path.name}]({path.stem}.md): {first}")
    made["examples/index.md"] = "\n".join(index) + "\n"
    return made


# What was measured: one page a chapter.


def slug(heading: str) -> str:
    """A heading as a file's name."""
    return re.sub(r"[^a-z0-9]+", "-", heading.casefold()).strip("-")[:60].strip("-")


def _results() -> dict[str, str]:
    head, *chapters = re.split(r"^## ", (ROOT / "bench" / "RESULTS.md").read_text(), flags=re.MULTILINE)
    made: dict[str, str] = {}
    title, _, about = head.partition("\n")
    index = [title, about.strip(), "", "Each figure with the program that measures it, all below `bench/`.", ""]
    for chapter in chapters:
        heading, _, body = chapter.partition("\n")
        path = slug(heading)
        index.append(f"- [{heading}]({path}.md)")
        made[f"results/{path}.md"] = f"# {heading}\n{body}"
    made["results/index.md"] = "\n".join(index) + "\n"
    return made
