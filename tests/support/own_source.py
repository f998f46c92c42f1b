"""The package's own source, parsed: for tests about what it imports."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

__all__ = ["SOURCE", "foreign_imports", "is_private", "parsed"]

SOURCE = Path(__file__).parents[2] / "src" / "groundwire"
AUDIT = Path(__file__).parents[2] / "packages" / "groundwire-audit" / "src" / "groundwire_audit"
OURS = {SOURCE.name, AUDIT.name}
GUESTS = "_gw_"
"""How our modules that run in the sandbox are called there."""


@cache
def parsed() -> Mapping[str, ast.Module]:
    """Path below the package → its syntax tree; those of `groundwire_audit` begin with that. No demo projects."""
    found = {path.relative_to(SOURCE).as_posix(): path for path in sorted(SOURCE.rglob("*.py"))}
    found |= {path.relative_to(AUDIT.parent).as_posix(): path for path in sorted(AUDIT.rglob("*.py"))}
    return {name: ast.parse(path.read_bytes()) for name, path in found.items() if not name.startswith("demo/projects/")}


def foreign_imports(module: ast.Module) -> Iterator[str]:
    """What is imported, by statement or by name, from elsewhere than the standard library and ourselves."""
    texts = {
        target.id: node.value.value
        for node in module.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(module):
        for name in _imported(node, texts):
            top = name.partition(".")[0]
            if top not in sys.stdlib_module_names and top not in OURS and not top.startswith(GUESTS):
                yield name


def _imported(node: ast.AST, texts: Mapping[str, str]) -> Iterator[str]:
    match node:
        case ast.Import(names=names):
            yield from (alias.name for alias in names)
        case ast.ImportFrom(module=str(module), names=names, level=0):
            yield from (f"{module}.{alias.name}" for alias in names)
        case ast.Call(
            func=ast.Name(id="import_module") | ast.Attribute(value=ast.Name(id="importlib"), attr="import_module"),
            args=[argument, *_],
        ):
            match argument:
                case ast.Constant(value=str(name)):
                    yield name
                case ast.Name(id=variable) if variable in texts:
                    yield texts[variable]
                case ast.JoinedStr(values=[ast.Constant(value=str(head)), *_]) if "." in head:
                    yield head.rpartition(".")[0]
                case _:
                    return
        case _:
            return


def is_private(name: str) -> bool:
    """True for a name that begins with one underscore, as what is nobody else's business does."""
    return name.startswith("_") and name.strip("_") != "" and not (name.startswith("__") and name.endswith("__"))
