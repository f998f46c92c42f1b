"""What an attribute, key or item of a value stands for; lists, sets and dicts that are written out or joined."""

from __future__ import annotations

import ast

from groundwire_audit.reading._conditions import Taint, TaintKind, Taints, Test, drawn, when
from groundwire_audit.reading._frames import Arguments, Frame, deep, merge
from groundwire_audit.reading._graph import GraphValue
from groundwire_audit.reading._knowledge import words
from groundwire_audit.reading._reader import Reader
from groundwire_audit.reading._values import (
    OPAQUE,
    Bound,
    Choice,
    ClassValue,
    Const,
    External,
    FunctionValue,
    Handle,
    Instance,
    Items,
    ModuleValue,
    Opaque,
    Scope,
    StateValue,
    Table,
    ToolNodeValue,
    ToolValue,
    Value,
    const,
    data,
    external,
)

# What an attribute stands for.

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
        case ClassValue():
            return _of_class(owner, name)
        case Choice(options=choices):
            kept = [(v, f) for v, f in choices if not (isinstance(v.thing, Const) and v.thing.value is None)]
            return merge([(attribute(reader, v, name, frame), f) for v, f in kept]).with_taints(_asks(name))
        case Handle(attributes=attributes):
            return attributes.get(name) or Value(Bound(owner, name), owner.taints)
        case GraphValue(graph=graph) if name == "handoffs" and graph.handoffs is not None:
            return Value(graph.handoffs)
        case StateValue():
            is_key = name in owner.thing.annotations or name not in STATE_METHODS
            return read_key(owner.thing, name) if is_key else Value(Bound(owner, name))
        case FunctionValue(name=own) if name in {"__name__", "name"}:
            return const(own)
        case ToolValue(label=label) if name in {"name", "__name__"}:
            return const(label)
        case ToolValue(action=action) if name in {"func", "coroutine"} and action is not None:
            return action
        case ToolNodeValue(tools=tools) if name == "tools_by_name" and tools is not None:
            return data()
        case Opaque():
            return Value(Bound(owner, name), under(_of_reply(owner.taints, name), name) | _asks(name))
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
    return frozenset({Taint(TaintKind.ASK)}) if name in ASKS else frozenset()


def read_key(state: StateValue, name: str) -> Value:
    """A key of the state: what was written in place, else what other nodes left there."""
    if name in state.written:
        return state.written[name]
    state.read.add(name)
    taints = frozenset({Taint(TaintKind.KEY, name)})
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
    return external(f"{path}.{name}", _of_reply(taints, name) | _asks(name))


REPLIES = words(
    """
    choices message messages content text output output_text outputs final_output raw response responses reply data
    delta completion completions parts candidates result generations value body chunk
    """
)
"""Where the objects that clients give back hold the reply as a whole; any other attribute is a field of it."""


def _of_reply(taints: Taints, name: str) -> Taints:
    return taints if name in REPLIES else drawn(taints)


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
    if isinstance(found.thing, FunctionValue):
        return _bind(reader, found, owner, frame)
    if isinstance(found.thing, Const) and _is_settings(instance.of):
        return data(owner.taints, GIVEN)  # the environment has the last word, not the default
    return found.with_taints(owner.taints)


GIVEN = frozenset({Taint(TaintKind.FIXED)})


def _is_settings(cls: ClassValue) -> bool:
    return any(isinstance(b.thing, External) and b.thing.path.endswith("BaseSettings") for b in bases(cls))


def _bind(reader: Reader, found: Value, owner: Value, frame: Frame) -> Value:
    function = found.thing
    assert isinstance(function, FunctionValue)
    if function.kind == "static":
        return found
    bound = Value(
        FunctionValue(
            function.node,
            function.module,
            function.scope,
            bound=Value(owner.thing.of) if function.kind == "class" and isinstance(owner.thing, Instance) else owner,
            name=function.name,
            defaults=function.defaults,
        )
    )
    return reader.call(bound, Arguments(), function.node, frame) if function.kind == "property" else bound


def _undeclared(reader: Reader, owner: Value, cls: ClassValue, name: str, frame: Frame) -> Value:
    """An attribute that is only annotated, or comes from a base class of a library."""
    for one in line_of(cls):
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
    assert isinstance(cls, ClassValue)
    if name == "__name__":
        return const(cls.node.name)
    found = member(cls, name)
    if found is None:
        return Value(Bound(owner, name), owner.taints)
    if isinstance(found.thing, FunctionValue) and found.thing.kind == "class":
        function = found.thing
        return Value(
            FunctionValue(
                function.node, function.module, function.scope, owner, name=function.name, defaults=function.defaults
            )
        )
    return found


def line_of(cls: ClassValue, depth: int = 0) -> list[ClassValue]:
    line = [cls]
    if depth < 12:
        for base in cls.bases:
            if isinstance(base.thing, ClassValue):
                line += line_of(base.thing, depth + 1)
    return line


def member(cls: ClassValue, name: str) -> Value | None:
    """What a class or its bases define under a name."""
    return next((c.members[name] for c in line_of(cls) if name in c.members), None)


def bases(cls: ClassValue) -> list[Value]:
    """All bases, near ones first."""
    return [b for c in line_of(cls) for b in c.bases]


# Lists, tuples, sets, dicts and what is taken out of them.

MAX_ENTRIES = 24
GROW = frozenset({Taint(TaintKind.GROW)})
SHRINK = frozenset({Taint(TaintKind.SHRINK)})
ASK = frozenset({Taint(TaintKind.ASK)})


def read_items(reader: Reader, node: ast.List | ast.Tuple | ast.Set, frame: Frame) -> Value:
    """A list, tuple or set as it is written."""
    held: list[Value] = []
    rest: list[Taints] = []
    for element in node.elts:
        value = reader.value(element, frame)
        if isinstance(element, ast.Starred):
            if isinstance(value.thing, Items):
                held += value.thing.items
                if value.thing.rest is not None:
                    rest.append(deep(value.thing.rest))
            else:
                rest.append(deep(value))
        else:
            held.append(value)
    kind = {ast.List: "list", ast.Tuple: "tuple", ast.Set: "set"}[type(node)]
    grown = GROW if rest and held else frozenset[Taint]()
    return Value(Items(kind, held, data(*rest) if rest else None), grown)


def read_table(reader: Reader, node: ast.Dict, frame: Frame) -> Value:
    """A dict as it is written."""
    made = Table()
    rest: list[Taints] = []
    for key, element in zip(node.keys, node.values, strict=True):
        value = reader.value(element, frame)
        if key is None:
            if isinstance(value.thing, Table):
                made.entries.update(value.thing.entries)
                made.whole_state |= value.thing.whole_state
                if value.thing.rest is not None:
                    rest.append(deep(value.thing.rest))
            elif isinstance(value.thing, StateValue):
                made.whole_state = True
                made.entries.update(value.thing.written)
            else:
                rest.append(deep(value))
            continue
        name = reader.value(key, frame)
        if isinstance(name.thing, Const):
            made.entries[name.thing.value] = value
        else:
            rest.append(deep(value))
    made.rest = data(*rest) if rest else None
    return Value(made)


def merged_tables(left: Value, right: Value) -> Value:
    """`a | b` of two dicts."""
    first, second = left.thing, right.thing
    assert isinstance(first, Table)
    assert isinstance(second, Table)
    rests = [r for r in (first.rest, second.rest) if r is not None]
    made = Table({**first.entries, **second.entries}, data(*(r.taints for r in rests)) if rests else None)
    made.whole_state = first.whole_state or second.whole_state
    return Value(made, left.taints | right.taints)


def concatenated(left: Value, right: Value) -> Value:
    """`a + b` of two lists, of which at least one is known."""
    if isinstance(left.thing, Items) and isinstance(right.thing, Items):
        rests = [r for r in (left.thing.rest, right.thing.rest) if r is not None]
        rest = data(*(r.taints for r in rests)) if rests else None
        return Value(Items("list", [*left.thing.items, *right.thing.items], rest), left.taints | right.taints)
    known, other = (left, right) if isinstance(left.thing, Items) else (right, left)
    assert isinstance(known.thing, Items)
    rest = data(deep(other), *([known.thing.rest.taints] if known.thing.rest else []))
    return Value(Items("list", list(known.thing.items), rest), GROW | known.taints)


def subscript(reader: Reader, node: ast.Subscript, frame: Frame) -> Value:
    """`a[b]`."""
    owner = reader.value(node.value, frame)
    if isinstance(node.slice, ast.Slice):
        return _slice(reader, owner, node.slice, frame)
    key = reader.value(node.slice, frame)
    return of_key(owner, key)


def of_key(owner: Value, key: Value) -> Value:
    """What lies under a key or place."""
    name = key.thing.value if isinstance(key.thing, Const) else None
    match owner.thing:
        case StateValue():
            if isinstance(name, str):
                return read_key(owner.thing, name)
            root = Taint(TaintKind.LAST, "*") if name == -1 else Taint(TaintKind.KEY, "*")
            return data(frozenset({root}))
        case Table(entries=entries, rest=rest):
            if isinstance(key.thing, Const) and name in entries:
                return entries[name].with_taints(owner.taints)
            if isinstance(key.thing, Const):
                return (_of_rest(rest, key) if rest is not None else data()).with_taints(owner.taints)
            asked = frozenset(t for t in deep(key) if t.kind is TaintKind.ASK)
            return _any_entry(entries, rest, key).with_taints(owner.taints | asked)
        case Items(items=held, rest=rest) if isinstance(name, int) and held and (rest is None or name in {0, -1}):
            inside = -len(held) <= name < len(held)
            return held[name].with_taints(owner.taints) if inside else data(deep(owner))
        case Items():
            return owner.thing.any_item().with_taints(owner.taints | key.taints)
        case Choice(options=choices):
            return merge([(of_key(v, key), f) for v, f in choices])
        case Instance(attributes=attributes) if isinstance(name, str) and name in attributes:
            return attributes[name]
        case ClassValue() | GraphValue():
            return owner
        case External(path=path) if "()" not in path and (
            path.startswith(("typing", "langgraph", "collections", "builtins")) or path.endswith(GENERIC)
        ):
            return owner if path.rsplit(".", 1)[-1] not in WRAPPERS else _annotated(key)
        case External(path=path):
            held = _taken(deep(owner), name)
            held = _of_reply(held, name) if isinstance(name, str) else held
            return Value(External(f"{path}[]") if "()" in path else OPAQUE, held | key.taints)
        case _:
            return data(_taken(deep(owner), name), frozenset(t for t in deep(key) if t.kind is not TaintKind.FIXED))


def _of_rest(rest: Value, key: Value) -> Value:
    """A key that is not among the known ones: what it was in the dict that these were added to."""
    return of_key(rest, key) if isinstance(rest.thing, Opaque) and rest.taints else rest


GENERIC = (".Agent", ".BaseNode", ".Graph", ".Flow", ".Workflow", ".GraphRunContext", ".RunContext", ".End")
"""Classes of other frameworks that are written with their types: `Flow[State]`."""
WRAPPERS = frozenset({"Annotated", "Optional", "Required", "NotRequired", "ReadOnly"})


def _annotated(key: Value) -> Value:
    return key.thing.items[0] if isinstance(key.thing, Items) and key.thing.items else key


def _any_entry(entries: dict[object, Value], rest: Value | None, key: Value) -> Value:
    if len(entries) > MAX_ENTRIES:
        return data(deep(key), *(deep(v) for v in entries.values()))
    tests = [
        (value, when(Test(deep(key), op="==", text=f"key is {name!r}", constant=True)))
        for name, value in entries.items()
    ]
    if rest is not None:
        tests.append((rest, when(Test(deep(key), op="==", text="another key"))))
    return merge(tests) if tests else data(deep(key))


def _taken(taints: Taints, name: object) -> Taints:
    """The last item of a list in the state is its own source; a key of calls asked for is the model's asking."""
    if name == -1:
        return frozenset(Taint(TaintKind.LAST, t.detail) if t.kind is TaintKind.KEY else t for t in taints)
    if name in {"tool_calls", "function_call"}:
        return taints | ASK
    return under(taints, name) if isinstance(name, str) else taints


MAX_PATH = 3


def under(taints: Taints, name: str) -> Taints:
    """Sources of one key or attribute of a thing out of the state: `plan` has become `plan.steps`."""
    return frozenset(
        Taint(TaintKind.KEY, f"{t.detail}.{name}")
        if t.kind is TaintKind.KEY and t.detail != "*" and t.detail.count(".") < MAX_PATH
        else t
        for t in taints
    )


def shrunk(value: Value) -> Value:
    """The same list with an item less."""
    listed = any(t.kind in {TaintKind.KEY, TaintKind.FIXED} for t in deep(value))
    return data(deep(value), SHRINK if listed else frozenset[Taint]())


def _slice(reader: Reader, owner: Value, part: ast.Slice, frame: Frame) -> Value:
    bounds = [reader.value(b, frame) if b is not None else None for b in (part.lower, part.upper)]
    lower, upper = (b.thing.value if b is not None and isinstance(b.thing, Const) else b for b in bounds)
    if isinstance(owner.thing, StateValue):
        owner = data(frozenset({Taint(TaintKind.KEY, "*")}))
    if isinstance(owner.thing, Items) and owner.thing.rest is None:
        try:
            return Value(Items(owner.thing.kind, owner.thing.items[lower:upper]), owner.taints)  # type: ignore[misc] # Value bounds raise TypeError
        except TypeError:
            return Value(Items(owner.thing.kind, [], owner.thing.any_item()), owner.taints)
    if isinstance(lower, int) and lower < 0:
        return data(_taken(deep(owner), -1))
    if (isinstance(lower, int) and lower > 0) or isinstance(lower, Value) or upper == -1:
        return shrunk(owner)
    return data(deep(owner))
