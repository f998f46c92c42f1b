"""What an attribute stands for."""

from __future__ import annotations

from groundwire.auditing.reading.arguments import Arguments
from groundwire.auditing.reading.frames import Frame
from groundwire.auditing.reading.merging import deep, merge
from groundwire.auditing.reading.reader_protocol import Reader
from groundwire.auditing.taints import Kind, Taint, Taints
from groundwire.auditing.values import (
    Bound,
    Choice,
    Class,
    Const,
    External,
    Function,
    Instance,
    ModuleValue,
    Opaque,
    Scope,
    State,
    Tool,
    ToolNode,
    Value,
    const,
    data,
    external,
)

__all__ = ["ASKS", "attribute", "bases", "member", "read_key"]

ASKS = frozenset({"tool_calls", "invalid_tool_calls", "function_call", "tool_call_chunks"})


def attribute(reader: Reader, owner: Value, name: str, frame: Frame) -> Value:
    """`owner.name`."""
    match owner.thing:
        case ModuleValue(module=module):
            found = module.scope.get(name)
            if found is not None:
                return found
            inner = reader.import_module(f"{module.name}.{name}", frame.module)
            return Value(ModuleValue(inner)) if inner else external(f"missing:{module.name}.{name}")
        case External(path=path):
            return _of_external(reader, path, name, owner.taints, frame)
        case Instance():
            return _of_instance(reader, owner, name, frame)
        case Class():
            return _of_class(owner, name)
        case Choice(options=choices):
            kept = [(v, f) for v, f in choices if not (isinstance(v.thing, Const) and v.thing.value is None)]
            return merge([(attribute(reader, v, name, frame), f) for v, f in kept]).with_taints(_asks(name))
        case State():
            return read_key(owner.thing, name) if name not in STATE_METHODS else Value(Bound(owner, name))
        case Function(name=own) if name in {"__name__", "name"}:
            return const(own)
        case Tool(label=label) if name in {"name", "__name__"}:
            return const(label)
        case Tool(action=action) if name in {"func", "coroutine"} and action is not None:
            return action
        case ToolNode(tools=tools) if name == "tools_by_name" and tools is not None:
            return data()
        case Opaque():
            return Value(Bound(owner, name), owner.taints | _asks(name))
        case Const(value=value) if name == "value":
            return const(value, owner.taints)
        case Bound():
            return Value(Bound(data(owner.taints), name), owner.taints | _asks(name))
        case _:
            return Value(Bound(owner, name), owner.taints)


STATE_METHODS = frozenset(
    {"get", "keys", "values", "items", "copy", "model_dump", "dict", "model_copy", "update", "pop", "setdefault"}
)


def _asks(name: str) -> Taints:
    return frozenset({Taint(Kind.ASK)}) if name in ASKS else frozenset()


def read_key(state: State, name: str) -> Value:
    """A key of the state: what was written in place, else what other nodes left there."""
    if name in state.written:
        return state.written[name]
    state.read.add(name)
    taints = frozenset({Taint(Kind.KEY, name)})
    annotation = state.annotations.get(name)
    if annotation is not None and state.resolve is not None:
        meant = state.resolve(annotation)
        if isinstance(meant.thing, External) and not meant.thing.path.startswith(
            ("typing", "builtins", "langchain_core")
        ):
            return Value(External(f"{meant.thing.path}()"), taints)
    return data(taints)


def _of_external(reader: Reader, path: str, name: str, taints: Taints, frame: Frame) -> Value:
    if path.startswith("folder:"):
        dotted = f"{path.removeprefix('folder:')}.{name}"
        module = reader.import_module(dotted, frame.module)
        if module is not None:
            return Value(ModuleValue(module))
        return external(f"folder:{dotted}")
    if path.startswith("langgraph") and name in {"START", "END"}:
        return const("__start__" if name == "START" else "__end__")
    return external(f"{path}.{name}", taints | _asks(name))


def _of_instance(reader: Reader, owner: Value, name: str, frame: Frame) -> Value:
    instance = owner.thing
    assert isinstance(instance, Instance)
    if name in instance.attributes:
        return instance.attributes[name].with_taints(owner.taints)
    if instance.missing is not None:
        found = instance.missing(name)
        if found is not None:
            return found
    found = member(instance.of, name)
    if found is None:
        return _undeclared(reader, owner, instance.of, name, frame)
    if isinstance(found.thing, Function):
        return _bind(reader, found, owner, frame)
    return found.with_taints(owner.taints)


def _bind(reader: Reader, found: Value, owner: Value, frame: Frame) -> Value:
    function = found.thing
    assert isinstance(function, Function)
    if function.kind == "static":
        return found
    bound = Value(
        Function(
            function.node,
            function.module,
            function.scope,
            bound=Value(owner.thing.of) if function.kind == "class" and isinstance(owner.thing, Instance) else owner,
            name=function.name,
            defaults=function.defaults,
        )
    )
    return reader.call(bound, Arguments(), function.node, frame) if function.kind == "property" else bound


def _undeclared(reader: Reader, owner: Value, cls: Class, name: str, frame: Frame) -> Value:
    """An attribute that is only annotated, or comes from a base class of a library."""
    for one in _line(cls):
        annotation = one.annotations.get(name)
        if annotation is not None:
            meant = reader.value(annotation, Frame(one.module, Scope(one.scope), depth=frame.depth))
            if isinstance(meant.thing, External) and not meant.thing.path.startswith(("typing", "builtins")):
                return external(f"{meant.thing.path}()", owner.taints)
            return data(owner.taints | deep(owner))
    for base in bases(cls):
        if isinstance(base.thing, External):
            return Value(Bound(owner, name), owner.taints)
    return Value(Bound(owner, name), owner.taints)


def _of_class(owner: Value, name: str) -> Value:
    cls = owner.thing
    assert isinstance(cls, Class)
    if name == "__name__":
        return const(cls.node.name)
    found = member(cls, name)
    if found is None:
        return Value(Bound(owner, name), owner.taints)
    if isinstance(found.thing, Function) and found.thing.kind == "class":
        function = found.thing
        return Value(
            Function(
                function.node, function.module, function.scope, owner, name=function.name, defaults=function.defaults
            )
        )
    return found


def _line(cls: Class, depth: int = 0) -> list[Class]:
    line = [cls]
    if depth < 12:
        for base in cls.bases:
            if isinstance(base.thing, Class):
                line += _line(base.thing, depth + 1)
    return line


def member(cls: Class, name: str) -> Value | None:
    """What a class or its bases define under a name."""
    return next((c.members[name] for c in _line(cls) if name in c.members), None)


def bases(cls: Class) -> list[Value]:
    """All bases, near ones first."""
    return [b for c in _line(cls) for b in c.bases]
