"""`if`, `match`, `for`, `while`, `try` and `with`: each way is followed, then put together."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from groundwire_audit.reading._binding import assign, iterated
from groundwire_audit.reading._conditions import (
    ALWAYS,
    NEVER,
    Formula,
    Taint,
    TaintKind,
    Taints,
    Test,
    all_of,
    any_of,
    join,
    negate,
    when,
)
from groundwire_audit.reading._expressions import holds
from groundwire_audit.reading._frames import (
    Arguments,
    Effect,
    Frame,
    LoopFrame,
    SeenLoop,
    WayThrough,
    deep,
    is_asked,
    merge,
    text_of,
)
from groundwire_audit.reading._reader import Reader
from groundwire_audit.reading._values import Const, External, Instance, Value, data

# `if` and `match`: each way is followed, then put together.


def follow(
    frame: Frame, condition: Formula, names: dict[str, Value], asked: set[Effect], run: Callable[[], bool]
) -> WayThrough:
    """Follows one way, starting from given names.

    Where it can't be followed to its end, the names are what they were or what it had made of them until then.
    """
    base = len(frame.conditions)
    frame.scope.names, frame.asked = dict(names), set(asked)
    with frame.under(condition):
        try:
            alive = run()
        except BaseException:
            ways = [WayThrough(names, asked, ALWAYS, True), WayThrough(frame.scope.names, frame.asked, condition, True)]
            frame.scope.names, frame.asked = _joined(ways), set(asked)
            raise
        return WayThrough(frame.scope.names, frame.asked, all_of(frame.conditions[base:]), alive)


def join_ways(frame: Frame, ways: Sequence[WayThrough]) -> bool:
    """Puts ways together; False if none goes on."""
    living = [w for w in ways if w.alive]
    if not living:
        return False
    conditions = [w.condition for w in living]
    if len(living) == 1:
        frame.scope.names, frame.asked = living[0].names, living[0].asked
    else:
        frame.scope.names = _joined(living)
        frame.asked = set[Effect].intersection(*(w.asked for w in living))
    united = ALWAYS if len(living) == len(ways) and _covers(conditions) else any_of(conditions)
    if united != ALWAYS:
        frame.conditions.append(united)
    return True


def _covers(conditions: Sequence[Formula]) -> bool:
    """True if two ways are each other's opposite, so that coming out of them says nothing."""
    return len(conditions) == 2 and conditions[0] == negate(conditions[1])


def _joined(ways: Sequence[WayThrough]) -> dict[str, Value]:
    joined: dict[str, Value] = {}
    for name in dict.fromkeys(n for w in ways for n in w.names):
        values = [(w.names[name], w.condition) for w in ways if name in w.names]
        first = values[0][0]
        same = all(v is first for v, _ in values)
        joined[name] = first if same else merge(values)
    return joined


def run_if(reader: Reader, node: ast.If, frame: Frame) -> bool:
    """`if`, with what is known afterwards."""
    test = reader.truth(node.test, frame)
    if test == NEVER:
        return reader.run(node.orelse, frame)
    if test == ALWAYS:
        return reader.run(node.body, frame)
    names, asked = frame.scope.names, frame.asked
    first = follow(frame, test, names, asked, lambda: reader.run(node.body, frame))
    second = follow(frame, negate(test), names, asked, lambda: reader.run(node.orelse, frame))
    return join_ways(frame, [first, second])


def run_match(reader: Reader, node: ast.Match, frame: Frame) -> bool:
    """`match`, case by case."""
    subject = reader.value(node.subject, frame)
    names, asked = frame.scope.names, frame.asked
    ways: list[WayThrough] = []
    before: list[Formula] = []
    for case in node.cases:
        fits = _pattern(reader, case.pattern, subject, frame)
        if case.guard is not None:
            fits = all_of([fits, reader.truth(case.guard, frame)])
        condition = all_of([*before, fits])
        before.append(negate(fits))
        if condition != NEVER:
            body = case.body
            ways.append(follow(frame, condition, names, asked, lambda body=body: reader.run(body, frame)))
        if fits == ALWAYS:
            return join_ways(frame, ways)
    otherwise = all_of(before)
    if otherwise != NEVER:
        ways.append(follow(frame, otherwise, names, asked, lambda: True))
    return join_ways(frame, ways)


def _pattern(reader: Reader, pattern: ast.pattern, subject: Value, frame: Frame) -> Formula:
    text = f"match {text_of(pattern)}"
    match pattern:
        case ast.MatchValue(value=value):
            return holds(subject, "==", reader.value(value, frame), text)
        case ast.MatchSingleton(value=value):
            return holds(subject, "is", Value() if value is None else data(), text)
        case ast.MatchOr(patterns=patterns):
            return any_of(_pattern(reader, p, subject, frame) for p in patterns)
        case ast.MatchAs(pattern=None, name=name):
            if name:
                frame.scope.put(name, subject)
            return ALWAYS
        case ast.MatchAs(pattern=inner, name=name) if inner is not None:
            if name:
                frame.scope.put(name, subject)
            return _pattern(reader, inner, subject, frame)
        case _:
            for part in ast.walk(pattern):
                if isinstance(part, ast.MatchAs) and part.name:
                    assign(reader, ast.Name(part.name, ast.Store()), data(deep(subject)), frame)
            return when(Test(deep(subject), text=text, constant=True))


# `for` and `while`: followed twice, so that what one round leaves is seen by the next; loops with a model are kept.

UNROLLED = 48
COUNTED = frozenset({Taint(TaintKind.COUNTER)})


def leave_loop(node: ast.Break | ast.Continue, frame: Frame) -> bool:
    """`break` or `continue`."""
    if frame.loop_stack:
        innermost = frame.loop_stack[-1]
        ways = innermost.goes_on if isinstance(node, ast.Continue) else innermost.left
        here = all_of(frame.conditions[innermost.base :])
        ways.append(WayThrough(dict(frame.scope.names), set(frame.asked), here, True))
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
    left: list[WayThrough] = []
    base = len(frame.conditions)
    for item in held:
        with frame.inside():
            loop = LoopFrame(base)
            frame.loop_stack.append(loop)
            assign(reader, node.target, item, frame)
            alive = reader.run(node.body, frame)
            _end_of_round(frame, loop, alive=alive)
            left += loop.left
        if not _goes_past(frame, any_of(loop.returned)) and not left:
            return False
    alive = reader.run(node.orelse, frame) if node.orelse else True
    if not left:
        return alive
    with frame.inside():
        return join_ways(frame, [WayThrough(dict(frame.scope.names), set(frame.asked), ALWAYS, alive), *left])


def _goes_past(frame: Frame, returns: Formula) -> bool:
    """Where a loop's body may have returned, what comes after is reached only if it has not; False: it surely has."""
    if returns not in (ALWAYS, NEVER):
        frame.conditions.append(negate(returns))
    return returns != ALWAYS


def _end_of_round(frame: Frame, loop: LoopFrame, *, alive: bool) -> None:
    """A round that is gone through to its end, and those that are cut short by `continue`."""
    here = WayThrough(dict(frame.scope.names), set(frame.asked), all_of(frame.conditions[loop.base :]), alive)
    if loop.goes_on:
        join_ways(frame, [here, *loop.goes_on])


def _repeated(reader: Reader, node: ast.For | ast.AsyncFor | ast.While, frame: Frame, source: Value | None) -> bool:
    base, before, asked = len(frame.conditions), dict(frame.scope.names), set(frame.asked)
    returned = len(frame.returned)
    endless, returns = False, ALWAYS
    loop, calls, before_it = LoopFrame(base), 0, 0
    for last in (False, True):
        loop, calls, before_it = LoopFrame(base), frame.model_calls, frame.worked_out
        with frame.apart(), frame.inside():
            frame.loop_stack.append(loop)
            enters = _enter(reader, node, source, frame)
            returns = ALWAYS if isinstance(node, ast.While) else enters
            endless = isinstance(node, ast.While) and enters == ALWAYS
            if isinstance(node, ast.While) and enters not in (ALWAYS, NEVER):
                frame.conditions.append(enters)
            alive = reader.run(node.body, frame)
            again = [all_of(frame.conditions[base:])] if alive else []
            goes_on = [w.condition for w in loop.goes_on]
            _end_of_round(frame, loop, alive=alive)
            # the test is made once more, with what this round has left behind
            del frame.conditions[base:]
            retest = _enter(reader, node, source, frame, again=True)
            repeats = all_of([any_of([*again, *goes_on]), retest])
            inside, surely = tuple(frame.effects), frozenset(frame.asked)
            each_round = surely  # what a round that leaves has not asked does not matter to those that go on
            if loop.left:
                surely = surely.intersection(*(w.asked for w in loop.left))
        if _enters_surely(node):
            frame.asked = frame.asked | surely
        ends = bool(loop.left) or len(frame.returned) > returned
        leaves = ends or isinstance(node, ast.While) or _is_counted(node, source)
        if not ends and not isinstance(node, ast.While):
            repeats = retest  # nothing in it ends it early: what its rounds find decides nothing
        if leaves and repeats != NEVER and any(e.kind is TaintKind.MODEL for e in inside):
            items = not isinstance(node, ast.While) and not _is_counted(node, source)
            ending = [w.asked for w in loop.left] + [r.asked for r in frame.returned[returned:]]
            acts = (
                (bool(ending) and frame.model_calls - calls == 1)
                and is_asked(each_round, TaintKind.WORLD)
                and not any(is_asked(e, TaintKind.WORLD) for e in ending)
            )
            found = frame.worked_out > before_it
            _keep(reader, frame, SeenLoop(frame.module.place(node), repeats, inside, each_round, items, acts, found))
        after = WayThrough(frame.scope.names, frame.asked, ALWAYS, True)
        not_at_all = WayThrough(dict(before), set(asked), ALWAYS, True)
        for way in loop.left:
            way.asked |= asked
        if last and endless and loop.left:
            not_at_all.alive = after.alive = False
        with frame.inside():
            join_ways(frame, [not_at_all, after, *loop.left])
        if _enters_surely(node):
            frame.asked = asked | surely
    if endless and not loop.left:
        return False
    if not endless:
        _goes_past(frame, all_of([returns, any_of(loop.returned)]))
    return reader.run(node.orelse, frame) if node.orelse else True


def _keep(reader: Reader, frame: Frame, seen: SeenLoop) -> None:
    reader.seen[seen.place] = seen
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
    item = (
        data(COUNTED) if counted or _runs_along(node) else held[0] if len(held) == 1 else data(*(deep(h) for h in held))
    )
    assign(reader, node.target, item, frame)
    if counted:
        limit = _limit(reader, node.iter, frame)
        return when(Test(COUNTED, text=f"for … in {text_of(node.iter)}", op="<", limit=limit))
    left = frozenset({Taint(TaintKind.SHRINK)}) if again else frozenset[Taint]()
    return when(Test(deep(source) | left, text=f"for … in {text_of(node.iter)}"))


def _runs_along(node: ast.For | ast.AsyncFor | ast.While) -> bool:
    """`for i in range(len(items))`: it goes through the items."""
    if isinstance(node, ast.While) or not isinstance(node.iter, ast.Call) or not _is_range(node.iter):
        return False
    return any(isinstance(p, ast.Call) and getattr(p.func, "id", "") == "len" for p in ast.walk(node.iter))


def _is_counted(node: ast.For | ast.AsyncFor | ast.While, source: Value | None) -> bool:
    if isinstance(node, ast.While) or source is None or _runs_along(node):
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


# `try` and `with`: what an exception on the way would say.

FORM = frozenset({Taint(TaintKind.FORM, what="exception")})
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
        failed = when(Test(handled, op="raises", text=_header(handler)))

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
    for at, statement in enumerate(body):
        if isinstance(statement, ast.Return) and not frame.risks and _calls_something(body[: at + 1]):
            # the handler is there because something can go wrong, and what that rests on is not known
            frame.conditions.append(negate(when(Test(FORM, op="raises", text="an exception"))))
        if not reader.run([statement], frame):
            return False
        fresh = frame.risks - known
        if fresh:
            known |= fresh
            frame.conditions.append(negate(when(Test(join(fresh), op="raises", text="an exception"))))
    return True


def _calls_something(body: Sequence[ast.stmt]) -> bool:
    return any(isinstance(part, ast.Call) for statement in body for part in ast.walk(statement))


def _perhaps(frame: Frame, names: dict[str, Value], body: WayThrough) -> dict[str, Value]:
    """Names as a handler sees them: the body may have got anywhere."""
    join_ways(frame, [WayThrough(dict(names), set(), ALWAYS, True), WayThrough(dict(body.names), set(), ALWAYS, True)])
    return frame.scope.names


def _after(reader: Reader, orelse: Sequence[ast.stmt], body: WayThrough, frame: Frame) -> WayThrough:
    if not body.alive:
        return body
    return follow(frame, body.condition, body.names, body.asked, lambda: reader.run(orelse, frame))


def _header(handler: ast.ExceptHandler) -> str:
    return f"except {text_of(handler.type)}" if handler.type is not None else "except"


def _handled(handler: ast.ExceptHandler, risks: Taints) -> Taints:
    """What an exception of the caught type rests on."""
    forms = frozenset(t for t in risks if t.kind is TaintKind.FORM)
    if handler.type is not None and forms and any(word in _header(handler) for word in ABOUT_FORM):
        return forms | {t for t in risks if t.kind is TaintKind.COMPARE}
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
    failed: Formula = when(Test(risks or FORM, op="raises", text="suppressed exception"))
    return join_ways(frame, [body, WayThrough(_perhaps(frame, names, body), asked, failed, True)])


def _entered(reader: Reader, manager: Value, frame: Frame) -> Value:
    if isinstance(manager.thing, Instance):
        method = reader.attribute(manager, "__enter__", frame)
        return reader.call(method, Arguments(), frame.module.code.tree, frame)
    return manager
