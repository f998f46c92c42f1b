"""One more of a kind: a class that is asked for, an exception that is caught, a text that is allowed, a branch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import libcst as cst

from groundwire.agents.search._edit_context import EditContext
from groundwire.agents.search._kinds import base
from groundwire.agents.search._precedence import COMPARISON
from groundwire.agents.search._source import Proposal, Replacement, Site
from groundwire.agents.search.operators._base import Operator, delimited, insert, replace
from groundwire.agents.search.operators._exceptions import COMMON, NEAR
from groundwire.agents.search.operators._statements import line_region, nested, own_line, siblings, simple_of

_ALIKE = {"list": "tuple", "tuple": "list", "str": "bytes", "bytes": "str", "int": "float", "float": "int",
          "set": "frozenset", "frozenset": "set", "dict": "list"}  # fmt: skip
_OF_PYTHON = ("@property", "@classmethod", "@staticmethod", "@overload", "@abstractmethod")
MAX_OFFERS = 8
MAX_ELSE = 12


def _one_more(name: str, site: Site, others: Sequence[str], scene: EditContext) -> Iterator[Proposal]:
    """`A` → `(A, B)`, `(A, B)` → `(A, B, C)`."""
    text = scene.source.text(site)
    elements = site.all("elements") if isinstance(site.node, cst.Tuple) else []
    here = {text, *(scene.source.text(e) for e in elements)}
    for position, other in enumerate([o for o in dict.fromkeys(others) if o not in here][:MAX_OFFERS]):
        if elements:
            yield insert(name, elements[-1].end, f", {other}", 0.85**position)
        else:
            yield delimited(name, site, f"({text}, {other})", 0.85**position)


def _asked(site: Site, scene: EditContext) -> Iterator[Proposal]:
    """`isinstance(x, A)` → `isinstance(x, (A, B))`, `s.startswith('a')` → `s.startswith(('a', 'b'))`."""
    func, arguments = site.child("func"), site.all("args")
    if func is None or not arguments:
        return
    last = arguments[-1].child("value")
    match func.node:
        case cst.Name(value="isinstance" | "issubclass") if last is not None and len(arguments) == 2:
            text = scene.source.text(last)
            near = [_ALIKE[text]] if text in _ALIKE else []
            known = [c for c in scene.vocabulary.usage.classes if not c.startswith("(")]
            yield from _one_more("alternative.class", last, [*near, *known, "str", "int", "list", "dict"], scene)
        case cst.Attribute(attr=cst.Name(value="startswith" | "endswith")) if last is not None:
            yield from _one_more("alternative.text", last, _texts_like(last, scene), scene)
        case _:
            pass


def _texts_like(site: Site, scene: EditContext) -> list[str]:
    if not isinstance(site.node, cst.SimpleString) or not isinstance(site.node.evaluated_value, str):
        return []
    now = site.node.evaluated_value
    if isinstance(site.parent and site.parent.node, cst.Element):
        return []
    return [repr(text) for text in scene.vocabulary.strings(now) if text != now and abs(len(text) - len(now)) <= 4]


def _caught(site: Site, scene: EditContext) -> Iterator[Proposal]:
    """`except KeyError` → `except (KeyError, IndexError)`."""
    what = site.child("type")
    if what is None:
        return
    first = scene.source.text(what.all("elements")[0] if isinstance(what.node, cst.Tuple) and what.children else what)
    near = [NEAR[first]] if first in NEAR else []
    yield from _one_more(
        "alternative.exception", what, [*near, *COMMON[:6], "OSError", *scene.vocabulary.usage.exceptions], scene
    )


def _equal(site: Site, scene: EditContext) -> Iterator[Proposal]:
    """`x == 'a'` → `x in ('a', 'b')`."""
    targets, left = site.all("comparisons"), site.child("left")
    sign = targets[0].child("operator") if len(targets) == 1 else None
    right = targets[0].child("comparator") if len(targets) == 1 else None
    if left is None or sign is None or right is None or not isinstance(sign.node, (cst.Equal, cst.NotEqual)):
        return
    word = "in" if isinstance(sign.node, cst.Equal) else "not in"
    for position, other in enumerate(_texts_like(right, scene)[:MAX_OFFERS]):
        text = f"{scene.source.text(left)} {word} ({scene.source.text(right)}, {other})"
        yield replace("alternative.text", site, text, COMPARISON, 0.85**position)


def _else(site: Site, scene: EditContext) -> Iterator[Proposal]:
    """An `if` whose last statement sets something gets an `else` that sets it too, or that leaves."""
    body = site.child("body")
    inside = [s for s in body.children if s.is_statement] if body is not None else []
    if site.child("orelse") is not None or not inside or not scene.source.is_first_on_line(inside[-1]):
        return
    outer = site
    while outer.slot == "orelse" and outer.parent is not None:
        outer = outer.parent
    if not scene.source.is_first_on_line(outer):
        return
    small, last = simple_of(inside[-1]), inside[-1]
    offers: list[str] = []
    set_here = [s.all("body")[0].all("targets")[0] for s in inside if isinstance(simple_of(s), cst.Assign)]
    if isinstance(small, cst.Assign) and len(small.targets) == 1:
        value = last.all("body")[0].child("value")
        head = scene.source.text(last.all("body")[0].all("targets")[0])
        known = {v.name for v in scene.visible(site)}
        parts = [s for s in value.walk() if s is not value and s.is_expression] if value is not None else []
        texts = [scene.source.text(p) for p in parts if not isinstance(p.node, cst.Name) or p.node.value in known]
        plain = {"str": ["''"], "list": ["[]"], "int": ["0"], "bool": ["False", "True"]}
        empty = plain.get(base(scene.kind(value)), ["None", "''", "[]"]) if value is not None else ["None"]
        offers = [f"{head} = {t}" for t in dict.fromkeys((*(t for t in texts if "\n" not in t), "None", *empty))]
    elif isinstance(small, cst.Expr):
        block = siblings(site)
        offers = [scene.source.text(s) for s in block[block.index(site) + 1 :][:1] if simple_of(s)] if block else []
    if len(offers) < 2:
        heads = dict.fromkeys(scene.source.text(target) for target in set_here)
        offers += [f"{head} = {t}" for head in list(heads)[:2] for t in ("None", "''", "[]", "0", "False")]
    loops = any(isinstance(a.node, (cst.For, cst.While)) and a.function is site.function for a in site.above())
    offers += ["continue", "break"] if loops else []
    offers += ["return None", "return False"] if site.function is not None else []
    indent, inner, newline = scene.source.indent(outer), nested(site, scene), scene.source.newline
    _, end = line_region(site, scene)
    for position, line in enumerate(o for o in offers[:MAX_ELSE] if "\n" not in o):
        text = f"{indent}else:{newline}{inner}{line}{newline}"
        yield Proposal("branch.add_else", (Replacement(end, end, own_line(end, text, scene)),), 0.85**position)


def _decorator(site: Site, scene: EditContext) -> Iterator[Proposal]:
    """`def f(cls)` in a class → `@classmethod`; without `self`, `@staticmethod`; with nothing else, `@property`."""
    owner = site.parent.parent if site.parent is not None else None
    node = site.node
    if not isinstance(node, cst.FunctionDef) or node.decorators or not scene.source.is_first_on_line(site):
        return
    start = scene.source.line_start(site.line)
    for name in scene.vocabulary.unread:
        yield insert("decorator.add", start, f"{scene.source.indent(site)}@{name}{scene.source.newline}")
    if owner is None or not isinstance(owner.node, cst.ClassDef) or node.name.value.startswith("__"):
        return
    methods = site.parent.children if site.parent is not None else []
    theirs = (scene.source.text(d) for method in methods for d in method.all("decorators"))
    known = Counter(text for text in theirs if text[1:].isidentifier() and text not in _OF_PYTHON)
    for text, count in known.most_common(2):
        if count > 1:
            yield insert("decorator.add", start, f"{scene.source.indent(site)}{text}{scene.source.newline}", 0.3)
    first = node.params.params[0].name.value if node.params.params else ""
    alone = len(node.params.params) == 1 and not node.params.kwonly_params
    properties = b"@property" in scene.source.data
    name, likely = {"cls": ("classmethod", 1.0), "self": ("property", 0.3 if properties else 0.1)}.get(
        first, ("staticmethod", 1.0)
    )
    if name != "property" or alone:
        yield insert("decorator.add", start, f"{scene.source.indent(site)}@{name}{scene.source.newline}", likely)


RULES = (
    Operator((cst.Call,), _asked),
    Operator((cst.ExceptHandler,), _caught),
    Operator((cst.Comparison,), _equal),
    Operator((cst.If,), _else),
    Operator((cst.FunctionDef,), _decorator),
)
