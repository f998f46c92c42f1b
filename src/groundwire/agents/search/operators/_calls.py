"""Calls: other functions, methods and attributes, and receivers that trade places with an argument."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import libcst as cst

from groundwire.agents.search._edit_context import EditContext
from groundwire.agents.search._habits import counterparts
from groundwire.agents.search._source import Proposal, Replacement, Site
from groundwire.agents.search.operators._base import Operator, delimited, exchange, insert

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
    ("first", "last"), ("match", "search", "fullmatch"), ("findall", "finditer"), ("update", "setdefault"),
    ("dumps", "dump"), ("loads", "load"), ("encode", "decode"), ("read", "readline", "readlines"), ("group", "groups"),
    ("isfile", "isdir", "exists"), ("is_file", "is_dir", "exists"), ("group", "start", "end", "span"),
    ("copy", "deepcopy"), ("total_seconds", "seconds"), ("stem", "name", "suffix"), ("lstrip", "removeprefix"),
    ("rstrip", "removesuffix"), ("__name__", "__class__", "__qualname__", "__module__", "__dict__", "__doc__"),
    ("items", "iteritems"), ("chain", "from_iterable"), ("extend", "update"), ("start", "stop", "step"),
    ("real", "imag"),
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
    for position, other in enumerate(_RELATIVES.get(name, ())):
        offered.add(other)
        yield delimited("method.swap" if called else "attribute.swap", attr, other, 0.85**position)
    known = _members_around(site, scene)
    holder = site.child("value")
    same = scene.vocabulary.usage.attributes.get(scene.source.text(holder), {}) if holder is not None else {}
    for other, is_called in {**same, **scene.vocabulary.attributes}.items():
        if other not in offered and is_called == called:
            offered.add(other)
            own = 1.0 if other in same or (known is not None and other in known) else 0.3 if known else 0.5
            yield delimited("method.swap" if called else "attribute.swap", attr, other, own * (0.3 if called else 0.7))


def _members_around(site: Site, scene: EditContext) -> frozenset[str] | None:
    """What the object of an attribute has, where it is `self` and its class is known."""
    if not isinstance(site.node, cst.Attribute) or not isinstance(site.node.value, cst.Name):
        return None
    owner = next((a for a in site.above() if isinstance(a.node, cst.ClassDef)), None)
    return scene.habits.members(owner) if owner is not None and site.node.value.value == "self" else None


def _receiver(site: Site, scene: EditContext) -> Iterator[Proposal]:
    """`odds.sort()` where `evens.sort()` was meant is name.swap; `f(x)` for `x.f()` and back is here."""
    func, arguments = site.child("func"), site.all("args")
    if func is not None and isinstance(func.node, cst.Attribute) and len(arguments) == 1:
        receiver, argument = func.child("value"), arguments[0].child("value")
        if receiver is not None and argument is not None and not isinstance(func.node.value, cst.SimpleString):
            yield exchange("args.receiver", receiver, argument, scene)


MAX_AGAIN = 6


def _again(site: Site, scene: EditContext) -> Iterator[Proposal]:
    """`s.replace('[', '_')` → `s.replace('[', '_').replace(']', '_')`: a step of a chain that lacks its other half."""
    func, arguments = site.child("func"), site.all("args")
    if func is None or not isinstance(func.node, cst.Attribute) or not isinstance(site.node, cst.Call):
        return
    method, text = func.node.attr.value, scene.source.text(site)
    chained = any(isinstance(s.node, cst.Attribute) and s.node.attr.value == method for s in _next_steps(site, func))
    value = arguments[0].child("value") if arguments else None
    if value is None or not isinstance(value.node, cst.SimpleString):
        return
    now = value.node.evaluated_value
    if not isinstance(now, str) or (not chained and not any(counterparts(now))):
        return
    start, end = arguments[0].start - site.start, arguments[0].end - site.start
    data = text.encode()
    head, tail = f".{method}(", data[end:].decode()
    others = dict.fromkeys((*counterparts(now), *(scene.vocabulary.strings(now) if chained else ())))
    fresh = [o for o in others if f"{head}{o!r}" not in text.replace('"', "'")]
    for position, other in enumerate(o for o in fresh[:MAX_AGAIN] if len(o) <= 2 * len(now) + 1):
        step = data[func.end - site.start : start].decode()
        likely = 1.0 if other in set(counterparts(now)) else 0.3
        yield insert("call.again", site.end, f".{method}{step}{other!r}{tail}", likely * 0.9**position)


def _next_steps(site: Site, func: Site) -> Iterator[Site]:
    """The steps of a chain before and after a call."""
    receiver = func.child("value")
    if receiver is not None and isinstance(receiver.node, cst.Call):
        yield from receiver.all("func")
    if site.slot == "value" and site.parent is not None:
        yield site.parent


def _same_attribute(site: Site, scene: EditContext) -> Iterator[Proposal]:
    """`self.a < other.b` → `self.c < other.c`: two objects are compared by different things."""
    left = site.child("left")
    targets = site.all("comparisons")
    right = targets[0].child("comparator") if len(targets) == 1 else None
    owner = next((a for a in site.above() if isinstance(a.node, cst.ClassDef)), None)
    if left is None or right is None or owner is None:
        return
    match left.node, right.node:
        case cst.Attribute(value=cst.Name(), attr=cst.Name(value=a)), cst.Attribute(value=cst.Name(), attr=b) if (
            a != b.value
        ):
            sides = [attr for side in (left, right) if (attr := side.child("attr")) is not None]
            wrong = scene.habits.lacks(left) or scene.habits.lacks(right)
            for position, name in enumerate(sorted(scene.habits.members(owner) or ())):
                if not name.startswith("__") or not name.endswith("__"):
                    splices = tuple(Replacement(s.start, s.end, name) for s in sides)
                    yield Proposal("attribute.both", splices, (1.0 if wrong else 0.3) * 0.98**position)
        case _:
            return


TOKENS = (Operator((cst.Attribute,), _attribute_swap),)
"""What changes one token."""

RULES = (
    *TOKENS,
    Operator((cst.Call,), _function_swap),
    Operator((cst.Call,), _receiver),
    Operator((cst.Call,), _again),
    Operator((cst.Comparison,), _same_attribute),
)
