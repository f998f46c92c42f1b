"""`if` and `match`: each way is followed, then put together."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from groundwire.auditing.conditions import ALWAYS, NEVER, Formula, Test, all_of, any_of, negate, when
from groundwire.auditing.reading.assignment import assign
from groundwire.auditing.reading.comparisons import holds
from groundwire.auditing.reading.frames import Effect, Frame
from groundwire.auditing.reading.merging import deep, merge, text_of
from groundwire.auditing.reading.reader_protocol import Reader
from groundwire.auditing.values import Value, data

__all__ = ["Way", "follow", "join_ways", "run_if", "run_match"]


@dataclass
class Way:
    """What one way through leaves behind."""

    names: dict[str, Value]
    asked: set[Effect]
    condition: Formula
    alive: bool


def follow(
    frame: Frame, condition: Formula, names: dict[str, Value], asked: set[Effect], run: Callable[[], bool]
) -> Way:
    """Follows one way, starting from given names.

    Where it can't be followed to its end, the names are what they were or what it had made of them until then.
    """
    base = len(frame.conditions)
    frame.scope.names, frame.asked = dict(names), set(asked)
    with frame.under(condition):
        try:
            alive = run()
        except BaseException:
            ways = [Way(names, asked, ALWAYS, True), Way(frame.scope.names, frame.asked, condition, True)]
            frame.scope.names, frame.asked = _joined(ways), set(asked)
            raise
        return Way(frame.scope.names, frame.asked, all_of(frame.conditions[base:]), alive)


def join_ways(frame: Frame, ways: Sequence[Way]) -> bool:
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


def _joined(ways: Sequence[Way]) -> dict[str, Value]:
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
    ways: list[Way] = []
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
