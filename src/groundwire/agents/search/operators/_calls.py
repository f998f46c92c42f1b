"""Calls: other functions, methods and attributes, and receivers that trade places with an argument."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import libcst as cst

from groundwire.agents.search._edit_context import EditContext
from groundwire.agents.search._source import Proposal, Site
from groundwire.agents.search.operators._base import Operator, delimited, exchange

_GROUPS = (
    ("min", "max"), ("any", "all"), ("sum", "len", "max", "min"), ("sorted", "list", "set", "reversed", "tuple"),
    ("int", "float", "round", "str", "bool"), ("floor", "ceil", "round", "int", "trunc"), ("append", "extend", "add"),
    ("startswith", "endswith"), ("lower", "upper", "swapcase", "capitalize", "title"), ("strip", "lstrip", "rstrip"),
    ("islower", "isupper", "istitle"), ("isdigit", "isalpha", "isalnum", "isnumeric", "isspace", "isdecimal"),
    ("find", "rfind", "index", "rindex", "count"), ("split", "rsplit", "splitlines"), ("ljust", "rjust", "center"),
    ("keys", "values", "items"), ("intersection", "union", "difference", "symmetric_difference"),
    ("append", "appendleft"), ("pop", "popleft", "remove"), ("remove", "discard", "append"), ("sin", "cos", "tan"),
    ("log", "log2", "log10", "sqrt", "exp"), ("ord", "chr", "int", "str"), ("bin", "hex", "oct", "str"),
    ("range", "enumerate", "len"), ("abs", "round", "int"), ("zip", "zip_longest"), ("get", "pop", "setdefault"),
    ("permutations", "combinations", "product", "combinations_with_replacement"), ("sort", "reverse"),
    ("isinstance", "issubclass"), ("partition", "rpartition"), ("insert", "append"), ("head", "tail"),
    ("first", "last"),
)  # fmt: skip


def _relatives() -> Mapping[str, tuple[str, ...]]:
    table: dict[str, dict[str, None]] = {}
    for group in _GROUPS:
        for name in group:
            table.setdefault(name, {}).update(dict.fromkeys(other for other in group if other != name))
    return {name: tuple(others) for name, others in table.items()}


_RELATIVES = _relatives()


def _function_swap(site: Site, scene: EditContext) -> Iterator[Proposal]:
    func = site.child("func")
    if func is None:
        return
    arguments = len(site.all("args"))
    if isinstance(func.node, cst.Name):
        name = func.node.value
        for position, other in enumerate(_RELATIVES.get(name, ())):
            yield delimited("call.swap", func, other, 0.85**position)
        own = {o.name: None for o in scene.callables if o.least <= arguments <= o.most}
        called = {o: None for o, counts in scene.vocabulary.usage.functions.items() if arguments in counts}
        offered = {name, *_RELATIVES.get(name, ())}
        for position, other in enumerate(o for o in (own | called) if o not in offered):
            yield delimited("call.swap", func, other, 0.4 * 0.97**position)
        for variable in scene.visible(site):
            if variable.kind == "function":
                yield delimited("call.swap", func, variable.name, 0.4)


def _attribute_swap(site: Site, scene: EditContext) -> Iterator[Proposal]:
    attr = site.child("attr")
    if attr is None or not isinstance(attr.node, cst.Name):
        return
    name = attr.node.value
    called = site.slot == "func"
    offered = {name}
    for position, other in enumerate(_RELATIVES.get(name, ()) if called else ()):
        offered.add(other)
        yield delimited("method.swap", attr, other, 0.85**position)
    for other, is_called in scene.vocabulary.attributes.items():
        if other not in offered and is_called == called:
            offered.add(other)
            yield delimited("method.swap" if called else "attribute.swap", attr, other, 0.3 if called else 0.7)


def _receiver(site: Site, scene: EditContext) -> Iterator[Proposal]:
    """`odds.sort()` where `evens.sort()` was meant is name.swap; `f(x)` for `x.f()` and back is here."""
    func, arguments = site.child("func"), site.all("args")
    if func is not None and isinstance(func.node, cst.Attribute) and len(arguments) == 1:
        receiver, argument = func.child("value"), arguments[0].child("value")
        if receiver is not None and argument is not None and not isinstance(func.node.value, cst.SimpleString):
            yield exchange("args.receiver", receiver, argument, scene)


TOKENS = (Operator((cst.Attribute,), _attribute_swap),)
"""What changes one token."""

RULES = (
    *TOKENS,
    Operator((cst.Call,), _function_swap),
    Operator((cst.Call,), _receiver),
)
