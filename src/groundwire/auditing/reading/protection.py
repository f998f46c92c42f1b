"""`try` and `with`: what an exception on the way would say."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from groundwire.auditing.conditions import ALWAYS, Formula, Test, all_of, negate, when
from groundwire.auditing.reading.arguments import Arguments
from groundwire.auditing.reading.assignment import assign
from groundwire.auditing.reading.branching import Way, follow, join_ways
from groundwire.auditing.reading.frames import Frame
from groundwire.auditing.reading.merging import text_of
from groundwire.auditing.reading.reader_protocol import Reader
from groundwire.auditing.taints import Kind, Taint, Taints, join
from groundwire.auditing.values import External, Instance, Value, data

__all__ = ["run_try", "run_with"]

FORM = frozenset({Taint(Kind.FORM, what="exception")})
ABOUT_FORM = (
    "Decode",
    "Validation",
    "Parser",
    "YAMLError",
    "ValueError",
    "KeyError",
    "TypeError",
    "SyntaxError",
    "IndexError",
)


def run_try(reader: Reader, node: ast.Try | ast.TryStar, frame: Frame) -> bool:
    """`try … except … else … finally`."""
    names, asked = dict(frame.scope.names), set(frame.asked)
    with frame.risking() as risked:
        body = follow(frame, ALWAYS, names, asked, lambda: _guarded(reader, node.body, frame))
    risks = join(risked)
    if not node.handlers:
        frame.risks.add(risks)
    maybe = _perhaps(frame, names, body)
    ways = [_after(reader, node.orelse, body, frame)]
    for handler in node.handlers:
        handled = _handled(handler, risks)
        failed = when(Test(handled, text=_header(handler)))

        def catch(handler: ast.ExceptHandler = handler, handled: Taints = handled) -> bool:
            if handler.name:
                frame.scope.put(handler.name, data(handled))
            return reader.run(handler.body, frame)

        ways.append(follow(frame, failed, maybe, asked, catch))
    alive = join_ways(frame, ways)
    return reader.run(node.finalbody, frame) and alive


def _guarded(reader: Reader, body: Sequence[ast.stmt], frame: Frame) -> bool:
    """The body of a `try`: each statement is reached only if those before raised nothing."""
    known: set[Taints] = set()
    for statement in body:
        if not reader.run([statement], frame):
            return False
        fresh = frame.risks - known
        if fresh:
            known |= fresh
            frame.conditions.append(negate(when(Test(join(fresh), text="an exception"))))
    return True


def _perhaps(frame: Frame, names: dict[str, Value], body: Way) -> dict[str, Value]:
    """Names as a handler sees them: the body may have got anywhere."""
    join_ways(frame, [Way(dict(names), set(), ALWAYS, True), Way(dict(body.names), set(), ALWAYS, True)])
    return frame.scope.names


def _after(reader: Reader, orelse: Sequence[ast.stmt], body: Way, frame: Frame) -> Way:
    if not body.alive:
        return body
    return follow(frame, body.condition, body.names, body.asked, lambda: reader.run(orelse, frame))


def _header(handler: ast.ExceptHandler) -> str:
    return f"except {text_of(handler.type)}" if handler.type is not None else "except"


def _handled(handler: ast.ExceptHandler, risks: Taints) -> Taints:
    """What an exception of the caught type rests on."""
    forms = frozenset(t for t in risks if t.kind is Kind.FORM)
    if handler.type is not None and forms and any(word in _header(handler) for word in ABOUT_FORM):
        return forms | {t for t in risks if t.kind is Kind.COMPARE}
    return risks or FORM


def run_with(reader: Reader, node: ast.With | ast.AsyncWith, frame: Frame) -> bool:
    """`with`: the managed object stands for itself; `suppress` catches."""
    swallows = False
    for item in node.items:
        manager = reader.value(item.context_expr, frame)
        swallows |= isinstance(manager.thing, External) and manager.thing.path == "contextlib.suppress()"
        if item.optional_vars is not None:
            assign(reader, item.optional_vars, _entered(reader, manager, frame), frame)
    if not swallows:
        return reader.run(node.body, frame)
    names, asked = dict(frame.scope.names), set(frame.asked)
    with frame.risking() as risked:
        body = follow(frame, ALWAYS, names, asked, lambda: _guarded(reader, node.body, frame))
    risks = join(risked)
    failed: Formula = all_of([when(Test(risks or FORM, text="suppressed exception"))])
    return join_ways(frame, [body, Way(_perhaps(frame, names, body), asked, failed, True)])


def _entered(reader: Reader, manager: Value, frame: Frame) -> Value:
    if isinstance(manager.thing, Instance):
        method = reader.attribute(manager, "__enter__", frame)
        return reader.call(method, Arguments(), frame.module.code.tree, frame)
    return manager
