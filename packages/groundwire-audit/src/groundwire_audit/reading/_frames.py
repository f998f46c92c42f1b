"""A function body while it is followed: its state, arguments of calls, and values of several ways put together."""

from __future__ import annotations

import ast
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache

from groundwire_audit._report import NOWHERE, SourcePlace
from groundwire_audit.reading._conditions import (
    ALWAYS,
    NEVER,
    NOTHING,
    Formula,
    Taint,
    TaintKind,
    Taints,
    Test,
    all_of,
    any_of,
    join,
    negate,
    sources,
    when,
)
from groundwire_audit.reading._graph import DeclaredGraph
from groundwire_audit.reading._values import (
    Bound,
    Choice,
    CommandValue,
    Const,
    External,
    FunctionValue,
    Instance,
    Items,
    Module,
    Opaque,
    Partial,
    Scope,
    SendValue,
    StateValue,
    Table,
    Value,
    const,
    data,
)

# Puts together what different ways through the source leave behind.

MAX_OPTIONS = 24
MAX_TEXT = 80
MAX_LISTS = 4
MAX_DEPTH = 6
LEAVES = (Opaque, Const, External, FunctionValue)
CONTENT = tuple(f"{a}{n}{b}" for n in ("content", "text") for a, b in ((".", ""), (".get('", "')"), ("['", "']")))
MATCHES = ("re.match()", "re.fullmatch()", "re.compile().match()", "re.compile().fullmatch()")


def control(formula: Formula) -> Taints:
    """What a value rests on that was chosen under a condition."""
    return sources(formula)


def boolean(formula: Formula) -> Value:
    """A truth value that holds under a condition."""
    if formula == ALWAYS:
        return const(True)
    if formula == NEVER:
        return const(False)
    return Value(Choice(((const(True), formula), (const(False), negate(formula)))), control(formula))


def options(value: Value) -> list[tuple[Value, Formula]]:
    """What a value can be, each with its condition."""
    if isinstance(value.thing, Choice):
        return [
            (inner, all_of([formula, deeper]))
            for option, formula in value.thing.options
            for inner, deeper in options(option)
        ]
    return [(value, ALWAYS)]


def merge(ways: Sequence[tuple[Value, Formula]]) -> Value:
    """One value for several, each under its condition."""
    flat = [(inner, all_of([f, g])) for value, f in ways for inner, g in options(value)]
    flat = [(v, f) for v, f in flat if f != NEVER]
    if not flat:
        return data()
    first = flat[0][0]
    if all(v.thing is first.thing or v.thing == first.thing for v, _ in flat):
        return Value(first.thing, join(v.taints for v, _ in flat))
    if all(isinstance(v.thing, Table) for v, _ in flat):
        return _tables(flat)
    if all(isinstance(v.thing, Items) for v, _ in flat) and (len(flat) > MAX_LISTS or _alike(flat)):
        return _lists(flat)
    taints = join(v.taints | (control(f) if isinstance(v.thing, Const) else NOTHING) for v, f in flat)
    if all(isinstance(v.thing, Opaque) for v, _ in flat) or len(flat) > MAX_OPTIONS:
        return data(taints, join(deep(v) for v, _ in flat))
    return Value(Choice(tuple(flat)), taints)


def _alike(ways: Sequence[tuple[Value, Formula]]) -> bool:
    return len({len(v.thing.items) for v, _ in ways if isinstance(v.thing, Items)}) == 1


def _tables(ways: Sequence[tuple[Value, Formula]]) -> Value:
    merged = Table()
    tables = [(v.thing, f) for v, f in ways if isinstance(v.thing, Table)]
    for name in dict.fromkeys(k for t, _ in tables for k in t.entries):
        held = [(t.entries.get(name, t.rest), f) for t, f in tables]
        merged.entries[name] = merge([(_chosen(v, f), f) for v, f in held if v is not None])
    rests = [t.rest for t, _ in tables if t.rest is not None]
    merged.rest = data(*(r.taints for r in rests)) if rests else None
    merged.whole_state = any(t.whole_state for t, _ in tables)
    return Value(merged, join(v.taints for v, _ in ways))


def _chosen(value: Value, formula: Formula) -> Value:
    return value.with_taints(control(formula)) if isinstance(value.thing, Const) else value


def _lists(ways: Sequence[tuple[Value, Formula]]) -> Value:
    lists = [v.thing for v, _ in ways if isinstance(v.thing, Items)]
    taints = join(v.taints for v, _ in ways)
    if len({len(x.items) for x in lists}) == 1 and not any(x.rest for x in lists):
        columns = [
            merge([(x.items[i], f) for x, (_, f) in zip(lists, ways, strict=True)]) for i in range(len(lists[0].items))
        ]
        return Value(Items(lists[0].kind, columns), taints)
    everything = [i for x in lists for i in (*x.items, *([x.rest] if x.rest else []))]
    chosen = join(control(f) for _, f in ways)
    return Value(Items(lists[0].kind, [], data(join(deep(i) for i in everything), chosen)), taints)


def deep(value: Value, depth: int = 0) -> Taints:
    """All that a value and what it holds rest on."""
    if depth > MAX_DEPTH or isinstance(value.thing, LEAVES):
        return value.taints
    return value.taints | join(deep(inner, depth + 1) for inner in _held(value))


def _asks(value: Value) -> bool:
    return any(t.kind is not TaintKind.MODEL and t.kind is not TaintKind.LAST for t in value.taints)


def _held(value: Value) -> Iterable[Value]:
    match value.thing:
        case Items(items=items, rest=rest):
            return [*items, *([rest] if rest else [])]
        case Table(entries=entries, rest=rest):
            return [*entries.values(), *([rest] if rest else [])]
        case Choice(options=choices):
            return [v for v, _ in choices]
        case Instance(attributes=attributes):
            return list(attributes.values())
        case CommandValue(goto=goto, update=update):
            return [v for v in (goto, update) if v is not None]
        case SendValue(target=target):
            return [target]
        case Partial(arguments=arguments):
            return arguments
        case _:
            return ()


def truth(value: Value, text: str) -> Formula:
    """When a value counts as true.

    Args:
        value: what is tested.
        text: the source text of the test.
    """
    match value.thing:
        case Const(value=held):
            return ALWAYS if held else NEVER
        case Choice(options=choices):
            return any_of(all_of([formula, truth(option, text)]) for option, formula in choices)
        case Items(items=items, rest=rest) | Table(entries=items, rest=rest) if items or rest is None:
            return ALWAYS if items else NEVER
        case External(path=path) if path.endswith(MATCHES):
            return when(Test(frozenset({Taint(TaintKind.FORM, what=path)}), text=text))
        case Opaque() | Bound() if text.endswith(CONTENT) and value.taints and not _asks(value):
            # whether a reply is empty: what it says does not count
            return when(Test(frozenset({Taint(TaintKind.FORM, what="an empty reply")}), text=text))
        case Opaque() | Items() | Table() | StateValue() | External() | Bound():
            return when(Test(deep(value), text=text))
        case _:
            return ALWAYS


class Wording(str):
    """The source text of a test. The same words about names that were bound anew are about something else.

    Args:
        bound: the lines on which the names in it were bound.
    """

    __slots__ = ("bound",)
    bound: tuple[int, ...]

    def __new__(cls, text: str, bound: tuple[int, ...] = ()) -> Wording:
        made = super().__new__(cls, text)
        made.bound = bound
        return made


def wording(node: ast.AST, frame: Frame) -> Wording:
    """The source text of a test, with where its names were bound in this function."""
    lines = frame.scope.bound_at
    return Wording(text_of(node), tuple(lines.get(n, 0) for n in names_in(node)) if lines else ())


@lru_cache(maxsize=1 << 14)
def names_in(node: ast.AST) -> list[str]:
    """All names that a piece of source reads or binds, each once."""
    return sorted({n.id for n in ast.walk(node) if isinstance(n, ast.Name)})


@lru_cache(maxsize=1 << 14)
def text_of(node: ast.AST) -> str:
    """The source text, on one line and shortened."""
    try:
        text = " ".join(ast.unparse(node).split())
    except (RecursionError, ValueError, AttributeError):
        return "…"
    return text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 1]}…"


# The arguments of a call.


@dataclass
class Arguments:
    """Positional and named ones. `more`: what was spread into the call and can't be told apart."""

    positional: list[Value] = field(default_factory=list[Value])
    named: dict[str, Value] = field(default_factory=dict[str, Value])
    more: Value | None = None

    def get(self, index: int, *names: str) -> Value | None:
        """One argument, by place or by any of its names."""
        for name in names:
            if name in self.named:
                return self.named[name]
        return self.positional[index] if 0 <= index < len(self.positional) else None

    def all(self) -> list[Value]:
        """Each of them."""
        return [*self.positional, *self.named.values(), *([self.more] if self.more else [])]

    def taints(self) -> Taints:
        """All that they rest on."""
        return join(deep(v) for v in self.all())

    def after(self, first: Value) -> Arguments:
        """The same with one more in front."""
        return Arguments([first, *self.positional], self.named, self.more)


# One function body while it is being followed.


@dataclass(frozen=True)
class Effect:
    """Something that is asked on the way.

    Args:
        kind: MODEL, WORLD, HUMAN or UNKNOWN.
        detail: of WORLD: exec, search, http, sql, file, env or tool; of UNKNOWN: why.
        what: the call.
        place: where.
        guard: the condition under which it is reached, in words; empty: always.
        declared: the tool whose declared role says so, with the role; empty: it was read.
    """

    kind: TaintKind
    detail: str = ""
    what: str = ""
    place: SourcePlace = NOWHERE
    guard: str = ""
    declared: str = ""


def is_asked(effects: Iterable[Effect], kind: TaintKind) -> bool:
    """True if something of this kind is among what is asked."""
    return any(e.kind is kind for e in effects)


@dataclass(frozen=True)
class Returned:
    """One way out of a function: its value, when it is taken, and what was surely asked before."""

    value: Value
    when: Formula
    asked: frozenset[Effect]
    place: SourcePlace = NOWHERE


@dataclass(frozen=True)
class SeenLoop:
    """A loop in the source that holds a model call.

    Args:
        place: its first line.
        again: when it goes round once more.
        effects: what is asked inside.
        items: it goes over given items.
        acts: a model is asked once a round, each round that goes on asks outside, and none that ends it does: the model
            chooses an action, or to end.
        works_out: a function in it looks something up, or calculates, with what the model said.
    """

    place: SourcePlace
    again: Formula
    effects: tuple[Effect, ...]
    asked: frozenset[Effect]
    items: bool = False
    acts: bool = False
    works_out: bool = False


@dataclass
class WayThrough:
    """What one way through leaves behind."""

    names: dict[str, Value]
    asked: set[Effect]
    condition: Formula
    alive: bool


@dataclass
class LoopFrame:
    """The innermost loop: where its body's conditions begin, and the ways on which a round is cut short."""

    base: int
    goes_on: list[WayThrough] = field(default_factory=list["WayThrough"])
    """Those that `continue`."""
    left: list[WayThrough] = field(default_factory=list["WayThrough"])
    """Those that `break`."""
    returned: list[Formula] = field(default_factory=list[Formula])
    """When the body returns."""


@dataclass
class Frame:
    """State of following one function body.

    Args:
        module: the file it stands in.
        scope: its names.
        name: the function.
        conditions: what must hold to reach the current statement.
        asked: effects that surely came before the current statement.
        risks: what an exception on the way would rest on.
    """

    module: Module
    scope: Scope
    name: str = ""
    depth: int = 0
    conditions: list[Formula] = field(default_factory=list[Formula])
    returned: list[Returned] = field(default_factory=list[Returned])
    yielded: list[Value] = field(default_factory=list[Value])
    effects: dict[Effect, None] = field(default_factory=dict[Effect, None])
    asked: set[Effect] = field(default_factory=set[Effect])
    risks: set[Taints] = field(default_factory=set[Taints])
    loops: list[SeenLoop] = field(default_factory=list[SeenLoop])
    loop_stack: list[LoopFrame] = field(default_factory=list[LoopFrame])
    nested: list[DeclaredGraph] = field(default_factory=list[DeclaredGraph])
    globals: set[str] = field(default_factory=set[str])
    model_calls: int = 0
    """How often a model was asked so far, itself or in a function that is called."""
    worked_out: int = 0
    """How often a function worked something out of what a model said."""
    of_class: bool = False
    """It is the body of a class, whose names its methods do not see."""

    def here(self) -> Formula:
        """When the current statement is reached."""
        return all_of(self.conditions)

    def add(self, effect: Effect) -> None:
        """Something is asked here."""
        guard = guard_text(self.conditions) if not effect.guard else effect.guard
        kept = replace(effect, guard=guard)
        self.effects.setdefault(kept)
        self.asked.add(kept)
        self.model_calls += effect.kind is TaintKind.MODEL

    def absorb(self, effects: Iterable[Effect], asked: Iterable[Effect]) -> None:
        """What a called function asked."""
        guard = guard_text(self.conditions)
        surely = set(asked)
        held = list(effects)
        self.model_calls += is_asked(held, TaintKind.MODEL)
        for effect in held:
            kept = effect if effect.guard else replace(effect, guard=guard)
            self.effects.setdefault(kept)
            if effect in surely:
                self.asked.add(kept)

    @contextmanager
    def under(self, condition: Formula) -> Generator[None]:
        """Statements that are only reached under a condition."""
        with self.inside():
            if condition != ALWAYS:
                self.conditions.append(condition)
            yield

    @contextmanager
    def inside(self) -> Generator[None]:
        """A part of the body: its conditions and loops end with it, also where it can't be followed to its end."""
        conditions, loops = len(self.conditions), len(self.loop_stack)
        try:
            yield
        finally:
            del self.conditions[conditions:]
            del self.loop_stack[loops:]

    @contextmanager
    def apart(self) -> Generator[None]:
        """A part whose effects are collected by themselves, in `effects` and `asked`; they are the body's as well."""
        effects, asked = self.effects, self.asked
        self.effects, self.asked = {}, set()
        try:
            yield
        finally:
            self.effects = {**effects, **self.effects}
            self.asked = asked

    @contextmanager
    def risking(self) -> Generator[set[Taints]]:
        """A part whose exceptions are caught: what they rest on is in the set that is given, and not in `risks`."""
        outer, self.risks = self.risks, set()
        try:
            yield self.risks
        finally:
            self.risks = outer


def guard_text(conditions: Iterable[Formula]) -> str:
    """The conditions in words, the innermost first, or empty."""
    for formula in reversed(list(conditions)):
        if formula.literal is not None and formula.literal[0].text:
            test, holds = formula.literal
            return test.text if holds else f"not ({test.text})"
        texts = [p.literal[0].text for p in formula.parts if p.literal is not None and p.literal[0].text]
        if texts:
            return " … ".join(texts[:2])
    return ""
