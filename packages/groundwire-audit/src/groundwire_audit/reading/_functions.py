"""Calls of functions and classes whose source is at hand."""

from __future__ import annotations

import ast
import re

from groundwire_audit.reading._conditions import ALWAYS, Taint, TaintKind, Taints, all_of, world
from groundwire_audit.reading._frames import Arguments, Effect, Frame, Returned, control, deep, merge
from groundwire_audit.reading._frameworks import declare_class
from groundwire_audit.reading._graph import GraphValue
from groundwire_audit.reading._knowledge import class_name, describe, words
from groundwire_audit.reading._langgraph_calls import BUILDERS, make_graph
from groundwire_audit.reading._members import bases, member
from groundwire_audit.reading._reader import Reader
from groundwire_audit.reading._values import (
    NONE,
    OPAQUE,
    ClassValue,
    Const,
    External,
    FunctionValue,
    Instance,
    Items,
    ModelValue,
    Placeholder,
    Scope,
    Table,
    ToolValue,
    Value,
    data,
    external,
    unknown,
)
from groundwire_audit.reading._working_out import works_out

# Follows a call into a function whose source is at hand, going by annotations where no argument is in sight.

# What a parameter or attribute is, going by its annotation, where no argument is in sight.

FIXED = frozenset({Taint(TaintKind.FIXED)})
DATA = words(
    """
    str int float bool bytes dict list tuple set None date datetime Path Dict List Tuple Set Sequence Iterable
    Mapping Literal object
    """
)
WRAPPERS = frozenset({"Optional", "Annotated", "Required", "NotRequired", "Union", "Final"})
ABSTRACT = frozenset({"Protocol", "ABC", "ABCMeta", "Generic"})
GRAPHS = words(
    """
    StateGraph MessageGraph Graph CompiledStateGraph CompiledGraph CompiledMessageGraph Pregel PregelProtocol
    RemoteGraph Runnable RunnableSerializable RunnableLike
    """
)
"""Whatever is handed in as one of these can do anything."""
MODEL_CLASS = re.compile(r"LLM(Client|Base|Interface|Provider)?$|LanguageModel$|Chat(Model|Client)$|^LLM")
"""What somebody's own class of models is called, which others fill in."""
MODELS = frozenset({"BaseChatModel", "BaseLanguageModel", "BaseLLM", "LLM"})


def stand_in(reader: Reader, function: FunctionValue, parameter: ast.arg, frame: Frame) -> Value:
    """A parameter whose argument is not in sight: what its annotation promises, else unknown."""
    found = _stand_in(reader, function, parameter, frame)
    return Value(Placeholder(parameter.arg), found.taints) if found.thing == OPAQUE else found


def _stand_in(reader: Reader, function: FunctionValue, parameter: ast.arg, frame: Frame) -> Value:
    annotation = parameter.annotation
    if annotation is None:
        default = function.defaults.get(parameter.arg)
        if default is not None and isinstance(default.thing, Const) and default.thing.value is not None:
            return data(frozenset({Taint(TaintKind.FIXED)}))
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
                return Value(ModelValue(class_name(path)))
            if class_name(path) in GRAPHS:
                return hidden
            if known.kind == "unknown" and MODEL_CLASS.search(class_name(path)):
                return Value(ModelValue(class_name(path), inferred=True))
            if known.kind in {"world", "human", "fixed"} or path.startswith(
                ("builtins", "langchain_core.messages", "langgraph")
            ):
                return external(f"{path}()", FIXED)
            return hidden
        case ClassValue() if not any(
            isinstance(b.thing, External) and ABSTRACT.intersection(b.thing.path.split(".")) for b in bases(meant.thing)
        ):
            return Value(Instance(meant.thing), FIXED)
        case ClassValue(node=node) if MODEL_CLASS.search(node.name):
            return Value(ModelValue(node.name, inferred=True))
        case _:
            return hidden


# Follows a call into a function whose source is at hand.


def call_function(reader: Reader, function: FunctionValue, given: Arguments, frame: Frame) -> Value:
    """What the call gives; what it asks is asked in `frame`."""
    if function.node in reader.stack:
        return data(given.taints())  # followed once: helpers that walk trees call themselves at many places
    inner = body_frame(reader, function, given, frame)
    frame.absorb(inner.effects, inner.asked)
    if frame.loop_stack and any(t.kind is TaintKind.MODEL for t in given.taints()):
        frame.worked_out += works_out(function)
    frame.loops += [x for x in inner.loops if x.place not in {y.place for y in frame.loops}]
    frame.nested += inner.nested
    frame.risks |= inner.risks
    if _is_environment_step(function) and not any(e.kind is TaintKind.MODEL for e in inner.effects):
        frame.add(Effect(TaintKind.WORLD, "env", f"{function.name}()", function.module.place(function.node)))
        return data(world("env", function.name))
    if inner.yielded:
        return Value(Items("list", [], data(*(deep(v) for v in inner.yielded))))
    return _result(inner)


def _is_environment_step(function: FunctionValue) -> bool:
    """The step of an environment: a class that can be reset and stepped, whoever wrote it.

    One that asks a model there is no world, but who acts in one.
    """
    holder = function.bound.thing if function.bound is not None else None
    return function.name == "step" and isinstance(holder, Instance) and member(holder.of, "reset") is not None


def _result(inner: Frame) -> Value:
    ways = [(_chosen(r), r.when) for r in inner.returned]
    return merge(ways) if ways else NONE


def _chosen(returned: Returned) -> Value:
    value = returned.value
    return value.with_taints(control(returned.when)) if isinstance(value.thing, Const) else value


def body_frame(reader: Reader, function: FunctionValue, given: Arguments, frame: Frame) -> Frame:
    """Follows a function's body with these arguments."""
    scope = Scope(function.scope)
    inner = Frame(function.module, scope, function.name, frame.depth + 1)
    inner.asked = set()
    _bind(reader, function, given, inner)
    reader.stack.append(function.node)
    try:
        node = function.node
        if isinstance(node, ast.Lambda):
            value = reader.value(node.body, inner)
            inner.returned.append(Returned(value, ALWAYS, frozenset(inner.asked), function.module.place(node)))
        elif reader.run(node.body, inner):
            inner.returned.append(
                Returned(NONE, all_of(inner.conditions), frozenset(inner.asked), function.module.place(node))
            )
    finally:
        reader.stack.pop()
    reader.called.add(function.node)  # and not where it was too much: then it is followed by itself too
    outs = [r.asked for r in inner.returned]
    inner.asked = set(frozenset[Effect].intersection(*outs)) if outs else inner.asked
    return inner


def parameters(function: FunctionValue) -> list[ast.arg]:
    """Positional parameters, without a bound `self`."""
    arguments = function.node.args
    found = [*arguments.posonlyargs, *arguments.args]
    return found[1:] if function.bound is not None else found


def _bind(reader: Reader, function: FunctionValue, given: Arguments, inner: Frame) -> None:
    arguments = function.node.args
    everything = [*arguments.posonlyargs, *arguments.args]
    values = [*([function.bound] if function.bound is not None else []), *given.positional]
    for parameter, value in zip(everything, values, strict=False):
        inner.scope.put(parameter.arg, value)
    left = dict(given.named)
    for parameter in (*everything[len(values) :], *arguments.kwonlyargs):
        if parameter.arg in left:
            inner.scope.put(parameter.arg, left.pop(parameter.arg))
        elif given.more is not None:
            inner.scope.put(parameter.arg, given.more)
        elif parameter.arg in function.defaults:
            inner.scope.put(parameter.arg, function.defaults[parameter.arg])
        else:
            inner.scope.put(parameter.arg, stand_in(reader, function, parameter, inner))
    if arguments.vararg is not None:
        extra = values[len(everything) :]
        inner.scope.put(arguments.vararg.arg, Value(Items("tuple", extra, given.more)))
    if arguments.kwarg is not None:
        inner.scope.put(arguments.kwarg.arg, Value(Table({**left}, given.more)))


# Objects of classes whose source is at hand.

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
FORM = frozenset({Taint(TaintKind.FORM, what="validation")})
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
    "__call__": ("forward",),
    "batch": ("invoke", "_run"),
    "abatch": ("ainvoke", "invoke", "_run"),
    "stream": ("invoke",),
    "astream": ("ainvoke", "invoke"),
}


def _library_bases(cls: ClassValue) -> list[str]:
    return [b.thing.path for b in bases(cls) if isinstance(b.thing, External)]


CLIENTS = frozenset({"openai", "anthropic", "mistralai", "groq", "cohere", "together"})


def _is_built_upon(base: str, cls: ClassValue) -> bool:
    """A class that says in its own source what it does: a program of DSPy, or methods added to a client."""
    library = base.split(".")[0]
    return library in CLIENTS or (library == "dspy" and member(cls, "forward") is not None)


def create_instance(reader: Reader, callee: Value, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    """`Class(…)`."""
    cls = callee.thing
    assert isinstance(cls, ClassValue)
    names = {class_name(p) for p in _library_bases(cls)}
    if names & BUILDERS:
        return make_graph(reader, given, next(iter(names & BUILDERS)), frame.module.place(node), frame)
    declared = declare_class(reader, cls)
    if declared is not None:
        return Value(GraphValue(declared))
    if (
        any(describe(p).kind == "model" and not _is_built_upon(p, cls) for p in _library_bases(cls))
        and "BaseTool" not in names
    ) or names & {
        "BaseChatModel",
        "SimpleChatModel",
        "LLM",
        "BaseLLM",
    }:
        return Value(ModelValue(cls.node.name))
    made = Instance(cls)
    value = Value(made)
    starter = member(cls, "__init__")
    if starter is not None and isinstance(starter.thing, FunctionValue):
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
        return Value(ToolValue(str(shown), run))
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
    assert isinstance(cls, ClassValue)
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


def _undefined(owner: Value, cls: ClassValue, name: str, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    harmless: Taints = deep(owner) | given.taints()
    if all(
        p.split(".")[0] in {"pydantic", "typing", "typing_extensions", "enum", "builtins", "dataclasses", "abc"}
        for p in _library_bases(cls)
    ) and (name in cls.annotations or _library_bases(cls)):
        return data(harmless)
    why = f"{cls.node.name}.{name} is not defined in sight"
    frame.add(Effect(TaintKind.UNKNOWN, why, f"{cls.node.name}.{name}", frame.module.place(node)))
    return unknown(why)
