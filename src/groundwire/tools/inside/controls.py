"""Controls: whether a case can fail. It runs with the first assertion that can be turned round turned round.

In place of the value that an assertion expects it is given another one, and has to fail there. In a pair of runs each
case is turned in one and as it is in the other; a coin says in which, case by case, so that code under test in the same
process can't tell. Imported by the test modules that `control_sites` has rewritten.
"""

# os.path on purpose: pathlib costs time to import, and tests like to fake it
# ruff: noqa: PTH100, PTH109, PTH110, PTH118, PTH123
# Python 3.9 knows no zip(strict=…)
# ruff: noqa: B905
from __future__ import annotations

import ast
import contextlib
import copy
import doctest
import functools
import hashlib
import itertools
import json
import operator
import os
import sys
import unittest
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from groundwire.tools.inside.control_sites import CHANGED_VALUE, NEGATION, Site, instrument, names_denied
    from groundwire.tools.inside.expected_sides import Modules
    from groundwire.tools.inside.other_values import NOTHING, another, around, far_from
else:
    from _gw_control_sites import CHANGED_VALUE, NEGATION, Site, instrument, names_denied
    from _gw_expected_sides import Modules
    from _gw_other_values import NOTHING, another, around, far_from

SETTINGS, COIN = "_gw_controls.json", "GROUNDWIRE_COIN"
ALL = 2
TURNS = 1000
"""Evaluations of the turned assertion in one case; then it is itself again, so that code that waits for it may end."""
PROBES = 500
"""Comparisons with another value in a case that is not turned."""
PROBED_ITEMS = 10_000
WORDS = 200
"""Comparisons of a case in which an object under test has the word, and is asked about other values as well."""
TOLD = (bool, int, float, complex)
ASKED, FEW = 24, 4
"""How many other values a function is asked about that said yes, and how many of these say too little."""
REMADE = 12
"""Objects that are made of other values, in place of one."""
NEAR = slice(4, 8)
"""Of the values around one, those with which nothing grows without bounds."""
_NOWHERE = -1


class Unrelated(Exception):
    """What no code raises: asked for in place of an exception that has to come out then."""


class UnrelatedWarning(UserWarning):
    """The same for warnings."""


class _Case:
    """One case under way."""

    def __init__(self, name: str, turning: bool) -> None:
        self.name = name
        self.turning = turning
        self.active = False
        self.fired: int | None = None
        self.kept: int | None = None
        self.reached = False
        self.caught = False
        self.turned_false = False
        self.kind = ""
        self.wanted: Any = None
        self.turns = 0
        self.probes = 0
        self.words = 0
        self.deceived: int | None = None
        self.failed_there = False
        self.failed = False
        self.changed: dict[int, tuple[Any, Any]] = {}
        self.example: Any = None
        self.want = ("", "")


_now: _Case | None = None
_sites: list[Site] = []
_files: list[str] = []
_tosses: Iterator[int] = iter(())


# --- what a rewritten assertion asks


def equal(site: int, side: int, again: Callable[[], Any] | None, left: Any, right: Any) -> Any:
    """`left == right`, where the side that is expected (0 or 1) may be another value; `again` works that side out."""
    case = _now
    if case is not None and again is not None and case.changed and case.active:
        given = left if side else right
        if _is_true(lambda: left == right) and not _holds_of_what_was_lent(case, given, again):
            case.deceived = site
    return _compared(site, side, left, right, operator.eq)


def same(site: int, side: int, left: Any, right: Any) -> Any:
    """`left is right`, likewise."""
    return _compared(site, side, left, right, operator.is_)


def _compared(site: int, side: int, left: Any, right: Any, compare: Callable[[Any, Any], Any]) -> Any:
    case = _now
    if case is None or not case.active:
        return compare(left, right)
    if _turns(case, site):
        other = another(right if side else left)
        ask = (lambda: compare(left, other)) if side else (lambda: compare(other, right))
        first = None if other is NOTHING or next(_tosses) else _outcome(ask)
        answer = compare(left, right)
        if not _is_true(lambda: answer):
            case.caught = True
            return answer  # one that is expected to fail, and is caught, can't be controlled
        _fire(case, site, NEGATION if other is NOTHING else CHANGED_VALUE)
        said = not answer if other is NOTHING else ask() if first is None else first()
        case.turned_false = case.turned_false or not _is_true(lambda: said)
        return said
    other = _probe_for(case, right if side else left)
    if other is NOTHING:
        return compare(left, right)
    ask = (lambda: compare(left, other)) if side else (lambda: compare(other, right))
    return _probed(case, site, lambda: compare(left, right), ask)


def truth(site: int, value: Any) -> Any:
    """The value of an assertion's expression, or its contrary."""
    case = _now
    if case is not None and case.active and _turns(case, site):
        if _is_true(lambda: value):
            _fire(case, site, NEGATION)
            return not value
        case.caught = True
    return value


def yes(site: int, name: str, function: Callable[..., Any], *args: Any, **named: Any) -> Any:
    """What a function of the project says of something, or its contrary.

    One that says yes to whatever it is given says nothing, unless the tests ask it for a no as well.
    """
    said = function(*args, **named)
    case = _now
    if case is None or not case.active or not _turns(case, site) or not _is_true(lambda: said):
        return truth(site, said)
    others = itertools.islice(_changed(args, named, _of_any_kind), ASKED)
    answers = [_said(lambda given: function(*given[0], **given[1]), other) for other in others]
    if said is True and len(answers) > FEW and all(a is True for a in answers) and not _asked_for_a_no(name):
        case.deceived = site
    return truth(site, said)


def _of_any_kind(value: Any) -> list[Any]:
    """Other values, first of its own type, then of others."""
    try:
        object.__getattribute__(value, "_groundwire_made")
    except AttributeError:
        return [another(value), *around(value)[NEAR], None, [], "?", 1j]
    return _others(value)


def _asked_for_a_no(name: str) -> bool:
    """True if in a file of the tests something is asserted of that function's answer but that it is a yes."""
    for path in _files:
        with contextlib.suppress(OSError, SyntaxError, ValueError, RecursionError):
            with open(path, "rb") as file:
                content = file.read()
            if name.encode() in content and name in names_denied(ast.parse(content)):
                return True
    return False


def other(site: int, value: Any) -> Any:
    """One operand of several."""
    return _in_place_of(site, value, another)


def far(site: int, value: Any) -> Any:
    """One of two operands whose distance is asked for: beyond whatever is tolerated."""
    return _in_place_of(site, value, far_from)


def _in_place_of(site: int, value: Any, other_than: Callable[[Any], Any]) -> Any:
    case = _now
    if case is not None and case.active and _turns(case, site):
        found = other_than(value)
        if found is not NOTHING:
            _fire(case, site, CHANGED_VALUE)
            return found
        case.kept = site
    return value


def kept(site: int, value: Any) -> Any:
    """An assertion's expression with such an operand: its contrary, where there was no other value for that."""
    case = _now
    if case is None or case.kept != site or not _is_true(lambda: value):
        return value
    case.kept = None
    _fire(case, site, NEGATION)
    return not value


def call(
    site: int, place: int, again: Callable[[], Any] | None, function: Callable[..., Any], *args: Any, **named: Any
) -> Any:
    """An assertion that is a call; `place` is the expected argument, -1 where there is none; `again`: see `equal`."""
    case = _now
    if case is None or not case.active:
        return function(*args, **named)
    if again is not None and case.changed and not _holds_of_what_was_lent(case, args[1 - place], again):
        function(*args, **named)
        case.deceived = site
    if not _turns(case, site):
        found = NOTHING if place < 0 else _probe_for(case, args[place])
        if found is not NOTHING:
            given = args[1 - place]
            return _probed(case, site, lambda: function(*args, **named), lambda: given == found, plain_holds=True)
        return function(*args, **named)
    found = NOTHING if place < 0 else another(args[place])
    case.active = place < 0  # where this one can be turned by a value, none inside of it is turned before
    try:
        ask = functools.partial(function, *args[:place], found, *args[place + 1 :], **named)
        once = found is NOTHING or any(hasattr(arg, "__next__") for arg in args)
        first = None if once or next(_tosses) else _outcome(ask)
        function(*args, **named)
    except BaseException:
        case.caught = True
        raise
    finally:
        case.active = True
    if case.fired not in (None, site):
        return None  # an assertion inside of it was turned, and its failure caught
    if found is not NOTHING:
        _fire(case, site, CHANGED_VALUE)
        return ask() if first is None else first()
    _fire(case, site, NEGATION)
    raise AssertionError("turned round: the assertion holds")


def called(site: int, function: Callable[..., Any], *args: Any, **named: Any) -> Any:
    """An assertion of a mock about the arguments that it was given: another one is asked for."""
    case = _now
    if case is None or not case.active or not _turns(case, site):
        return function(*args, **named)
    function(*args, **named)
    for given, by_name in _changed(args, named, lambda value: [another(value)]):
        _fire(case, site, CHANGED_VALUE)
        return function(*given, **by_name)
    _fire(case, site, NEGATION)
    raise AssertionError("turned round: the assertion holds")


def error(site: int, kinds: Any) -> Any:
    """The exceptions that are expected, or one that nobody raises, so that the expected one comes out."""
    return _raising(site, kinds, Unrelated, (Exception, SystemExit))  # runners note a SystemExit as any failure


def warning(site: int, kinds: Any) -> Any:
    """The same for warnings."""
    return _raising(site, kinds, UnrelatedWarning, (Warning,))


def _all_of(kinds: Any) -> list[Any]:
    return [*kinds] if type(kinds) is tuple else [kinds]


def _raising(site: int, kinds: Any, unrelated: type, most: tuple[type, ...]) -> Any:
    case = _now
    if case is None or not case.active or not _turns(case, site):
        return kinds
    given = _all_of(kinds)
    for kind in given:  # what interrupts a run, or skips a case, must not come out of it
        if not (isinstance(kind, type) and issubclass(kind, most)) or issubclass(kind, unittest.SkipTest):
            return kinds
    _fire(case, site, CHANGED_VALUE)
    case.wanted = tuple(given) if unrelated is Unrelated else None
    return unrelated


# --- which assertion is turned, and what others are asked besides


def _turns(case: _Case, site: int) -> bool:
    """True for the first assertion that can be turned, each time it is evaluated; no other of its case is."""
    if not case.turning or case.turns >= TURNS:
        return False
    if _sites[site].alone:
        case.reached = True
    return case.fired == site or (case.fired is None and _sites[site].alone)


def _fire(case: _Case, site: int, kind: str) -> None:
    case.fired, case.kind = site, kind
    case.turns += 1


def _probe_for(case: _Case, expected: Any) -> Any:
    """Another value for an assertion that is not turned: it must not be equal to that as well."""
    if case.turning or case.probes >= PROBES:
        return NOTHING
    try:
        if len(expected) > PROBED_ITEMS:
            return NOTHING
    except Exception:  # most values have no length
        pass
    case.probes += 1
    return another(expected)


def _probed(
    case: _Case, site: int, plain: Callable[[], Any], probe: Callable[[], Any], *, plain_holds: bool = False
) -> Any:
    """The plain answer; the other comparison comes before or after it, as a coin falls."""
    before = next(_tosses)
    said = before and _is_true(probe)
    answer = plain()
    if (plain_holds or _is_true(lambda: answer)) and (said or (not before and _is_true(probe))):
        case.deceived = site
    return answer


def _own_word_of(ask: Callable[[Any], Any], operand: Any, contrary: Callable[[Any], Any] | None) -> Any:
    case = _now
    others = _others(operand) if case is not None and case.active and case.words < WORDS else []
    if case is None or not others:
        return ask(operand)
    case.words += 1
    place = sum(next(_tosses) << bit for bit in range(8)) % (len(others) + 1)
    said = [_said(ask, other) for other in others[:place]]
    answer = ask(operand)
    said += [_said(ask, other) for other in others[place:]]
    decides = type(answer) in TOLD and (contrary is not None or answer is not False)
    both = contrary is not None and answer is True and _said(contrary, operand) is True
    if both or (decides and all(type(word) is type(answer) and word == answer for word in said)):
        case.deceived = _NOWHERE if case.fired is None else case.fired
    return answer


def _others(operand: Any) -> list[Any]:
    """Other values; for an object that the tests have made of values, objects that are made of other ones."""
    try:
        kind, args, named = object.__getattribute__(operand, "_groundwire_made")
    except AttributeError:
        return around(operand)
    found: list[Any] = []
    for given, by_name in _changed(args, named, lambda value: [another(value), *around(value)[NEAR]]):
        if len(found) >= REMADE:
            break
        with contextlib.suppress(Exception):  # it is made of no such value
            found.append(kind(*given, **by_name))
    return found


def _changed(
    args: tuple[Any, ...], named: dict[str, Any], others: Callable[[Any], list[Any]]
) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    """The arguments with one of them another value."""
    for place, given in enumerate(args):
        for other in others(given):
            if other is not NOTHING:
                yield (*args[:place], other, *args[place + 1 :]), named
    for name, given in named.items():
        for other in others(given):
            if other is not NOTHING:
                yield args, {**named, name: other}


def _said(ask: Callable[[Any], Any], other: Any) -> Any:
    try:
        return ask(other)
    except Exception as error:  # that it can't say is another answer
        return error


def _holds_of_what_was_lent(case: _Case, given: Any, again: Callable[[], Any]) -> bool:
    """False where something is only equal to what is expected of arguments that were emptied or replaced meanwhile."""
    changed = [(thing, before) for thing, before in case.changed.values() if _is_gone(thing, before)]
    gone = [(thing, before) for thing, before in changed if not thing or thing is not given]  # it may give back its own
    if not gone:
        return True
    now = [copy.copy(thing) for thing, _ in gone]
    try:
        for thing, before in gone:
            _put(thing, before)
        wanted = copy.copy(again())
    except Exception:  # it can't be worked out of them
        return True
    finally:
        for (thing, _), items in zip(gone, now):
            _put(thing, items)
    return _is_true(lambda: given == wanted)


def _is_gone(thing: Any, before: Any) -> bool:
    """True if a container held something, and nothing of that is left."""
    if type(thing) not in (list, set, dict) or not before:
        return False
    was = before[: len(before) // 2] if type(thing) is dict else before
    return not any(item in thing for item in was)


def _put(thing: Any, items: Any) -> None:
    """Makes a container hold these: a copy of it, or items as `Codec` notes them."""
    thing.clear()
    if not hasattr(thing, "keys"):
        (thing.extend if hasattr(thing, "extend") else thing.update)(items)
    else:
        half = len(items) // 2
        thing.update(items if hasattr(items, "keys") else zip(items[:half], items[half:]))


def _outcome(ask: Callable[[], Any]) -> Callable[[], Any]:
    """What comes of asking, for later: in which order it was asked whoever is asked can't tell."""
    try:
        answer = ask()
    except Exception as error:
        return functools.partial(_raise, error)
    return lambda: answer


def _raise(error: Exception) -> None:
    raise error


def _is_true(ask: Callable[[], Any]) -> bool:
    try:
        answer = ask()
        return bool(answer if not hasattr(answer, "all") else answer.all())  # arrays are asked item by item
    except Exception:  # what can't be compared is not equal
        return False


# --- the run


class Controls:
    """The controls of one run.

    Args:
        recorder: told what came of each case.
        coin: with a case's name it says whether that case is turned in the first or the second run of a pair.
        half: the run, 0 or 1; `ALL`: every case is turned.
        fixed: Python files that the candidate may not edit: those whose assertions count.
        editable: those that it may.
        asserting: functions in files that it has changed and that asserted something before, by name.
        root: the work folder.
    """

    def __init__(
        self,
        recorder: Any,
        coin: bytes,
        half: int,
        fixed: Sequence[str],
        editable: Sequence[str],
        root: str,
        asserting: Sequence[str] = (),
    ) -> None:
        global _tosses
        _files[:] = [os.path.join(root, path) for path in fixed]
        self._recorder = recorder
        self._coin, self._half = coin, half
        self._root = root
        self._files = {os.path.join(root, path): path for path in fixed}
        self._modules = Modules(root, fixed, editable)
        self._asserting = frozenset(asserting)
        self._hash = hashlib.blake2b
        self._met: Counter[str] = Counter()
        _tosses = _coins(coin)

    def install(self) -> None:
        """From now on the tests' own modules are rewritten as they are imported."""
        sys.meta_path.insert(0, _Finder(self))

    def install_pytest(self) -> None:
        """pytest rewrites assertions itself, after us; bytecode that it has kept is not used."""
        import _pytest.assertion.rewrite as rewrite

        theirs: Any = rewrite.rewrite_asserts

        def rewrite_asserts(tree: ast.Module, source: bytes, module_path: Any = None, config: Any = None) -> None:
            self.rewrite(tree, str(module_path))
            theirs(tree, source, module_path, config)

        module: Any = rewrite
        module.rewrite_asserts = rewrite_asserts
        module._read_pyc = _no_bytecode

    def holds(self, file: str | None) -> bool:
        """True for a file whose assertions count."""
        return file is not None and os.path.abspath(file) in self._files

    def rewrite(self, tree: ast.Module, file: str) -> None:
        """Rewrites a module, if it is the tests' own."""
        path = self._files.get(os.path.abspath(file))
        if path is not None:
            instrument(tree, path, file, self._modules, _add, self._asserting)

    @property
    def turning(self) -> bool:
        """True while a case runs that is turned: nobody reads how it fails."""
        return _now is not None and _now.turning

    def begin(self, name: str, example: Any = None) -> None:
        """A case begins.

        Args:
            name: its id.
            example: the doctest it is, if it is one.
        """
        global _now
        self._met[name] += 1
        key = name if self._met[name] == 1 else f"{name}#{self._met[name]}"
        bit = self._hash(self._coin + key.encode("utf-8", "replace"), digest_size=1).digest()[0] & 1
        _now = _Case(key, self._half in (bit, ALL))
        if example is not None:
            _turn_example(_now, example)

    def calm(self, function: Any) -> None:
        """Hypothesis looks for one example that fails, not for the smallest one, and remembers nothing."""
        inner = getattr(function, "__func__", function)
        old = getattr(inner, "_hypothesis_internal_use_settings", None)
        hypothesis: Any = sys.modules.get("hypothesis")
        if old is not None and hypothesis is not None:
            phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)
            calmer = hypothesis.settings(old, phases=phases, derandomize=True, database=None)
            inner._hypothesis_internal_use_settings = calmer

    def asks_there(self) -> None:
        """The tests ask something of the candidate's box: what was changed before is how it is now."""
        if _now is not None:
            _now.changed.clear()

    def changed_there(self, thing: Any, before: Any) -> None:
        """A container that the tests have lent is another one since they asked.

        Args:
            thing: the container.
            before: its items before, as `Codec` notes them.
        """
        if _now is not None and _now.active:
            _now.changed[id(thing)] = thing, before

    def own_word_of(self, ask: Callable[[Any], Any], operand: Any, contrary: Callable[[Any], Any] | None) -> Any:
        """What an object under test says of a value of the tests, asked in the midst of what it says of others.

        Whoever is told what it is compared with can agree to it. So it is asked about other values too, in an order
        that it can't foresee, and what it says has to differ for one of them.

        Args:
            ask: asks it about a value.
            operand: the value of the tests.
            contrary: of an order, which may not deny all of them either, asks for the other one.
        """
        return _own_word_of(ask, operand, contrary)

    def enter(self) -> None:
        """The body of the case begins to run."""
        if _now is not None:
            _now.active = True

    def leave(self) -> None:
        """The runner's own code, or that of fixtures, runs again."""
        if _now is not None:
            _now.active = False

    def raised(self, found: BaseException | None, trace: Any = None) -> None:
        """What a part of the case ended with."""
        case = _now
        if case is None or found is None:
            return
        case.failed = True
        if case.fired is not None and not case.failed_there:
            case.failed_there = _came_from(found, trace or found.__traceback__, case)

    def example_failed(self, example: Any) -> None:
        """An example of a doctest failed."""
        if _now is not None:
            _now.failed = True
            _now.failed_there = _now.failed_there or example is _now.example

    def end(self, number: int, result: str) -> None:
        """A case has ended.

        Args:
            number: its place.
            result: how, in the report's words.
        """
        global _now
        case, _now = _now, None
        if case is None:
            return
        if case.example is not None:
            case.example.want, case.example.exc_msg = case.want
        fired = case.fired
        fields: dict[str, Any] = {}
        if case.deceived is not None:
            fields["deceived"] = case.name if case.deceived == _NOWHERE else _sites[case.deceived].name
        if case.turning and fired is not None:
            came = "passed" if result == "passed" else "failed" if case.failed_there else "elsewhere"
            fields.update(turned=_sites[fired].name, k=case.kind, c=came)
        elif case.turning and result == "passed" and (case.caught or not case.reached):
            fields["c"] = "caught" if case.caught else "unreached"
        if fields:
            self._recorder.emit("control", i=number, **fields)


def _no_bytecode(*_args: Any, **_named: Any) -> None:
    """Whatever lies about was not compiled by us."""


def _coins(coin: bytes) -> Iterator[int]:
    number = 0
    while True:
        number += 1
        for byte in hashlib.blake2b(coin + number.to_bytes(8, "big")).digest():
            for place in range(8):
                yield byte >> place & 1


def _add(site: Site) -> int:
    _sites.append(site)
    return len(_sites) - 1


def _came_from(found: BaseException, trace: Any, case: _Case) -> bool:
    """True if an exception came out of the turned assertion; of a group one of its parts is enough."""
    if hasattr(found, "subgroup"):
        parts: list[Any] = list(getattr(found, "exceptions", ()))
        if any(_came_from(part, part.__traceback__, case) for part in parts):
            return True
    if case.example is not None:
        failures = getattr(found, "failures", None) or [found]
        return any(getattr(failure, "example", None) is case.example for failure in failures)
    # a class may say of anything that it is an instance of it
    if case.wanted is not None and not any(kind in type(found).__mro__ for kind in case.wanted):
        return False
    site = _sites[case.fired or 0]
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == site.file and site.first <= trace.tb_lineno <= site.last:
            return True
        if case.turned_false and trace.tb_next is None and type(found) is AssertionError:
            return bool(trace.tb_frame.f_code.co_filename == site.file)  # it was caught, and said in other words
        trace = trace.tb_next
    return False


# --- doctests: the output that is expected is what is turned


def _turn_example(case: _Case, test: Any) -> None:
    """Chooses the first example of a doctest that expects something, and changes that where the case is turned."""
    for example in test.examples:
        if example.options.get(doctest.SKIP):
            continue
        want, message = _another_text(example.want), _another_text(example.exc_msg or "")
        if want is None and message is None:
            continue
        case.example, case.want = example, (example.want, example.exc_msg)
        if case.turning:
            site = Site(f"{case.name}:{example.lineno + 1}", "", 0, 0, CHANGED_VALUE)
            _fire(case, _add(site), CHANGED_VALUE)
            example.want = want if want is not None else example.want
            example.exc_msg = message if message is not None else example.exc_msg
        return


def _another_text(text: str) -> str | None:
    """The text with its first letter or digit changed; None where it has none."""
    for place, letter in enumerate(text):
        if letter.isalnum():
            return f"{text[:place]}{'y' if letter in 'xX' else 'x'}{text[place + 1 :]}"
    return None


# --- how the tests' modules are reached


class _Loader(SourceFileLoader):
    """Compiles a module of the tests' own, rewritten; bytecode that lies about is not used."""

    controls: Controls

    def get_code(self, fullname: str) -> CodeType:
        """See `importlib.abc.InspectLoader`."""
        tree = ast.parse(self.get_data(self.path), self.path)
        self.controls.rewrite(tree, self.path)
        return compile(tree, self.path, "exec", dont_inherit=True)


class _Finder(MetaPathFinder):
    def __init__(self, controls: Controls) -> None:
        self._controls = controls

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        found = PathFinder.find_spec(fullname, path, target)
        if found is None or not self._controls.holds(found.origin):
            return None
        loader = _Loader(fullname, str(found.origin))
        loader.controls = self._controls
        found.loader = loader
        return found


def make_controls(recorder: Any) -> Controls | None:
    """The controls, where this run is one of a pair that has them."""
    coin, _, half = os.environ.pop(COIN, "").partition(":")
    path = os.path.join(os.environ["GROUNDWIRE_SUPPORT"], SETTINGS)
    if not coin or not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as file:
        settings: dict[str, Any] = json.load(file)
    root = os.getcwd()
    fixed, editable, asserting = (settings[name] for name in ("fixed", "editable", "asserting"))
    return Controls(recorder, bytes.fromhex(coin), int(half), fixed, editable, root, asserting)
