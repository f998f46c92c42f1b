"""What a parameter or attribute is, going by its annotation, where no argument is in sight."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from groundwire.auditing.knowledge.lookup import class_name, describe
from groundwire.auditing.reading.attributes import bases
from groundwire.auditing.reading.frames import Frame
from groundwire.auditing.taints import Kind, Taint
from groundwire.auditing.values import Class, Const, External, Function, Instance, Model, Value, data, external, unknown
from groundwire.auditing.words import words

if TYPE_CHECKING:
    from groundwire.auditing.reading.reader import Reader

__all__ = ["of_annotation", "stand_in"]

FIXED = frozenset({Taint(Kind.FIXED)})
DATA = words(
    """
    str int float bool bytes dict list tuple set None date datetime Path Dict List Tuple Set Sequence Iterable
    Mapping Literal object
    """
)
WRAPPERS = frozenset({"Optional", "Annotated", "Required", "NotRequired", "Union", "Final"})
ABSTRACT = frozenset({"Protocol", "ABC", "ABCMeta", "Generic"})
MODELS = frozenset({"BaseChatModel", "BaseLanguageModel", "BaseLLM", "LLM"})


def stand_in(reader: Reader, function: Function, parameter: ast.arg, frame: Frame) -> Value:
    """A parameter whose argument is not in sight: what its annotation promises, else unknown."""
    annotation = parameter.annotation
    if annotation is None:
        default = function.defaults.get(parameter.arg)
        if default is not None and isinstance(default.thing, Const) and default.thing.value is not None:
            return data(frozenset({Taint(Kind.FIXED)}))
        return unknown(f"argument {parameter.arg} of {function.name} is not in sight")
    return of_annotation(reader, annotation, f"argument {parameter.arg} of {function.name}", frame)


def of_annotation(reader: Reader, annotation: ast.expr, what: str, frame: Frame) -> Value:
    """What something is, going by its annotation; unknown where that does not say."""
    hidden = unknown(f"{what} is not in sight")
    match annotation:
        case ast.Constant(value=str(text)):
            try:
                return of_annotation(reader, ast.parse(text, mode="eval").body, what, frame)
            except (SyntaxError, ValueError):
                return hidden
        case ast.BinOp(op=ast.BitOr(), left=left):
            return of_annotation(reader, left, what, frame)
        case ast.Subscript(value=ast.Name(id=name) | ast.Attribute(attr=name), slice=inner):
            if name in WRAPPERS:
                first = inner.elts[0] if isinstance(inner, ast.Tuple) and inner.elts else inner
                return of_annotation(reader, first, what, frame)
            return data(FIXED) if name in DATA else hidden
        case ast.Name(id=name) if name in DATA:
            return data(FIXED)
        case ast.Name() | ast.Attribute():
            return _of_class(reader.value(annotation, frame), hidden)
        case _:
            return hidden


def _of_class(meant: Value, hidden: Value) -> Value:
    match meant.thing:
        case External(path=path):
            known = describe(path)
            if known.kind == "model" or class_name(path) in MODELS:
                return Value(Model(class_name(path)))
            if known.kind in {"world", "human", "fixed"} or path.startswith(
                ("builtins", "langchain_core.messages", "langgraph")
            ):
                return external(f"{path}()", FIXED)
            return hidden
        case Class() if not any(
            isinstance(b.thing, External) and ABSTRACT.intersection(b.thing.path.split(".")) for b in bases(meant.thing)
        ):
            return Value(Instance(meant.thing), FIXED)
        case _:
            return hidden
