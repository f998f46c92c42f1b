"""Import statements: a module beside the target is followed, all others are libraries."""

from __future__ import annotations

import ast
import sys

from groundwire.auditing.reading.frames import Frame
from groundwire.auditing.reading.reader_protocol import Reader
from groundwire.auditing.values import Module, ModuleValue, Scope, Value, const, external

__all__ = ["is_library", "run_import", "run_import_from"]

# never looked for beside the target, so that an audit of their own source sees the same names as any other
ALWAYS_LIBRARIES = frozenset(
    {
        "groundwire",
        "langgraph",
        "langchain",
        "langchain_core",
        "langchain_community",
        "pydantic",
        "typing",
        "__future__",
        "typing_extensions",
    }
)


def is_library(dotted: str) -> bool:
    """True for names that are never somebody's own module."""
    return dotted.split(".")[0] in ALWAYS_LIBRARIES


def run_import(reader: Reader, node: ast.Import, frame: Frame) -> None:
    """`import a.b as c`."""
    for alias in node.names:
        bound = alias.asname or alias.name.split(".")[0]
        wanted = alias.name if alias.asname else bound
        module = reader.import_module(wanted, frame.module)
        if module is None and not is_library(wanted) and reader.finder.is_folder(wanted, importer=frame.module):
            frame.scope.put(bound, external(f"folder:{wanted}"))
        else:
            frame.scope.put(bound, Value(ModuleValue(module)) if module else external(wanted))
        if not alias.asname and "." in alias.name:
            reader.import_module(alias.name, frame.module)


def run_import_from(reader: Reader, node: ast.ImportFrom, frame: Frame) -> None:
    """`from a import b`."""
    dotted = node.module or ""
    module = reader.import_module(dotted, frame.module, node.level) if dotted or node.level else None
    for alias in node.names:
        if alias.name == "*":
            if module is not None and isinstance(module.scope, Scope):
                for name, value in list(module.scope.names.items()):
                    if not name.startswith("_"):
                        frame.scope.put(name, value)
            continue
        frame.scope.put(alias.asname or alias.name, _imported(reader, node, module, alias.name, frame))


def _imported(reader: Reader, node: ast.ImportFrom, module: Module | None, name: str, frame: Frame) -> Value:
    dotted = node.module or ""
    live = _imported_live(reader, node, name)
    if live is not None:
        return live
    if dotted.startswith("langgraph") and name in {"START", "END"}:
        return const("__start__" if name == "START" else "__end__")
    if module is not None:
        found = module.scope.get(name)
        if found is not None:
            return found
    inner = f"{dotted}.{name}" if dotted else name
    if not is_library(dotted):
        submodule = reader.finder.find(inner, importer=frame.module, level=node.level)
        if submodule is not None:
            reader.read_module(submodule)
            return Value(ModuleValue(submodule))
    if module is not None:
        return external(f"missing:{module.name}.{name}")
    prefix = f"{'.' * node.level}{dotted}" if node.level else dotted
    return external(f"missing:{prefix}.{name}" if node.level else f"{dotted}.{name}")


def _imported_live(reader: Reader, node: ast.ImportFrom, name: str) -> Value | None:
    """What the name stands for in a module that is imported already, where live objects are read."""
    if reader.live is None or node.level or not node.module:
        return None
    module = sys.modules.get(node.module)
    held = vars(module).get(name) if module is not None else None
    return reader.live.lift(held) if held is not None else None
