"""Objects of classes whose source is at hand."""

from __future__ import annotations

import ast

from groundwire.auditing.knowledge.lookup import class_name, describe
from groundwire.auditing.reading.arguments import Arguments
from groundwire.auditing.reading.attributes import bases, member
from groundwire.auditing.reading.builders import BUILDERS, make_graph
from groundwire.auditing.reading.frames import Effect, Frame
from groundwire.auditing.reading.merging import deep
from groundwire.auditing.reading.reader_protocol import Reader
from groundwire.auditing.taints import Kind, Taint, Taints
from groundwire.auditing.values import (
    Class,
    Const,
    External,
    Function,
    Instance,
    Model,
    Table,
    Tool,
    Value,
    data,
    external,
    unknown,
)
from groundwire.auditing.words import words

__all__ = ["create_instance", "instance_method"]

VALIDATES = words(
    """
    model_validate model_validate_json parse_obj parse_raw validate from_json model_validate_strings schema_load
    """
)
READS_BACK = words(
    """
    model_dump dict json model_dump_json copy model_copy _asdict _replace items values keys get asdict
    """
)
FORM = frozenset({Taint(Kind.FORM, what="validation")})
RUN = {
    "invoke": ("_run", "run", "_get_relevant_documents", "parse", "__call__", "_call", "forward"),
    "ainvoke": (
        "_arun",
        "_run",
        "arun",
        "_aget_relevant_documents",
        "_get_relevant_documents",
        "aparse",
        "parse",
        "__call__",
        "_acall",
    ),
    "run": ("_run", "__call__"),
    "batch": ("invoke", "_run"),
    "abatch": ("ainvoke", "invoke", "_run"),
    "stream": ("invoke",),
    "astream": ("ainvoke", "invoke"),
}


def _library_bases(cls: Class) -> list[str]:
    return [b.thing.path for b in bases(cls) if isinstance(b.thing, External)]


def create_instance(reader: Reader, callee: Value, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    """`Class(…)`."""
    cls = callee.thing
    assert isinstance(cls, Class)
    names = {class_name(p) for p in _library_bases(cls)}
    if names & BUILDERS:
        return make_graph(reader, given, next(iter(names & BUILDERS)), frame.module.place(node), frame)
    if any(describe(p).kind == "model" for p in _library_bases(cls)) or names & {
        "BaseChatModel",
        "SimpleChatModel",
        "LLM",
        "BaseLLM",
    }:
        return Value(Model(cls.node.name))
    made = Instance(cls)
    value = Value(made)
    starter = member(cls, "__init__")
    if starter is not None and isinstance(starter.thing, Function):
        reader.call(reader.attribute(value, "__init__", frame), given, node, frame)
    else:
        _fill(made, given)
        if any("BaseModel" in p or "pydantic" in p for p in _library_bases(cls)):
            frame.risks.add(FORM)
    if member(cls, "__post_init__") is not None:
        reader.call(reader.attribute(value, "__post_init__", frame), Arguments(), node, frame)
    if names & {"BaseTool", "StructuredTool"}:
        run = reader.attribute(value, "_run", frame)
        label = made.attributes.get("name") or member(cls, "name")
        shown = label.thing.value if label is not None and isinstance(label.thing, Const) else cls.node.name
        return Value(Tool(str(shown), run))
    return value


def _fill(made: Instance, given: Arguments) -> None:
    """Fields of a data class: given ones, by place in the order of the annotations, and by name."""
    for name, value in zip(made.of.annotations, given.positional, strict=False):
        made.attributes[name] = value
    made.attributes.update(given.named)
    if given.more is not None:
        for name in made.of.annotations:
            made.attributes.setdefault(name, given.more)


def instance_method(reader: Reader, owner: Value, name: str, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    """A method that the source of the class does not define: of a base class, or of all data classes."""
    cls = owner.thing.of if isinstance(owner.thing, Instance) else owner.thing
    assert isinstance(cls, Class)
    if name in VALIDATES or (name == "load" and given.positional):
        frame.risks.add(FORM)
        return data(given.taints())
    if name in READS_BACK:
        if (
            isinstance(owner.thing, Instance)
            and owner.thing.attributes
            and name in {"model_dump", "dict", "_asdict", "asdict"}
        ):
            return Value(Table(dict(owner.thing.attributes)), owner.taints)
        update = given.get(-1, "update")
        if name in {"model_copy", "copy"} and isinstance(owner.thing, Instance):
            changed = update.thing.entries if update is not None and isinstance(update.thing, Table) else {}
            return Value(
                Instance(cls, {**owner.thing.attributes, **{str(k): v for k, v in changed.items()}}), owner.taints
            )
        return data(deep(owner), given.taints())
    for stand in RUN.get(name, ()):
        if member(cls, stand) is not None:
            return reader.call(reader.attribute(owner, stand, frame), given, node, frame)
    for path in _library_bases(cls):
        known = describe(path)
        if known.kind in {"world", "human"}:
            return reader.call(external(f"{path}().{name}"), given, node, frame)
        if known.kind == "parser":
            frame.risks.add(FORM)
            return data(given.taints())
    return _undefined(owner, cls, name, given, node, frame)


def _undefined(owner: Value, cls: Class, name: str, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    harmless: Taints = deep(owner) | given.taints()
    if all(
        p.split(".")[0] in {"pydantic", "typing", "typing_extensions", "enum", "builtins", "dataclasses", "abc"}
        for p in _library_bases(cls)
    ) and (name in cls.annotations or _library_bases(cls)):
        return data(harmless)
    why = f"{cls.node.name}.{name} is not defined in sight"
    frame.add(Effect(Kind.UNKNOWN, why, f"{cls.node.name}.{name}", frame.module.place(node)))
    return unknown(why)
