"""`for` and `while`: followed twice, so that what one round leaves is seen by the next; loops with a model are kept."""

from __future__ import annotations

import ast

from groundwire.auditing.conditions import ALWAYS, NEVER, Formula, Test, all_of, any_of, when
from groundwire.auditing.reading.assignment import assign
from groundwire.auditing.reading.branching import Way, join_ways
from groundwire.auditing.reading.comprehensions import iterated
from groundwire.auditing.reading.frames import Frame, LoopFrame, SeenLoop
from groundwire.auditing.reading.merging import deep, text_of
from groundwire.auditing.reading.reader_protocol import Reader
from groundwire.auditing.taints import Kind, Taint
from groundwire.auditing.values import Const, External, Value, data

__all__ = ["leave_loop", "run_loop"]

UNROLLED = 48
COUNTED = frozenset({Taint(Kind.COUNTER)})


def leave_loop(node: ast.Break | ast.Continue, frame: Frame) -> bool:
    """`break` or `continue`."""
    if frame.loop_stack:
        innermost = frame.loop_stack[-1]
        if isinstance(node, ast.Continue):
            innermost.goes_on.append(all_of(frame.conditions[innermost.base :]))
        else:
            innermost.leaves = True
    return False


def run_loop(reader: Reader, node: ast.For | ast.AsyncFor | ast.While, frame: Frame) -> bool:
    """A loop; False if what comes after it is not reached."""
    if not isinstance(node, ast.While):
        source = reader.value(node.iter, frame)
        held, complete = iterated(source)
        if complete and len(held) <= UNROLLED and not _is_range(node.iter):
            return _unrolled(reader, node, held, frame)
        return _repeated(reader, node, frame, source)
    return _repeated(reader, node, frame, None)


def _is_range(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range"


def _unrolled(reader: Reader, node: ast.For | ast.AsyncFor, held: list[Value], frame: Frame) -> bool:
    for item in held:
        with frame.inside():
            frame.loop_stack.append(LoopFrame(len(frame.conditions)))
            assign(reader, node.target, item, frame)
            reader.run(node.body, frame)
    return reader.run(node.orelse, frame) if node.orelse else True


def _repeated(reader: Reader, node: ast.For | ast.AsyncFor | ast.While, frame: Frame, source: Value | None) -> bool:
    base, before, asked = len(frame.conditions), dict(frame.scope.names), set(frame.asked)
    returned = len(frame.returned)
    endless = False
    loop = LoopFrame(base)
    for _ in range(2):
        loop = LoopFrame(base)
        with frame.apart(), frame.inside():
            frame.loop_stack.append(loop)
            enters = _enter(reader, node, source, frame)
            endless = isinstance(node, ast.While) and enters == ALWAYS
            if isinstance(node, ast.While) and enters not in (ALWAYS, NEVER):
                frame.conditions.append(enters)
            alive = reader.run(node.body, frame)
            again = [all_of(frame.conditions[base:])] if alive else []
            # the test is made once more, with what this round has left behind
            del frame.conditions[base:]
            retest = _enter(reader, node, source, frame, again=True)
            repeats = all_of([any_of([*again, *loop.goes_on]), retest])
            inside, surely = tuple(frame.effects), frozenset(frame.asked)
        if _enters_surely(node):
            frame.asked = frame.asked | surely
        leaves = (
            loop.leaves or len(frame.returned) > returned or isinstance(node, ast.While) or _is_counted(node, source)
        )
        if leaves and repeats != NEVER and any(e.kind is Kind.MODEL for e in inside):
            items = not isinstance(node, ast.While) and not _is_counted(node, source)
            _keep(frame, SeenLoop(frame.module.place(node), repeats, inside, surely, items))
        after = Way(frame.scope.names, frame.asked, ALWAYS, True)
        join_ways(frame, [Way(dict(before), set(asked), ALWAYS, True), after])
        del frame.conditions[base:]
        if _enters_surely(node):
            frame.asked = after.asked
    if endless and not loop.leaves:
        return False
    return reader.run(node.orelse, frame) if node.orelse else True


def _keep(frame: Frame, seen: SeenLoop) -> None:
    frame.loops[:] = [x for x in frame.loops if x.place != seen.place]
    frame.loops.append(seen)


def _enter(
    reader: Reader, node: ast.For | ast.AsyncFor | ast.While, source: Value | None, frame: Frame, *, again: bool = False
) -> Formula:
    """When a round begins, or another one; binds the loop's names."""
    if isinstance(node, ast.While):
        return reader.truth(node.test, frame)
    assert source is not None
    held, _ = iterated(source)
    counted = _is_counted(node, source)
    item = data(COUNTED) if counted else held[0] if len(held) == 1 else data(*(deep(h) for h in held))
    assign(reader, node.target, item, frame)
    if counted:
        limit = _limit(reader, node.iter, frame)
        return when(Test(COUNTED, text=f"for … in {text_of(node.iter)}", op="<", limit=limit))
    left = frozenset({Taint(Kind.SHRINK)}) if again else frozenset[Taint]()
    return when(Test(deep(source) | left, text=f"for … in {text_of(node.iter)}"))


def _is_counted(node: ast.For | ast.AsyncFor | ast.While, source: Value | None) -> bool:
    if isinstance(node, ast.While) or source is None:
        return False
    return _is_range(node.iter) or (
        isinstance(source.thing, External) and source.thing.path.startswith("itertools.count")
    )


def _limit(reader: Reader, node: ast.expr, frame: Frame) -> float | None:
    if not isinstance(node, ast.Call) or not node.args:
        return None
    value = reader.value(node.args[-1] if len(node.args) < 3 else node.args[1], frame)
    held = value.thing.value if isinstance(value.thing, Const) else None
    return float(held) if isinstance(held, int) else None


def _enters_surely(node: ast.For | ast.AsyncFor | ast.While) -> bool:
    """A `for` is taken to run: over nothing there is nothing to judge."""
    return not isinstance(node, ast.While) or (isinstance(node.test, ast.Constant) and bool(node.test.value))
