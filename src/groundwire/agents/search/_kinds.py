"""Light guesses of what kind of value an expression has, to put fitting replacements first.

A kind is a path: `int`, `list`, `list/str`, `dict`; empty where nothing is known. A wrong guess costs rank, not reach.
"""

from __future__ import annotations

from collections.abc import Mapping

import libcst as cst

UNKNOWN = ""
NUMBERS = frozenset({"int", "float", "bool"})
ITERABLES = frozenset({"list", "set", "tuple", "str", "dict", "iter"})

CALL_KINDS: Mapping[str, str] = {
    "len": "int", "int": "int", "ord": "int", "hash": "int", "id": "int", "float": "float", "str": "str", "chr": "str",
    "repr": "str", "bin": "str", "hex": "str", "oct": "str", "format": "str", "input": "str", "bool": "bool",
    "any": "bool", "all": "bool", "isinstance": "bool", "issubclass": "bool", "hasattr": "bool", "callable": "bool",
    "list": "list", "sorted": "list", "set": "set", "frozenset": "set", "dict": "dict", "tuple": "tuple",
    "range": "iter/int", "enumerate": "iter/tuple", "zip": "iter/tuple", "map": "iter", "filter": "iter",
    "reversed": "iter", "type": "type", "Counter": "dict", "defaultdict": "dict", "OrderedDict": "dict",
    "deque": "list",
    **dict.fromkeys(
        ("chain", "from_iterable", "islice", "cycle", "repeat", "accumulate", "takewhile", "dropwhile", "compress",
         "starmap", "zip_longest", "pairwise", "product", "permutations", "combinations", "groupby"), "iter"),
}  # fmt: skip
METHOD_KINDS: Mapping[str, str] = {
    **dict.fromkeys(
        ("lower", "upper", "strip", "lstrip", "rstrip", "replace", "join", "title", "capitalize", "swapcase", "format",
         "zfill", "center", "ljust", "rjust", "casefold", "decode", "hexdigest", "isoformat"), "str"),
    **dict.fromkeys(("split", "rsplit", "splitlines", "readlines"), "list/str"),
    **dict.fromkeys(("find", "rfind", "index", "rindex", "count", "bit_length"), "int"),
    **dict.fromkeys(
        ("startswith", "endswith", "isdigit", "isalpha", "isalnum", "isupper", "islower", "isspace", "isnumeric",
         "isdecimal", "istitle", "isidentifier", "issubset", "issuperset", "isdisjoint", "exists", "is_file"), "bool"),
    **dict.fromkeys(("keys", "values", "items"), "iter"),
    **dict.fromkeys(("union", "intersection", "difference", "symmetric_difference"), "set"),
    **dict.fromkeys(
        ("append", "extend", "insert", "sort", "reverse", "remove", "clear", "update", "add", "discard"), "none"),
    **dict.fromkeys(("sqrt", "pow", "fabs", "log", "log2", "log10", "sin", "cos", "exp"), "float"),
    **dict.fromkeys(("floor", "ceil", "gcd", "factorial", "isqrt"), "int"),
}  # fmt: skip
RECEIVERS: Mapping[str, str] = {
    **dict.fromkeys(("append", "extend", "insert", "sort", "reverse"), "list"),
    **dict.fromkeys(
        ("lower", "upper", "strip", "split", "replace", "join", "startswith", "endswith", "isdigit"), "str"
    ),
    **dict.fromkeys(("keys", "values", "items", "get", "setdefault"), "dict"),
    **dict.fromkeys(("add", "discard", "union", "intersection", "difference"), "set"),
}
"""Method → kind of what it is called on."""


def base(kind: str) -> str:
    """The kind without its elements: `list` of `list/str`."""
    return kind.split("/", 1)[0]


def element(kind: str) -> str:
    """The kind of its elements; unknown where it has none."""
    head, _, rest = kind.partition("/")
    return rest or ("str" if head == "str" else UNKNOWN)


def fit(wanted: str, offered: str) -> float:
    """How well a value of one kind takes the place of another, 0 to 1."""
    a, b = base(wanted), base(offered)
    if not a or not b:
        return 0.5
    if a == b:
        inner_a, inner_b = element(wanted), element(offered)
        return 1.0 if not inner_a or not inner_b or base(inner_a) == base(inner_b) else 0.4
    if a in NUMBERS and b in NUMBERS:
        # an int can stand for a float, but where the kinds are known it is the less likely choice
        return 0.2 if "bool" in (a, b) else 0.5
    if a in ITERABLES and b in ITERABLES:
        return 0.3 if "iter" not in (a, b) else 0.6
    return 0.06


def value_kind(value: object) -> str:
    """The kind of a Python value (a literal read from a test)."""
    if value is None:
        return "none"
    name = type(value).__name__
    if isinstance(value, (list, tuple, set, frozenset)):
        items: list[object] = list(value)  # pyright: ignore[reportUnknownArgumentType]  # elements of any type
        inner = {value_kind(item) for item in items}
        return f"{'set' if 'set' in name else name}/{inner.pop()}" if len(inner) == 1 else name
    return name


_ANNOTATIONS: Mapping[str, str] = {
    "List": "list", "Set": "set", "Dict": "dict", "Tuple": "tuple", "Sequence": "list", "Iterable": "iter",
    "Iterator": "iter", "Mapping": "dict", "FrozenSet": "set", "frozenset": "set", "Any": "", "object": "",
    "int": "int", "float": "float", "str": "str", "bool": "bool", "list": "list", "dict": "dict", "set": "set",
    "tuple": "tuple", "bytes": "bytes",
}  # fmt: skip


def annotation_kind(node: cst.BaseExpression | None) -> str:
    """The kind that an annotation names."""
    match node:
        case cst.Name(value=name):
            return _ANNOTATIONS.get(name, UNKNOWN)
        case cst.Attribute(attr=cst.Name(value=name)):
            return _ANNOTATIONS.get(name, UNKNOWN)
        case cst.SimpleString():
            return _ANNOTATIONS.get(node.raw_value, UNKNOWN)
        case cst.Subscript(value=value, slice=parts):
            outer = annotation_kind(value)
            first = parts[0].slice
            inner = annotation_kind(first.value) if isinstance(first, cst.Index) else UNKNOWN
            if isinstance(value, cst.Name) and value.value == "Optional":
                return inner
            return f"{outer}/{inner}" if outer and outer != "dict" and inner else outer
        case _:
            return UNKNOWN


def kind_of(node: cst.CSTNode, names: Mapping[str, str], calls: Mapping[str, str]) -> str:
    """The kind of an expression.

    Args:
        node: the expression.
        names: kinds of the variables in scope.
        calls: kinds that the file's own functions return.
    """
    match node:
        case cst.Name(value=name):
            return {"True": "bool", "False": "bool", "None": "none"}.get(name) or names.get(name, UNKNOWN)
        case cst.Integer():
            return "int"
        case cst.Float():
            return "float"
        case cst.SimpleString() | cst.FormattedString() | cst.ConcatenatedString():
            return "str"
        case cst.Comparison():
            return "bool"
        case cst.UnaryOperation(operator=operator, expression=inner):
            return "bool" if isinstance(operator, cst.Not) else kind_of(inner, names, calls)
        case cst.BooleanOperation():
            return kind_of(node.right, names, calls)
        case cst.BinaryOperation():
            return _binary(node, names, calls)
        case cst.IfExp():
            return kind_of(node.body, names, calls) or kind_of(node.orelse, names, calls)
        case cst.Call():
            return _call(node, names, calls)
        case cst.Subscript():
            return _subscript(node, names, calls)
        case cst.List() | cst.Set() | cst.Tuple():
            inner = {kind_of(e.value, names, calls) for e in node.elements}
            name = type(node).__name__.lower()
            only = inner.pop() if len(inner) == 1 else UNKNOWN
            return f"{name}/{only}" if only else name
        case cst.ListComp() | cst.SetComp() | cst.GeneratorExp():
            inner_kind = kind_of(node.elt, names, calls)
            name = {"ListComp": "list", "SetComp": "set"}.get(type(node).__name__, "iter")
            return f"{name}/{inner_kind}" if inner_kind else name
        case cst.Dict() | cst.DictComp():
            return "dict"
        case cst.Lambda():
            return "function"
        case _:
            return UNKNOWN


def _binary(node: cst.BinaryOperation, names: Mapping[str, str], calls: Mapping[str, str]) -> str:
    left, right = kind_of(node.left, names, calls), kind_of(node.right, names, calls)
    if isinstance(node.operator, cst.Divide):
        return "float" if base(left) in NUMBERS or not left else left
    if isinstance(node.operator, cst.Modulo) and base(left) == "str":
        return "str"
    for kind in ("str", "list", "set", "tuple"):
        if kind in (base(left), base(right)):
            return left if base(left) == kind else right
    if "float" in (left, right):
        return "float"
    return left if left in NUMBERS else right


def _call(node: cst.Call, names: Mapping[str, str], calls: Mapping[str, str]) -> str:
    if isinstance(node.func, cst.Attribute):
        method = node.func.attr.value
        if method == "copy":
            return kind_of(node.func.value, names, calls)
        return METHOD_KINDS.get(method) or CALL_KINDS.get(method, UNKNOWN)
    if not isinstance(node.func, cst.Name):
        return UNKNOWN
    name = node.func.value
    first = kind_of(node.args[0].value, names, calls) if node.args else UNKNOWN
    if name in ("abs", "round", "sum", "min", "max"):
        return (element(first) or first if base(first) in ITERABLES else first) or (
            "int" if name == "round" else UNKNOWN
        )
    if name in ("sorted", "list", "set", "tuple", "reversed", "filter") and element(first):
        return f"{base(CALL_KINDS[name])}/{element(first)}"
    return calls.get(name) or CALL_KINDS.get(name, UNKNOWN)


def _subscript(node: cst.Subscript, names: Mapping[str, str], calls: Mapping[str, str]) -> str:
    whole = kind_of(node.value, names, calls)
    if isinstance(node.slice[0].slice, cst.Slice):
        return whole
    return "str" if whole == "str" else element(whole)
