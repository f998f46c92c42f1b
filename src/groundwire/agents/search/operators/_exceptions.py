"""Exceptions: another one is caught or raised, and refusals of bad arguments that were forgotten."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from groundwire.agents.search._edit_context import EditContext
from groundwire.agents.search._source import Proposal, Site
from groundwire.agents.search.operators._base import Operator, delimited, insert
from groundwire.agents.search.operators._logic import conditions
from groundwire.agents.search.operators._statements import line_region, siblings, step

COMMON = ("ValueError", "TypeError", "KeyError", "IndexError", "AttributeError", "StopIteration", "RuntimeError",
           "LookupError", "NotImplementedError", "OSError", "Exception")  # fmt: skip
NEAR = {"KeyError": "IndexError", "IndexError": "KeyError", "ValueError": "TypeError", "TypeError": "ValueError"}
MAX_CONDITIONS = 15


def _kind(site: Site, scene: EditContext) -> Iterator[Proposal]:
    """`except KeyError` → `except IndexError`, `raise TypeError` → `raise ValueError`."""
    what = site.child("exc" if isinstance(site.node, cst.Raise) else "type")
    own = tuple(scene.vocabulary.usage.exceptions)
    for inner in what.walk() if what is not None else ():
        if not isinstance(inner.node, cst.Name) or not inner.node.value[:1].isupper():
            continue
        name = inner.node.value
        near = (NEAR[name],) if name in NEAR else ()
        for position, other in enumerate(o for o in dict.fromkeys((*near, *own, *COMMON)) if o != name):
            yield delimited("except.kind", inner, other, 0.8**position)


def _refusal(site: Site, scene: EditContext) -> Iterator[Proposal]:
    """`if condition: raise ValueError` before the first statement of a function that does something."""
    function = site.function
    if function is None or site.parent is None or site.parent.parent is not function:
        return
    block = [s for s in siblings(site) if not _is_text(s)]
    if not block or block[0] is not site or not scene.source.is_first_on_line(site):
        return
    start, _ = line_region(site, scene)
    indent, newline = scene.source.indent(site), scene.source.newline
    own = tuple(scene.vocabulary.usage.exceptions)[:3]
    for text, weight in conditions(site, scene)[:MAX_CONDITIONS]:
        for position, name in enumerate(dict.fromkeys((*own, *COMMON[:2]))):
            guard = f"{indent}if {text}:{newline}{indent}{step(scene)}raise {name}{newline}"
            yield insert("raise.early", start, guard, weight * 0.8**position)


def _is_text(site: Site) -> bool:
    match site.node:
        case cst.SimpleStatementLine(body=[cst.Expr(value=cst.SimpleString() | cst.ConcatenatedString())]):
            return True
        case _:
            return False


RULES = (
    Operator((cst.Raise, cst.ExceptHandler), _kind),
    Operator((cst.SimpleStatementLine, cst.If, cst.For, cst.While, cst.With, cst.Try), _refusal),
)
