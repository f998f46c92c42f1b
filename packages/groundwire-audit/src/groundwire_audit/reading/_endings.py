"""What ends a chat of agents: a word that one of them says, a function that looks at what is said, a count of turns."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from groundwire_audit.reading._conditions import NOTHING, Formula, Taint, TaintKind, Taints, Test, negate, when
from groundwire_audit.reading._frames import Arguments, Frame, deep, text_of, truth
from groundwire_audit.reading._members import member
from groundwire_audit.reading._reader import Reader
from groundwire_audit.reading._speakers import SAID, Speaker
from groundwire_audit.reading._values import Const, FunctionValue, Instance, ModelValue, Opaque, Table, Value, data

Maker = Callable[[Reader, str, Arguments, ast.AST, Frame], Value]
COUNTED: Taints = frozenset({Taint(TaintKind.COUNTER)})
FIXED: Taints = frozenset({Taint(TaintKind.FIXED)})
ASK: Taints = frozenset({Taint(TaintKind.ASK)})


@dataclass
class Ending:
    """What a chat goes on by.

    Args:
        tests: all of them must hold.
        limit: turns at most, where that is known.
        counted: turns are counted.
        by_tools: it goes on while an agent calls tools.
    """

    tests: list[Formula] = field(default_factory=list[Formula])
    limit: int | None = None
    counted: bool = False
    by_tools: bool = False

    def count(self, given: Value | None) -> None:
        """A number of turns that is given: `max_turns=10`."""
        if given is not None and given.thing != Const(None):
            number = number_of(given)
            self.counted = True
            self.limit = number if self.limit is None or number is None else min(self.limit, number)

    def again(self) -> list[Formula]:
        """What must hold for another round."""
        if not self.counted:
            return self.tests
        limit = float(self.limit) if self.limit is not None else None
        return [*self.tests, when(Test(COUNTED, text="turns are left", op="<", limit=limit))]


def number_of(value: Value | None) -> int | None:
    """A whole number that is written in the source, else None."""
    held = value.thing.value if value is not None and isinstance(value.thing, Const) else None
    return held if isinstance(held, int) and not isinstance(held, bool) else None


def ending_of(reader: Reader, condition: Value | None, frame: Frame) -> Ending:
    """Of `termination_condition=…`: each condition is data that rests on what it looks at."""
    made = Ending()
    if condition is None or condition.thing == Const(None):
        return made
    taints = SAID if isinstance(condition.thing, ModelValue) else deep(condition)
    if isinstance(condition.thing, Instance):
        taints = deep(_judged_by(reader, condition, ("should_agent_terminate", "should_terminate", "__call__"), frame))
    counters = [t for t in taints if t.kind is TaintKind.COUNTER]
    for counter in counters:
        made.count(Value(Const(int(counter.detail)) if counter.detail else Opaque()))
    made.by_tools = any(t.kind is TaintKind.ASK for t in taints)
    looked_at = taints - frozenset(counters) - FIXED - ASK
    if looked_at:
        text = " or ".join(sorted({t.what for t in looked_at if t.what})) or "its ending"
        others = frozenset(t for t in looked_at if t.kind is not TaintKind.MODEL)
        said = others | SAID if others != looked_at else others
        made.tests.append(when(Test(said, text=text, constant=True), holds=False))
    return made


def _judged_by(reader: Reader, judge: Value, methods: Sequence[str], frame: Frame) -> Value:
    """What a function, or an object of a class in sight, makes of the messages of a chat."""
    given = Arguments([data(SAID), data(SAID)])
    if isinstance(judge.thing, Instance):
        name = next((m for m in methods if member(judge.thing.of, m) is not None), "")
        if not name:
            return data(frozenset({Taint(TaintKind.UNKNOWN, f"what ends {judge.thing.of.node.name} is not in sight")}))
        judge = reader.attribute(judge, name, frame)
    if isinstance(judge.thing, FunctionValue):
        taken = len([a for a in judge.thing.node.args.args if a.arg != "self"])
        given = Arguments(given.positional[-taken:] if taken else [])
    return reader.call(judge, given, judge.thing.node if isinstance(judge.thing, FunctionValue) else ast.Pass(), frame)


def _looks_at(reader: Reader, path: str, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    """A condition that looks at what an agent says: `TextMentionTermination("APPROVE")`."""
    return data(frozenset({Taint(TaintKind.MODEL, "text", text_of(node))}))


def _counts(reader: Reader, path: str, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    """A condition that counts messages, tokens or seconds."""
    number = number_of(given.get(0, "max_messages")) if path.endswith("MaxMessageTermination") else None
    # the task is the first of the messages
    return data(frozenset({Taint(TaintKind.COUNTER, str(number - 1) if number is not None else "")}))


def _asks_for_tools(reader: Reader, path: str, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    """`TextMessageTermination()`: an agent that says something in words has called no tool."""
    return data(ASK)


def _by_function(reader: Reader, path: str, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    """`FunctionalTermination(f)`."""
    function = given.get(0, "func")
    return data(deep(_judged_by(reader, function, (), frame))) if function is not None else data(SAID)


def _from_outside(reader: Reader, path: str, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    """`ExternalTermination()`: whoever runs it can end it, and need not."""
    return data(FIXED)


def _strategy(reader: Reader, path: str, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    """A strategy of Semantic Kernel: a prompt, or a number of rounds."""
    number = number_of(given.named.get("maximum_iterations") or given.named.get("max_rounds"))
    counted = frozenset({Taint(TaintKind.COUNTER, str(number) if number is not None else "")})
    return data(counted, SAID if "KernelFunction" in path else NOTHING)


def stopped_by(sender: Speaker, recipient: Speaker, frame: Frame) -> list[Formula]:
    """That neither `is_termination_msg` finds what it looks for in what the other one said."""
    found: list[Formula] = []
    for own, other in ((sender, recipient), (recipient, sender)):
        for function in own.stops:
            message = Value(Table({"content": data(other.says())}, data(other.says())))
            if isinstance(function.thing, FunctionValue):
                said = own.reader.call(function, Arguments([message]), function.thing.node, frame)
                found.append(negate(truth(said, f"is_termination_msg of {own.name}")))
    return found


CONDITIONS: dict[str, Maker] = {
    **dict.fromkeys(("TextMentionTermination", "StopMessageTermination", "HandoffTermination"), _looks_at),
    **dict.fromkeys(("FunctionCallTermination", "KeywordTermination"), _looks_at),
    **dict.fromkeys(("MaxMessageTermination", "TokenUsageTermination", "TimeoutTermination"), _counts),
    "SourceMatchTermination": _counts,
    "TextMessageTermination": _asks_for_tools,
    "FunctionalTermination": _by_function,
    "ExternalTermination": _from_outside,
    **dict.fromkeys(("KernelFunctionTerminationStrategy", "DefaultTerminationStrategy"), _strategy),
    **dict.fromkeys(("KernelFunctionSelectionStrategy", "SequentialSelectionStrategy"), _strategy),
    "RoundRobinGroupChatManager": _strategy,
}
"""Last name of what is called to make a condition."""
