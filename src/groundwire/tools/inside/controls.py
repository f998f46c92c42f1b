"""Controls: whether a case can fail. It runs with the first assertion that can be turned round turned round.

In place of the value that an assertion expects it is given another one (`control_answers`), and has to fail there. In a
pair of runs each case is turned in one and as it is in the other; a coin says in which, case by case, so that code
under test in the same process can't tell.
"""

# os.path on purpose: pathlib costs time to import, and tests like to fake it
# ruff: noqa: PTH100, PTH109, PTH110, PTH118, PTH123
from __future__ import annotations

import ast
import doctest
import hashlib
import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from groundwire.tools.inside.control_case import Case, add_site, came_from, coins, fire, under_way
    from groundwire.tools.inside.control_probes import own_word_of
    from groundwire.tools.inside.control_sites import CHANGED_VALUE, NOWHERE, Site, instrument
    from groundwire.tools.inside.expected_sides import Modules
else:
    import _gw_control_answers  # noqa: F401  once the tests' modules ask for it, none of ours is on the import path
    from _gw_control_case import Case, add_site, came_from, coins, fire, under_way
    from _gw_control_probes import own_word_of
    from _gw_control_sites import CHANGED_VALUE, NOWHERE, Site, instrument
    from _gw_expected_sides import Modules

SETTINGS, COIN = "_gw_controls.json", "GROUNDWIRE_COIN"
ALL = 2


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
        under_way.files[:] = [os.path.join(root, path) for path in fixed]
        self._recorder = recorder
        self._coin, self._half = coin, half
        self._root = root
        self._files = {os.path.join(root, path): path for path in fixed}
        self._modules = Modules(root, fixed, editable)
        self._asserting = frozenset(asserting)
        self._hash = hashlib.blake2b
        self._met: Counter[str] = Counter()
        under_way.tosses = coins(coin)

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
            instrument(tree, path, file, self._modules, add_site, self._asserting)

    @property
    def turning(self) -> bool:
        """True while a case runs that is turned: nobody reads how it fails."""
        return under_way.case is not None and under_way.case.turning

    def begin(self, name: str, example: Any = None) -> None:
        """A case begins.

        Args:
            name: its id.
            example: the doctest it is, if it is one.
        """
        self._met[name] += 1
        key = name if self._met[name] == 1 else f"{name}#{self._met[name]}"
        bit = self._hash(self._coin + key.encode("utf-8", "replace"), digest_size=1).digest()[0] & 1
        under_way.case = Case(key, self._half in (bit, ALL))
        if example is not None:
            _turn_example(under_way.case, example)

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
        if under_way.case is not None:
            under_way.case.changed.clear()

    def changed_there(self, thing: Any, before: Any) -> None:
        """A container that the tests have lent is another one since they asked.

        Args:
            thing: the container.
            before: its items before, as `Codec` notes them.
        """
        if under_way.case is not None and under_way.case.active:
            under_way.case.changed[id(thing)] = thing, before

    def own_word_of(self, ask: Callable[[Any], Any], operand: Any, contrary: Callable[[Any], Any] | None) -> Any:
        """What an object under test says of a value of the tests, asked in the midst of what it says of others.

        Whoever is told what it is compared with can agree to it. So it is asked about other values too, in an order
        that it can't foresee, and what it says has to differ for one of them.

        Args:
            ask: asks it about a value.
            operand: the value of the tests.
            contrary: of an order, which may not deny all of them either, asks for the other one.
        """
        return own_word_of(ask, operand, contrary)

    def enter(self) -> None:
        """The body of the case begins to run."""
        if under_way.case is not None:
            under_way.case.active = True

    def leave(self) -> None:
        """The runner's own code, or that of fixtures, runs again."""
        if under_way.case is not None:
            under_way.case.active = False

    def raised(self, found: BaseException | None, trace: Any = None) -> None:
        """What a part of the case ended with."""
        case = under_way.case
        if case is None or found is None:
            return
        case.failed = True
        if case.fired is not None and not case.failed_there:
            case.failed_there = came_from(found, trace or found.__traceback__, case)

    def example_failed(self, example: Any) -> None:
        """An example of a doctest failed."""
        if under_way.case is not None:
            under_way.case.failed = True
            under_way.case.failed_there = under_way.case.failed_there or example is under_way.case.example

    def end(self, number: int, result: str) -> None:
        """A case has ended.

        Args:
            number: its place.
            result: how, in the report's words.
        """
        case, under_way.case = under_way.case, None
        if case is None:
            return
        if case.example is not None:
            case.example.want, case.example.exc_msg = case.want
        fired = case.fired
        fields: dict[str, Any] = {}
        if case.deceived is not None:
            fields["deceived"] = case.name if case.deceived == NOWHERE else under_way.sites[case.deceived].name
        if case.turning and fired is not None:
            came = "passed" if result == "passed" else "failed" if case.failed_there else "elsewhere"
            fields.update(turned=under_way.sites[fired].name, k=case.kind, c=came)
        elif case.turning and result == "passed" and (case.caught or not case.reached):
            fields["c"] = "caught" if case.caught else "unreached"
        if fields:
            self._recorder.emit("control", i=number, **fields)


def _no_bytecode(*_args: Any, **_named: Any) -> None:
    """Whatever lies about was not compiled by us."""


# --- doctests: the output that is expected is what is turned


def _turn_example(case: Case, test: Any) -> None:
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
            fire(case, add_site(site), CHANGED_VALUE)
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
