"""What an expression stands for."""

from __future__ import annotations

import ast
import builtins
import operator
from collections.abc import Callable
from typing import Any

from groundwire_audit.reading._binding import comprehend
from groundwire_audit.reading._conditions import (
    ALWAYS,
    NEVER,
    Formula,
    Taint,
    TaintKind,
    Test,
    all_of,
    any_of,
    counts,
    join,
    negate,
    when,
)
from groundwire_audit.reading._frames import Arguments, Frame, boolean, deep, merge, options, truth, wording
from groundwire_audit.reading._graph import GraphValue
from groundwire_audit.reading._members import attribute, concatenated, merged_tables, read_items, read_table, subscript
from groundwire_audit.reading._reader import Reader
from groundwire_audit.reading._values import (
    ChainValue,
    Choice,
    Const,
    External,
    FunctionValue,
    Items,
    ModelValue,
    Opaque,
    Placeholder,
    StateValue,
    Table,
    ToolValue,
    Value,
    const,
    data,
    external,
    unknown,
)

# Comparisons, as truth values whose sources are kept apart on both sides.

SIGNS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
}
CONSTANT: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "is": operator.eq,
    "is not": operator.ne,
}
OPPOSITES = {"!=": "==", "is not": "is", "not in": "in"}


def compare(reader: Reader, node: ast.Compare, frame: Frame) -> Value:
    """`a < b`, `a in b`, `a < b < c`."""
    left = reader.value(node.left, frame)
    parts: list[Formula] = []
    for op, right_node in zip(node.ops, node.comparators, strict=True):
        right = reader.value(right_node, frame)
        parts.append(holds(left, SIGNS[type(op)], right, wording(node, frame)))
        left = right
    return boolean(all_of(parts))


def holds(left: Value, op: str, right: Value, text: str) -> Formula:
    """When a comparison is true. `!=` is the opposite of `==`, so that both are one test."""
    if op in OPPOSITES:
        return negate(holds(left, OPPOSITES[op], right, text))
    found: list[Formula] = []
    for one, first in options(left):
        for other, second in options(right):
            found.append(all_of([first, second, _single(one, op, other, text)]))
    return any_of(found)


def _single(left: Value, op: str, right: Value, text: str) -> Formula:
    if isinstance(left.thing, Const) and isinstance(right.thing, Const) and op != "in":
        return _constant(left.thing.value, op, right.thing.value)
    if op == "in":
        member = _in_known(left, right)
        if member is not None:
            return member
    if op == "in" and isinstance(left.thing, Const) and _is_parsed(right):
        # whether a key is there at all is the form of the reply
        return when(Test(frozenset({Taint(TaintKind.FORM, what=text)}), text=text))
    if op in {"is", "=="} and _is_none(right) and not isinstance(left.thing, Const | Opaque):
        return negate(truth(left, text))
    if op in {"is", "=="} and isinstance(right.thing, Const) and isinstance(right.thing.value, bool):
        said = truth(left, text)
        return said if right.thing.value else negate(said)
    if isinstance(right.thing, Const) and _asks_for_tool(left, right.thing.value, text):
        asks = when(Test(frozenset({Taint(TaintKind.ASK)}), text=text))
        return asks if right.thing.value in ASKING else negate(asks)
    if isinstance(right.thing, StateValue) and isinstance(left.thing, Const):
        return when(Test(frozenset({Taint(TaintKind.KEY, str(left.thing.value))}), op="in", text=text, constant=True))
    return when(
        Test(
            deep(left),
            deep(right),
            op=op,
            text=text,
            limit=_number(right) if _number(right) is not None else _number(left),
            constant=isinstance(right.thing, Const) or isinstance(left.thing, Const) or _all_const(right),
        )
    )


PARSED = (".loads()", ".safe_load()", ".literal_eval()", "parse_json_markdown()")


def _is_parsed(value: Value) -> bool:
    """A reply as a whole, just parsed: a dict of keys, most likely."""
    return isinstance(value.thing, External) and value.thing.path.endswith(PARSED)


ASKING = frozenset({"tool_use", "tool_calls", "function_call"})
FINISHED = frozenset({"end_turn", "stop", "stop_sequence"})


def _asks_for_tool(left: Value, said: object, text: str) -> bool:
    """`reply.stop_reason == "tool_use"`: the model asks for a tool; `== "end_turn"`: it does not."""
    if not any(t.kind is TaintKind.MODEL for t in left.taints):
        return False
    return said in ASKING or (said in FINISHED and ("stop_reason" in text or "finish_reason" in text))


def _constant(left: object, op: str, right: object) -> Formula:
    try:
        return ALWAYS if CONSTANT[op](left, right) else NEVER
    except TypeError:
        return NEVER


def _in_known(left: Value, right: Value) -> Formula | None:
    """Membership of a constant in constants."""
    if not isinstance(left.thing, Const):
        return None
    match right.thing:
        case Items(items=held, rest=None) if all(isinstance(i.thing, Const) for i in held):
            return ALWAYS if any(i.thing == left.thing for i in held) else NEVER
        case Table(entries=entries, rest=None, whole_state=False):
            return ALWAYS if left.thing.value in entries else NEVER
        case Const(value=str(text)) if isinstance(left.thing.value, str):
            return ALWAYS if left.thing.value in text else NEVER
        case _:
            return None


def _is_none(value: Value) -> bool:
    return isinstance(value.thing, Const) and value.thing.value is None


def _number(value: Value) -> float | None:
    held = value.thing.value if isinstance(value.thing, Const) else None
    return float(held) if isinstance(held, int | float) and not isinstance(held, bool) else None


def _all_const(value: Value) -> bool:
    return (
        isinstance(value.thing, Items)
        and value.thing.rest is None
        and all(isinstance(i.thing, Const) for i in value.thing.items)
    )


BUILTINS = frozenset(dir(builtins))
MAX_CONST = 10_000
MAX_NAME = 80
FOLDED: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Mod: operator.mod,
}


def evaluate(reader: Reader, node: ast.expr, frame: Frame) -> Value:
    """What an expression stands for; never raises on strange source."""
    match node:
        case ast.Constant(value=value):
            return const(value) if isinstance(value, str | int | float | bool | bytes | None) else data()
        case ast.Name(id=name):
            return _name(name, frame)
        case ast.Attribute(value=owner, attr=name):
            return attribute(reader, reader.value(owner, frame), name, frame)
        case ast.Call():
            return _call(reader, node, frame)
        case ast.Subscript():
            return subscript(reader, node, frame)
        case ast.List() | ast.Tuple() | ast.Set():
            return read_items(reader, node, frame)
        case ast.Dict():
            return read_table(reader, node, frame)
        case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
            return comprehend(reader, node, frame)
        case ast.BoolOp():
            return _bool(reader, node, frame)
        case ast.Compare():
            return compare(reader, node, frame)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return boolean(negate(reader.truth(operand, frame)))
        case ast.UnaryOp(op=op, operand=operand):
            return _unary(op, reader.value(operand, frame))
        case ast.BinOp(left=left, op=op, right=right):
            return binary(reader.value(left, frame), op, reader.value(right, frame))
        case ast.IfExp(test=test, body=body, orelse=other):
            return _either(reader, test, body, other, frame)
        case ast.JoinedStr(values=parts):
            return _joined(reader, parts, frame)
        case ast.FormattedValue(value=inner):
            return reader.value(inner, frame)
        case ast.Lambda():
            return Value(FunctionValue(node, frame.module, frame.scope, name="lambda"))
        case ast.Await(value=inner) | ast.Starred(value=inner):
            return reader.value(inner, frame)
        case ast.NamedExpr(target=target, value=inner):
            value = reader.value(inner, frame)
            frame.scope.put(target.id, value)
            return value
        case ast.Yield(value=inner):
            if inner is not None:
                frame.yielded.append(reader.value(inner, frame))
            return data()
        case ast.YieldFrom(value=inner):
            frame.yielded.append(data(deep(reader.value(inner, frame))))
            return data()
        case _:
            return data()


def _name(name: str, frame: Frame) -> Value:
    found = frame.scope.get(name)
    if found is not None:
        return found
    if name == "__name__":
        return Value()
    if name in {"__file__", "__doc__", "__package__", "__spec__", "__path__"}:
        return data(frozenset({Taint(TaintKind.FIXED)}))
    if name in BUILTINS:
        return external(f"builtins.{name}")
    return unknown(f"{name} is not defined in sight")


def _call(reader: Reader, node: ast.Call, frame: Frame) -> Value:
    callee = reader.value(node.func, frame)
    match node.args:
        case [ast.BinOp(left=left, op=ast.Sub(), right=right)] if callee.thing in DISTANCES:
            return _distance(reader.value(left, frame), reader.value(right, frame), wording(node, frame))
        case _:
            pass
    return reader.call(callee, arguments_of(reader, node, frame), node, frame)


DISTANCES = (External("builtins.abs"), External("math.fabs"), External("numpy.abs"), External("numpy.absolute"))


def _distance(left: Value, right: Value, text: str) -> Value:
    """How far one value is from another: worked out by code, whatever its parts were."""
    test = Test(
        deep(left),
        deep(right),
        op="distance",
        text=text,
        constant=any(isinstance(v.thing, Const) for v in (left, right)),
    )
    return data(frozenset({Taint(TaintKind.COMPARE, what=test.text, test=test)}))


def arguments_of(reader: Reader, node: ast.Call, frame: Frame) -> Arguments:
    """Evaluates the arguments of a call."""
    given = Arguments()
    more: list[Value] = []
    for argument in node.args:
        value = reader.value(argument, frame)
        if isinstance(argument, ast.Starred):
            if isinstance(value.thing, Items) and value.thing.rest is None:
                given.positional += value.thing.items
            else:
                more.append(value)
        else:
            given.positional.append(value)
    for keyword in node.keywords:
        value = reader.value(keyword.value, frame)
        if keyword.arg is not None:
            given.named[keyword.arg] = value
        elif isinstance(value.thing, Table):
            given.named.update({k: v for k, v in value.thing.entries.items() if isinstance(k, str)})
            if value.thing.rest is not None:
                more.append(value.thing.rest)
        else:
            more.append(value)
    given.more = data(*(deep(v) for v in more)) if more else None
    return given


def _bool(reader: Reader, node: ast.BoolOp, frame: Frame) -> Value:
    """`and`, `or`: a condition where truth values meet, else one of the operands."""
    is_and = isinstance(node.op, ast.And)
    ways: list[tuple[Value, Formula]] = []
    passed: list[Formula] = []
    for operand in node.values:
        value = reader.value(operand, frame)
        holds = truth(value, wording(operand, frame))
        stops = negate(holds) if is_and else holds
        last = operand is node.values[-1]
        ways.append((value, all_of([*passed, *([] if last else [stops])])))
        passed.append(negate(stops))
    if all(_is_condition(v) for v, _ in ways):
        combine = all_of if is_and else any_of
        return boolean(combine(truth(v, wording(n, frame)) for (v, _), n in zip(ways, node.values, strict=True)))
    return merge(ways)


def _is_condition(value: Value) -> bool:
    return _is_plain(value) or (isinstance(value.thing, Const) and isinstance(value.thing.value, bool))


def _is_plain(value: Value) -> bool:
    match value.thing:
        case Choice(options=choices):
            return all(isinstance(v.thing, Const) and isinstance(v.thing.value, bool) for v, _ in choices)
        case Opaque():
            return not any(t.kind is TaintKind.UNKNOWN for t in value.taints)
        case _:
            return False


def _unary(op: ast.unaryop, operand: Value) -> Value:
    if isinstance(op, ast.USub) and isinstance(operand.thing, Const) and isinstance(operand.thing.value, int | float):
        return const(-operand.thing.value, operand.taints)
    return data(deep(operand))


def binary(left: Value, op: ast.operator, right: Value) -> Value:
    """An arithmetic or joining operation."""
    if isinstance(left.thing, Const) and isinstance(right.thing, Const):
        folded = _fold(left.thing.value, op, right.thing.value)
        if folded is not None:
            return const(folded, left.taints | right.taints)
    if isinstance(op, ast.BitOr):
        if any(isinstance(v.thing, RUNS) for v in (left, right)):
            return Value(ChainValue((*_parts(left), *_parts(right))))
        if isinstance(left.thing, Table) and isinstance(right.thing, Table):
            return merged_tables(left, right)
    if isinstance(op, ast.Add) and (isinstance(left.thing, Items) or isinstance(right.thing, Items)):
        return concatenated(left, right)
    if isinstance(left.thing, External) and left.thing.path.startswith("pathlib.") and isinstance(op, ast.Div):
        return left
    if isinstance(op, ast.Sub | ast.BitAnd | ast.BitXor) and (_is_set(left) or _is_set(right)):
        test = Test(deep(left), deep(right), op="==", text="what one has and the other has not")
        return data(frozenset({Taint(TaintKind.COMPARE, what=test.text, test=test)}))
    if isinstance(op, ast.Add) and Placeholder in {type(left.thing), type(right.thing)}:
        named = _placeholder([left, right])
        if named is not None and not _counts_up(left, right):
            return Value(named, left.taints | right.taints)
    taints = deep(left) | deep(right)
    if isinstance(op, ast.Mod) and not _is_text(left):
        remainder = Test(taints, op="%", text="a remainder")
        return data(frozenset({Taint(TaintKind.COMPARE, what=remainder.text, test=remainder)}))
    if isinstance(op, ast.Add | ast.Sub) and _counts_up(left, right):
        taints |= {Taint(TaintKind.COUNTER)}
    return data(taints)


RUNS = (ModelValue, ChainValue, External, FunctionValue, GraphValue, ToolValue)


def _parts(value: Value) -> tuple[Value, ...]:
    return value.thing.parts if isinstance(value.thing, ChainValue) else (value,)


def _is_text(value: Value) -> bool:
    return isinstance(value.thing, Const) and isinstance(value.thing.value, str | bytes)


def _is_set(value: Value) -> bool:
    match value.thing:
        case Items(kind="set"):
            return True
        case External(path=path):
            return path in {"collections.Counter()", "builtins.set()", "builtins.frozenset()"}
        case _:
            return False


def _counts_up(left: Value, right: Value) -> bool:
    return any(
        isinstance(step.thing, Const) and isinstance(step.thing.value, int) and counts(other.taints)
        for step, other in ((left, right), (right, left))
    )


def _fold(left: object, op: ast.operator, right: object) -> str | int | float | None:
    fold = FOLDED.get(type(op))
    numbers = isinstance(left, int | float) and isinstance(right, int | float)
    texts = isinstance(left, str) and isinstance(right, str) and isinstance(op, ast.Add)
    if fold is None or not (numbers or texts) or (isinstance(left, int | float) and abs(left) > MAX_CONST):
        return None
    try:
        result: object = fold(left, right)
    except (ArithmeticError, ValueError, TypeError):
        return None
    small = not isinstance(result, str) or len(result) <= MAX_CONST
    return result if isinstance(result, str | int | float) and small else None


def _either(reader: Reader, test: ast.expr, body: ast.expr, other: ast.expr, frame: Frame) -> Value:
    holds = reader.truth(test, frame)
    with frame.under(holds):
        first = reader.value(body, frame)
    with frame.under(negate(holds)):
        second = reader.value(other, frame)
    return merge([(first, holds), (second, negate(holds))])


def _joined(reader: Reader, parts: list[ast.expr], frame: Frame) -> Value:
    values = [reader.value(p, frame) for p in parts]
    texts = [str(v.thing.value) for v in values if isinstance(v.thing, Const)]
    if len(texts) == len(values):
        return const("".join(texts)[:MAX_CONST])
    named = _placeholder(values)
    taints = join(deep(v) for v in values)
    return data(taints) if named is None else Value(named, taints)


def _placeholder(parts: list[Value]) -> Placeholder | None:
    """The name of a text that is put together of placeholders and constants."""
    names = [_name_in(v) for v in parts]
    return Placeholder("".join(n for n in names if n is not None)[:MAX_NAME]) if None not in names else None


def _name_in(value: Value) -> str | None:
    match value.thing:
        case Placeholder(name=name):
            return f"{{{name}}}"
        case Const(value=held):
            return str(held)
        case _:
            return None
